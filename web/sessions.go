package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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

// sessions are those that live, and the names of those that expired lately.
type sessions struct {
	s *Server

	// mu guards all below.
	mu      sync.Mutex
	all     map[string]*session
	opening map[*Key]int // being made, or live
	total   int
	expired map[string]*Key
	order   []string // of expired, oldest first
	stop    chan struct{}
	stopped sync.WaitGroup
}

const (
	// maxExpired is how many expired names are remembered, so that their clients hear why they are gone.
	maxExpired  = 4096
	maxIdle     = 24 * time.Hour
	maxLifetime = 30 * 24 * time.Hour
	// fileWait is how long a file operation waits for another one of the same session.
	fileWait = 10 * time.Second
)

func newSessions(s *Server) *sessions {
	r := &sessions{s: s, all: map[string]*session{}, opening: map[*Key]int{}, expired: map[string]*Key{}, stop: make(chan struct{})}
	r.stopped.Go(r.reap)
	return r
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
	body, err := json.Marshal(sn.info())
	if err != nil {
		return err
	}
	location := "/v1/sessions/" + sn.id
	x.named.settle("", body, location)
	x.Header().Set("Location", location)
	x.writeJSON(http.StatusCreated, body)
	return nil
}

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

// enter takes one of the places for sessions; leave gives it back.
func (r *sessions) enter(k *Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.opening[k] >= k.Policy.MaxSessions:
		return tooMany("this key has %d sessions, and may not have more: delete one", r.opening[k])
	case r.total >= r.s.cfg.MaxSessions:
		return tooMany("the server has %d sessions, and takes no more", r.total)
	}
	r.opening[k]++
	r.total++
	return nil
}

func (r *sessions) leave(k *Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone(k)
}

func (r *sessions) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// gone counts a session that is no more. Preconditions: mu is held.
func (r *sessions) gone(k *Key) {
	r.total--
	if r.opening[k]--; r.opening[k] == 0 {
		delete(r.opening, k)
	}
}

func (r *sessions) add(sn *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[sn.id] = sn
}

// find is a session of the key. Those of others do not exist.
func (r *sessions) find(id string, k *Key) (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sn := r.all[id]; sn != nil && sn.key == k {
		return sn, nil
	}
	if r.expired[id] == k && k != nil {
		return nil, expired(id)
	}
	return nil, notFound("session", id)
}

func expired(id string) error {
	return fail(http.StatusGone, codeExpired, "the session %s has expired", quoted(id))
}

func (r *sessions) of(k *Key) []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*session
	for _, sn := range r.all {
		if sn.key == k {
			out = append(out, sn)
		}
	}
	slices.SortFunc(out, func(a, b *session) int { return a.created.Compare(b.created) })
	return out
}

// remove takes a session out, once. It is false when somebody else did.
func (r *sessions) remove(sn *session, expire bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[sn.id] != sn {
		return false
	}
	delete(r.all, sn.id)
	r.gone(sn.key)
	if expire {
		r.expired[sn.id] = sn.key
		if r.order = append(r.order, sn.id); len(r.order) > maxExpired {
			delete(r.expired, r.order[0])
			r.order = r.order[1:]
		}
	}
	return true
}

// reap ends sessions whose time is over, until stop.
func (r *sessions) reap() {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case now := <-tick.C:
			r.mu.Lock()
			list := slices.Collect(maps.Values(r.all))
			r.mu.Unlock()
			for _, sn := range list {
				r.expire(sn, now)
			}
		}
	}
}

const reapEvery = 200 * time.Millisecond

// expire ends a session if its time is over and nobody uses it.
func (r *sessions) expire(sn *session, now time.Time) {
	sn.mu.Lock()
	over := sn.users == 0 && !now.Before(sn.expires())
	if over {
		sn.closed = true
	}
	sn.mu.Unlock()
	if over && r.remove(sn, true) {
		r.s.log(slog.LevelInfo, "resource", "session expired", slog.String("session", sn.id), slog.String("key", sn.key.Name))
		r.s.closeSession(sn)
	}
}

func (s *Server) closeSession(sn *session) { s.closeEngine(sn.id, sn.eng) }

func (s *Server) closeEngine(id string, eng *engine.Session) {
	if err := eng.Close(); err != nil {
		s.log(slog.LevelError, "error", "close session", slog.String("session", id), slog.String("error", err.Error()))
	}
}

