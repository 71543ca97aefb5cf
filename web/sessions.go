package web

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// session is a session of the engine with what the server knows of it.
type session struct {
	id       string
	key      *Key
	language string
	limits   limits.Limits
	network  bool
	created  time.Time
	eng      *engine.Session

	// use is held by who uses the sandbox: a turn, or what reads and writes files.
	use chan struct{}

	// mu guards all below. It is held for moments.
	mu       sync.Mutex
	turn     *execution // that runs
	users    int        // who hold use, or wait for it
	used     time.Time
	idle     time.Duration
	lifetime time.Duration
	metadata map[string]string
	closed   bool
}

// createSession makes a session.
func (s *Server) createSession(x *exchange, _ echo.Context) error {
	var req SessionRequest
	if answered, err := s.readOnce(x, &req, true); answered || err != nil {
		return err
	}
	var err error
	if req.Language, err = s.languageFor(req.Language, req.Snapshot, x.key); err != nil {
		return err
	}
	o, err := req.options(req.Language, x.key)
	if err != nil {
		return err
	}
	sn := &session{key: x.key, language: o.Language, limits: o.Limits, use: make(chan struct{}, 1), idle: s.cfg.IdleTimeout, lifetime: s.cfg.MaxLifetime}
	o.OnError = req.OnError
	if req.OnError != "" && req.OnError != engine.OnErrorKeep && req.OnError != engine.OnErrorRollback {
		return invalidf("on_error is %s: use keep or rollback", quoted(req.OnError))
	}
	if o.Tools, err = x.key.tools(req.Tools, req.Mailbox); err != nil {
		return err
	}
	o.Repeatable = slices.ContainsFunc(req.Tools, func(t ToolSpec) bool { return t.Deferred })
	sn.network = o.Network != nil
	if o.Mounts, err = x.key.Policy.mounts(req.Mounts); err != nil {
		return err
	}
	if err := sn.set(&req.SessionFields); err != nil {
		return err
	}
	if o.Labels, err = sn.labels(&req); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.work.Done()
	if err := s.sessions.enter(x.key); err != nil {
		return err
	}
	if sn.eng, err = s.open(x.r.Context(), x.key, req.Snapshot, o); err != nil {
		s.sessions.leave(x.key)
		return err
	}
	sn.id, sn.created = sn.eng.ID(), time.Now()
	sn.used = sn.created
	s.sessions.add(sn)
	x.named.settle("", sn.id)
	x.Header().Set("Location", sn.path())
	return x.reply(http.StatusCreated, sn.info())
}

func (sn *session) path() string { return "/v1/sessions/" + sn.id }

// current is the turn that runs, or nil.
func (sn *session) current() *execution {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	return sn.turn
}

// set changes what a client may change.
func (sn *session) set(f *SessionFields) error {
	idle, err := seconds("idle_timeout_s", f.IdleTimeoutS, time.Second, maxIdle)
	if err != nil {
		return err
	}
	lifetime, err := seconds("max_lifetime_s", f.MaxLifetimeS, time.Second, maxLifetime)
	if err != nil {
		return err
	}
	if err := checkMetadata(f.Metadata); err != nil {
		return err
	}
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if idle > 0 {
		sn.idle = idle
	}
	if lifetime > 0 {
		sn.lifetime = lifetime
	}
	if f.Metadata != nil {
		sn.metadata = maps.Clone(f.Metadata)
	}
	return nil
}

func (sn *session) info() SessionInfo {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	eng := sn.eng.Info()
	i := SessionInfo{
		ID: sn.id, Language: sn.language, CreatedAt: sn.created.UTC(), LastUsedAt: sn.used.UTC(), ExpiresAt: sn.expires().UTC(),
		IdleTimeoutS: sn.idle.Seconds(), MaxLifetimeS: sn.lifetime.Seconds(), Turns: eng.Turns, Busy: sn.turn != nil,
		Limits: limitsOf(sn.limits), Metadata: sn.metadata, PendingCalls: eng.PendingCalls,
	}
	if sn.turn != nil {
		i.ExecutionID = sn.turn.id
	}
	return i
}

// listed is what a list has of the session: the arguments of its pending calls, which are megabytes if the program likes, are for
// who asks for that session.
func (sn *session) listed() SessionInfo {
	i := sn.info()
	i.PendingCalls = slices.Clone(i.PendingCalls) // which the session has, too
	for n := range i.PendingCalls {
		i.PendingCalls[n].Arguments = nil
	}
	return i
}

// expires is when the session ends if nobody uses it. One that is suspended is not idle. Preconditions: mu is held.
func (sn *session) expires() time.Time {
	idle, old := sn.used.Add(sn.idle), sn.created.Add(sn.lifetime)
	if idle.Before(old) && len(sn.eng.Info().PendingCalls) == 0 {
		return idle
	}
	return old
}

// acquire takes the session for one caller, who calls release. A turn does not wait for a turn, and nothing waits for
// long.
func (sn *session) acquire(ctx context.Context, turn *execution) error {
	sn.mu.Lock()
	if sn.closed {
		sn.mu.Unlock()
		return expired(sn.id)
	}
	if sn.turn != nil {
		sn.mu.Unlock()
		return errBusy
	}
	sn.users++
	if turn != nil {
		sn.turn = turn
	}
	sn.mu.Unlock()

	timer := time.NewTimer(fileWait)
	defer timer.Stop()
	var err error
	select {
	case sn.use <- struct{}{}:
		return nil
	case <-timer.C:
		err = errBusy
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	sn.mu.Lock()
	defer sn.mu.Unlock()
	sn.users--
	if turn != nil {
		sn.turn = nil
	}
	return err
}

// release gives the session back.
func (sn *session) release(turn *execution) {
	<-sn.use
	sn.mu.Lock()
	defer sn.mu.Unlock()
	sn.users--
	sn.used = time.Now()
	if turn != nil {
		sn.turn = nil
	}
}

func (s *Server) listSessions(x *exchange, _ echo.Context) error {
	return replySessions(x, http.StatusOK, s.sessions.of(x.key))
}

func replySessions(x *exchange, status int, list []*session) error {
	return replyList(x, status, `{"sessions":[`, func(yield func(SessionInfo) bool) {
		for _, sn := range list {
			if !yield(sn.listed()) {
				return
			}
		}
	})
}

func (s *Server) getSession(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, sn.info())
}

func (s *Server) patchSession(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	var req SessionFields
	if _, err := x.readJSON(&req, false); err != nil {
		return err
	}
	if err := sn.set(&req); err != nil {
		return err
	}
	return x.reply(http.StatusOK, sn.info())
}

// deleteSession ends a session. A turn that runs is stopped.
func (s *Server) deleteSession(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	if !s.sessions.remove(sn, false) {
		return notFound("session", sn.id)
	}
	sn.mu.Lock()
	sn.closed = true
	turn := sn.turn
	sn.mu.Unlock()
	if turn != nil {
		turn.cancel(errCancelled)
	}
	s.closeSession(sn)
	x.WriteHeader(http.StatusNoContent)
	return nil
}

// resetSession makes a session what it was at first.
func (s *Server) resetSession(x *exchange, c echo.Context) error {
	if err := x.readNothing(); err != nil {
		return err
	}
	return s.withFiles(x, c, func(sn *session, _ *engine.Files) error {
		if err := sn.eng.Reset(x.r.Context()); err != nil {
			return err
		}
		return x.reply(http.StatusOK, sn.info())
	})
}
