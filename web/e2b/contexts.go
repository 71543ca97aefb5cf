package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// contexts are those that live. The default ones are called by their language.
type contexts struct {
	cfg Config

	mu     sync.Mutex
	all    map[string]*codeContext
	closed bool
}

// codeContext is a session under the name that the client knows.
type codeContext struct {
	id, language string
	cwd          string
	cfg          Config

	// turn is held, by its one place, by whoever uses the session.
	turn    chan struct{}
	session *engine.Session // nil before the first use
	count   int             // programs so far
	gone    bool            // removed

	mu      sync.Mutex
	used    time.Time
	running *engine.Session // that a program runs in now
}

func newContexts(cfg Config) *contexts { return &contexts{cfg: cfg, all: map[string]*codeContext{}} }

// create makes a context, unless there is one of that id, as of a default one there may be. The one that was not used for
// longest makes room.
func (s *contexts) create(id, language string, cwd *string) (*codeContext, error) {
	c := &codeContext{id: id, language: language, cwd: runtimes.WorkDir, cfg: s.cfg, turn: make(chan struct{}, 1), used: time.Now()}
	if cwd != nil && *cwd != "" {
		c.cwd = *cwd
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, refuse(http.StatusServiceUnavailable, "the server is stopping")
	}
	if there := s.all[id]; there != nil {
		return there, nil
	}
	if len(s.all) >= s.cfg.MaxContexts {
		oldest := s.idle()
		if oldest == nil {
			return nil, refuse(http.StatusTooManyRequests, "%d contexts are in use: remove one", len(s.all))
		}
		delete(s.all, oldest.id)
		err := oldest.free()
		<-oldest.turn
		if err != nil {
			return nil, err
		}
	}
	s.all[id] = c
	return c, nil
}

// idle takes the turn of the context that was not used for longest, of those that nobody uses. Preconditions: mu is held.
func (s *contexts) idle() *codeContext {
	byUse := slices.SortedFunc(maps.Values(s.all), func(a, b *codeContext) int { return a.lastUse().Compare(b.lastUse()) })
	for _, c := range byUse {
		select {
		case c.turn <- struct{}{}:
			return c
		default:
		}
	}
	return nil
}

func (c *codeContext) lastUse() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

func (s *contexts) find(id string) (*codeContext, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.all[id]; c != nil {
		return c, nil
	}
	return nil, refuse(http.StatusNotFound, "Context %.80s not found", id)
}

// byLanguage is the default context of a language.
func (s *contexts) byLanguage(language string) (*codeContext, error) {
	id := engine.RuntimeOf(language)
	return s.create(id, id, nil)
}

func (s *contexts) list() []*codeContext {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.all))
}

func (s *contexts) remove(id string) error {
	c, err := s.find(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.all, id)
	s.mu.Unlock()
	return c.end()
}

func (s *contexts) close() error {
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Values(s.all))
	clear(s.all)
	s.mu.Unlock()
	var errs []error
	for _, c := range all {
		errs = append(errs, c.end())
	}
	return errors.Join(errs...)
}

// end interrupts what runs, and closes the session.
func (c *codeContext) end() error {
	c.interrupt()
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	return c.free()
}

// free closes the session for good. Preconditions: the turn is held.
func (c *codeContext) free() error {
	c.gone = true
	return c.drop()
}

// drop closes the session; the next use makes another one. Preconditions: the turn is held.
func (c *codeContext) drop() error {
	if c.session == nil {
		return nil
	}
	err := c.session.Close()
	c.session, c.count = nil, 0
	return err
}

func (c *codeContext) interrupt() {
	c.mu.Lock()
	s := c.running
	c.mu.Unlock()
	if s != nil {
		s.Interrupt()
	}
}

// with gives the session to use, making it first if need be. Who uses the context meanwhile is waited for.
func (c *codeContext) with(ctx context.Context, use func(*engine.Session) error) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.gone {
		return refuse(http.StatusNotFound, "Context %.80s not found", c.id)
	}
	if c.session == nil {
		if err := c.open(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.used, c.running = time.Now(), c.session
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.used, c.running = time.Now(), nil
		c.mu.Unlock()
	}()
	err := use(c.session)
	if errors.Is(err, engine.ErrClosed) { // it was not used for too long, or is too old
		return errors.Join(c.drop(), refuse(http.StatusNotFound, "Context %.80s is over; its variables and files are gone", c.id))
	}
	return err
}

// open makes the session and goes to its folder. Preconditions: the turn is held.
func (c *codeContext) open(ctx context.Context) (err error) {
	o := c.cfg.Options
	o.Language = engine.RuntimeOf(c.language)
	if o.Language != engine.Python {
		o.Packages = nil // they are Python's
	}
	if c.session, err = c.cfg.Engine.Open(ctx, o); err != nil {
		c.session = nil
		return err
	}
	if c.cwd == runtimes.WorkDir {
		return nil
	}
	path, err := json.Marshal(c.cwd)
	if err != nil {
		return err
	}
	// A JSON string is a string of both languages.
	code := map[string]string{
		engine.Python:     `__import__("os").makedirs(%[1]s, exist_ok=True); __import__("os").chdir(%[1]s)`,
		engine.JavaScript: `require("fs").mkdirSync(%[1]s, {recursive: true}); process.chdir(%[1]s)`,
	}[o.Language]
	res, err := c.session.Run(ctx, engine.Turn{Code: fmt.Sprintf(code, path)})
	if err == nil && res.Status != engine.StatusOK {
		err = refuse(http.StatusBadRequest, "cwd %.200q cannot be made: %s", c.cwd, reason(res))
	}
	if err != nil {
		return errors.Join(err, c.drop())
	}
	return nil
}

func reason(res *engine.Result) string {
	if res.Error != nil {
		return res.Error.Value
	}
	return string(res.Status)
}

func (c *codeContext) restart(ctx context.Context) error {
	c.interrupt()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return c.drop()
}