// log writes a record of one of the three classes: operation, resource, error.
func (s *Server) log(level slog.Level, class, message string, attrs ...slog.Attr) {
	ctx, h := context.Background(), s.cfg.Logger.Handler()
	if !h.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(time.Now(), level, message, 0) // where in our source this is says nothing, and is dear to find out
	r.AddAttrs(append(attrs, slog.String("class", class))...)
	_ = h.Handle(ctx, r) // as slog.Logger does
}

// close ends all sessions. No request uses one any longer.
func (r *sessions) close() error {
	r.mu.Lock()
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	list := slices.Collect(maps.Values(r.all))
	r.mu.Unlock()
	r.stopped.Wait()
	var errs []error
	for _, sn := range list {
		if r.remove(sn, false) && !r.s.cfg.Stored {
			errs = append(errs, sn.eng.Close())
		}
	}
	return errors.Join(errs...)
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
	list := SessionList{Sessions: []SessionInfo{}}
	for _, sn := range s.sessions.of(x.key) {
		list.Sessions = append(list.Sessions, sn.listed())
	}
	return x.reply(http.StatusOK, list)
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

// executeTurn runs one program in a session.
func (s *Server) executeTurn(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	var req TurnRequest
	if answered, err := s.readOnce(x, &req, false); answered || err != nil {
		return err
	}
	p, run, err := s.turnProgram(x, sn, &req)
	if err != nil {
		return err
	}
	if err := sn.acquire(x.r.Context(), run); err != nil {
		run.cancel(nil)
		return err
	}
	return s.perform(x, run, p)
}

// turnProgram is what a request for a turn becomes. The session is to be acquired for the execution before it runs.
func (s *Server) turnProgram(x *exchange, sn *session, req *TurnRequest) (program, *execution, error) {
	var p program
	t, err := req.turn()
	if err != nil {
		return p, nil, err
	}
	language := sn.language
	if req.Language != "" && req.Language != language {
		if language == engine.Python || req.Language == engine.Python {
			return p, nil, invalidf("language is %s: the session's is %s", quoted(req.Language), language)
		}
		if language, err = languageOf(req.Language); err != nil {
			return p, nil, err
		}
	}
	if t.Limits, err = sn.turnLimits(req.Limits); err != nil {
		return p, nil, err
	}
	put, err := files(req.Files)
	if err != nil {
		return p, nil, err
	}
	run := s.newExecution(x, sn.id, language, &req.TurnFields)
	run.network = sn.network
	t.ID = run.id
	if t.Name == "" && language != sn.language {
		t.Name = fmt.Sprintf("turn%d%s", sn.eng.Info().Turns+1, map[string]string{engine.TypeScript: ".ts", engine.JavaScript: ".js"}[language])
	}
	p = program{turn: &t, collect: req.Collect, timeout: t.Limits.Or(sn.limits).Timeout}
	p.over = func() { sn.release(run) }
	p.run = func(ctx context.Context, onEvent func(engine.Event)) (*engine.Result, *engine.Files, error) {
		for _, f := range put {
			if err := sn.eng.Files().WriteFile(f.Path, f.Content); err != nil {
				return nil, nil, fileError(err)
			}
		}
		t.OnEvent = onEvent
		res, err := sn.eng.Run(ctx, t)
		if errors.Is(err, engine.ErrClosed) {
			return nil, nil, expired(sn.id)
		}
		return res, sn.eng.Files(), err
	}
	return p, run, nil
}

// turnLimits are what one turn may have. Memory and disk belong to the session.
func (sn *session) turnLimits(l *Limits) (limits.Limits, error) {
	asked, err := l.engineLimits()
	if err != nil {
		return asked, err
	}
	if asked.MemoryBytes != 0 && asked.MemoryBytes != sn.limits.MemoryBytes || asked.DiskBytes != 0 && asked.DiskBytes != sn.limits.DiskBytes {
		return asked, invalidf("limits.memory_bytes and limits.disk_bytes are the session's: they are given when it is made")
	}
	all, err := sn.key.Policy.narrow(asked, sn.limits)
	if err != nil {
		return asked, err
	}
	return limits.Limits{Timeout: all.Timeout, Fuel: all.Fuel, OutputBytes: all.OutputBytes}, nil
}

// interruptSession ends the turn that runs.
func (s *Server) interruptSession(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	if err := x.readNothing(); err != nil {
		return err
	}
	turn := sn.current()
	if turn == nil {
		return x.reply(http.StatusOK, Interrupted{})
	}
	return x.reply(http.StatusOK, Interrupted{Interrupted: sn.eng.Interrupt(), ExecutionID: turn.id})
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
