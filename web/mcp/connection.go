package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cloche-dev/cloche/engine"
)

// connection is one client and its sessions.
//
// Lock order: a session's turn, then mu.
type connection struct {
	cfg  Config
	done chan struct{} // closed when running turns must end
	end  func()

	mu       sync.Mutex
	sessions map[string]*session
	last     string // the name of the session used last, for the tools that work on files
	closed   bool

	environment environment
}

func newConnection(cfg Config) *connection {
	c := &connection{cfg: cfg, done: make(chan struct{}), sessions: map[string]*session{}}
	c.end = sync.OnceFunc(func() { close(c.done) })
	return c
}

// session is an engine session under the name by which the client knows it.
type session struct {
	name, language string
	// turn is held, by its one place, while a call uses what is below.
	turn chan struct{}
	run  *engine.Session
	over bool   // run is closed, or was never opened
	left func() // gives its place back, unless it is over
	runs int    // turns so far

	checkpoints []checkpoint // oldest first
	made        int          // checkpoints so far
}

var errClosing = errors.New("the connection is closing")

// interrupt ends running turns and lets no new one begin.
func (c *connection) interrupt() { c.end() }

// close ends all sessions. It waits for what runs.
func (c *connection) close() error {
	c.interrupt()
	c.mu.Lock()
	c.closed = true
	sessions := slices.Collect(maps.Values(c.sessions))
	clear(c.sessions)
	c.mu.Unlock()
	var errs []error
	for _, s := range sessions {
		s.turn <- struct{}{}
		errs = append(errs, s.close())
		<-s.turn
	}
	return errors.Join(errs...)
}

func (s *session) close() error {
	err := s.dropCheckpoints()
	if s.over {
		return err
	}
	s.gone()
	return errors.Join(err, s.run.Close())
}

// gone notes that the session is over. Preconditions: the turn is held, and it was not.
func (s *session) gone() {
	s.over = true
	s.left()
}

// within is ctx, ended also when the connection ends.
func (c *connection) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-c.done:
			cancel(errClosing)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

var sessionName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// find returns the session called name for a program in language, making an entry for it when there is none. An
// empty name is the implicit session of the language, an empty language that of the session.
func (c *connection) find(name, language string) (*session, error) {
	if name != "" && !sessionName.MatchString(name) {
		return nil, fmt.Errorf("session_id %.80q: use up to 64 letters, digits, - and _", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosing
	}
	s := c.sessions[name]
	if language == "" {
		language = engine.Python
		if s != nil {
			language = s.language
		} else if name == engine.JavaScript {
			language = name
		}
	}
	language = engine.RuntimeOf(language)
	if name == "" {
		name = language
		s = c.sessions[name]
	}
	if s == nil {
		if (name == engine.Python || name == engine.JavaScript) && name != language {
			return nil, fmt.Errorf("session %s is for programs in %s: leave session_id out or choose another name", name, name)
		}
		if len(c.sessions) >= c.cfg.MaxSessions {
			return nil, fmt.Errorf("%d sessions are open, the most that a connection has: use one of %s",
				len(c.sessions), orNone(slices.Sorted(maps.Keys(c.sessions))))
		}
		s = &session{name: name, language: language, turn: make(chan struct{}, 1), over: true}
		c.sessions[name] = s
	}
	if s.language != language {
		return nil, fmt.Errorf("session %s runs %s, not %s: choose another session_id", name, s.language, language)
	}
	c.last = name
	return s, nil
}

// use gives a session to one call: it waits for its turn and opens the session if need be. release must be called.
func (c *connection) use(ctx context.Context, name, language string) (s *session, release func(), err error) {
	for {
		if s, err = c.find(name, language); err != nil {
			return nil, nil, err
		}
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		if c.knows(s) {
			break
		}
		<-s.turn // it was dropped meanwhile, and nobody would close what is opened as it
	}
	release = func() { <-s.turn }
	if err := c.open(ctx, s); err != nil {
		c.forget(s)
		release()
		return nil, nil, err
	}
	return s, release, nil
}

// open opens a session that is not open. Preconditions: the turn is held.
func (c *connection) open(ctx context.Context, s *session) error {
	if !s.over {
		return nil
	}
	o := c.cfg.Options
	o.Language = s.language
	if s.language != engine.Python {
		o.Packages = nil // they are Python's
	}
	leave, err := c.cfg.Open()
	if err != nil {
		return err
	}
	run, err := c.cfg.Engine.Open(ctx, o)
	if err != nil {
		leave()
		return err
	}
	s.run, s.over, s.left, s.runs = run, false, leave, 0
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return errors.Join(errClosing, s.close())
	}
	return nil
}

// knows says whether a session still has its name.
func (c *connection) knows(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[s.name] == s
}

// forget drops a session that is over, so that its name and place are free again.
func (c *connection) forget(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[s.name] == s {
		delete(c.sessions, s.name)
	}
}

// forFiles is use for the tools that work on files: an empty name is the session used last, and at first Python's. A
// session of another name must be there, unless create is set.
func (c *connection) forFiles(ctx context.Context, name string, create bool) (*session, func(), error) {
	c.mu.Lock()
	if name == "" {
		name = c.last
	}
	_, ok := c.sessions[name]
	c.mu.Unlock()
	if !ok && !create && name != "" && name != engine.Python && name != engine.JavaScript {
		return nil, nil, fmt.Errorf("there is no session %.80q: open are %s", name, orNone(c.names()))
	}
	return c.use(ctx, name, "")
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// names are those of the open sessions.
func (c *connection) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.sessions))
}
