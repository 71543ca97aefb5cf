// Package web is Cloche over HTTP: runs, sessions, their files and streams, under /v1.
//
// [New] makes a [Server], an http.Handler that any http.Server can serve; [Serve] serves it as cloche serve does, with
// timeouts and an orderly end. The routes and shapes are those of docs/http.md. A Server may be used from several
// goroutines.
//
// Every request passes [Server.ServeHTTP], which asks in this order: is the name in Host ours (a page elsewhere can make
// a name of its own mean 127.0.0.1), does a page elsewhere send it, does it show a key. Only then is the body read. What a
// program did is an answer with status 200; other statuses speak of the request or of the service.
//
// Locks: a session's turn is taken before anything else; the mutexes of the registries are held for moments and never
// while one waits.
package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// Server answers HTTP requests.
type Server struct {
	cfg     Config
	routes  *echo.Echo
	keys    keyring
	gate    *gate
	runs    *executions
	named   *idempotency
	bodies  *bodies
	audit   *audit
	metrics *metrics
	denials denials
	// connections are those of Serve.
	connections connections
	sessions    *sessions
	snapshots   *snapshots
	// description is the API's own, as JSON.
	description func() ([]byte, error)

	// stopping says that no new work is taken; ended is the context of all runs, cancelled when their time is over.
	stopping atomic.Bool
	quit     chan struct{} // closed when stopping begins
	// preparing says that the interpreters are not loaded yet.
	preparing atomic.Bool
	ended     context.Context
	end       context.CancelCauseFunc
	// work counts runs and streams that outlive their request. mu keeps it from growing once Close waits.
	mu   sync.Mutex
	work sync.WaitGroup
}

// errServerStopping is the cause of a run's end when the server does not wait for it any longer.
var errServerStopping = errors.New("the server is stopping")

// New makes a server. Close it.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	s := &Server{cfg: cfg, quit: make(chan struct{}), gate: newGate(cfg.MaxRuns, cfg.QueueWait)}
	for _, k := range cfg.Keys {
		own := *k
		own.Policy = own.Policy.withDefaults()
		setDefault(&own.Policy.MaxRuns, cfg.MaxRuns)
		setDefault(&own.Policy.MaxSessions, cfg.MaxSessions)
		if cfg.Workers == nil { // which have the tools, where they have some
			var err error
			if own.offered, err = cfg.Tools.Select(own.Policy.Tools); err != nil {
				return nil, fmt.Errorf("new server: policy of key %q: %w", k.Name, err)
			}
		}
		if err := own.meet(); err != nil {
			return nil, fmt.Errorf("new server: key %q: %w", own.Name, err)
		}
		s.keys = append(s.keys, &own)
	}
	s.ended, s.end = context.WithCancelCause(context.Background())
	s.runs = newExecutions(cfg.KeepResults, cfg.KeepBytes)
	s.named = newIdempotency(cfg.KeepResults)
	s.bodies = newBodies(cfg.MaxBodyBytes, len(s.keys))
	var err error
	if s.audit, err = newAudit(cfg.AuditCode, cfg.AuditFile); err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	s.metrics = newMetrics(s)
	s.snapshots = newSnapshots()
	if err := s.snapshots.open(cfg.SnapshotDir, s.keys, cfg.Logger); err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	s.sessions = newSessions(s)
	s.description = sync.OnceValues(func() ([]byte, error) { return describe(s.table()) })
	s.route()
	return s, nil
}

// handler answers one request of a known key.
type handler func(x *exchange, c echo.Context) error

// route lists all that is answered.
func (s *Server) route() {
	e := echo.New()
	e.Logger.SetOutput(io.Discard) // what there is to say, the server says itself
	e.HTTPErrorHandler = func(err error, c echo.Context) { s.fail(exchangeOf(c), err) }
	add := func(method string, r route) {
		known := operations[r.method+" "+r.path].query
		e.Add(method, r.path, func(c echo.Context) error {
			x := exchangeOf(c)
			x.route = r.path
			if strings.HasPrefix(r.path, "/v1/") { // probes and scrapers ask as they like
				if err := checkQuery(x.r.URL.RawQuery, known); err != nil {
					return err
				}
			}
			return r.handle(x, c)
		})
	}
	for _, r := range s.table() {
		add(r.method, r)
		if r.method == http.MethodGet && !r.lasts() {
			add(http.MethodHead, r) // net/http leaves the body out
		}
	}
	s.routes = e
}

// table is the one list of routes; the description of the API is made from it too.
func (s *Server) table() []route {
	return []route{
		{"GET", "/healthz", s.healthz},
		{"GET", "/readyz", s.readyz},

		{"POST", "/v1/execute", s.execute},

		{"POST", "/v1/sessions", s.createSession},
		{"GET", "/v1/sessions", s.listSessions},
		{"GET", "/v1/sessions/:id", s.getSession},
		{"PATCH", "/v1/sessions/:id", s.patchSession},
		{"DELETE", "/v1/sessions/:id", s.deleteSession},
		{"POST", "/v1/sessions/:id/execute", s.executeTurn},
		{"POST", "/v1/sessions/:id/resume", s.resumeTurn},
		{"POST", "/v1/sessions/:id/interrupt", s.interruptSession},
		{"POST", "/v1/sessions/:id/reset", s.resetSession},

		{"POST", "/v1/sessions/:id/fork", s.forkSession},
		{"POST", "/v1/sessions/:id/rollback", s.rollbackSession},
		{"GET", "/v1/sessions/:id/history", s.sessionHistory},
		{"GET", "/v1/sessions/:id/autopsy", s.sessionAutopsy},
		{"POST", "/v1/sessions/:id/snapshots", s.createSnapshot},
		{"GET", "/v1/sessions/:id/ws", s.sessionSocket},

		{"GET", "/v1/snapshots", s.listSnapshots},
		{"POST", "/v1/snapshots/import", s.importSnapshot},
		{"GET", "/v1/snapshots/:id", s.getSnapshot},
		{"DELETE", "/v1/snapshots/:id", s.deleteSnapshot},
		{"GET", "/v1/snapshots/:id/export", s.exportSnapshot},

		{"GET", "/v1/sessions/:id/files", s.listFiles},
		{"GET", "/v1/sessions/:id/files/*", s.getFile},
		{"PUT", "/v1/sessions/:id/files/*", s.putFile},
		{"DELETE", "/v1/sessions/:id/files/*", s.deleteFile},
		{"GET", "/v1/sessions/:id/archive", s.getArchive},
		{"PUT", "/v1/sessions/:id/archive", s.putArchive},

		{"GET", "/v1/executions/:id", s.getExecution},
		{"GET", "/v1/executions/:id/events", s.executionEvents},
		{"GET", "/v1/executions/:id/autopsy", s.executionAutopsy},
		{"POST", "/v1/executions/:id/tool_results", s.toolResult},
		{"DELETE", "/v1/executions/:id", s.cancelExecution},

		{"GET", "/v1/runtimes", s.runtimes},
		{"GET", "/v1/audit", s.getAudit},
		{"GET", "/v1/openapi.json", s.openapi},
		{"GET", "/metrics", s.getMetrics},
	}
}

type route struct {
	method, path string
	handle       handler
}

// lasts says whether what the route answers goes on for as long as a program or a client does.
func (r route) lasts() bool {
	return strings.HasSuffix(r.path, "/ws") || strings.HasSuffix(r.path, "/events")
}

// exchange is one request and its answer: the ResponseWriter that handlers see.
type exchange struct {
	http.ResponseWriter
	s        *Server
	r        *http.Request
	id       string
	key      *Key // nil on open routes
	traceID  string
	route    string      // pattern of the route, "" for what has none
	named    *remembered // by an Idempotency-Key
	bodyRead atomic.Bool // to its end; a worker's transport reads it, too
	held     int64       // of the body, in memory
	status   int         // of the answer, 0 when nothing was written
	control  *http.ResponseController
}

func exchangeOf(c echo.Context) *exchange { return c.Response().Writer.(*exchange) }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 || x.status < 200 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if len(b) < longAnswer || x.key == nil {
		return x.ResponseWriter.Write(b)
	}
	defer x.s.bodies.hold(x.key, len(b))()
	return x.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Flush implements http.Flusher, for handlers that are mounted.
func (x *exchange) Flush() { _ = x.control.Flush() }

// writeJSON answers with a whole body.
func (x *exchange) writeJSON(status int, body []byte) {
	h := x.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body) + len(newline))}
	x.writeWithin(x.s.cfg.WriteTimeout)
	x.WriteHeader(status)
	_, _ = x.Write(body) // a client that went away is no concern of ours
	_, _ = x.Write(newline)
}

// Parts of answers that are always the same. Nobody changes them.
var (
	jsonType = []string{"application/json"}
	noSniff  = []string{"nosniff"}
	noStore  = []string{"no-store"}
	newline  = []byte("\n") // at the end of an answer, for those who read it in a terminal
)

// writeWithin gives the client a time to take what is written next.
func (x *exchange) writeWithin(d time.Duration) {
	_ = x.control.SetWriteDeadline(time.Now().Add(d)) // not every ResponseWriter can, such as those of tests
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, s: s, r: r, id: requestID(r), control: http.NewResponseController(w)}
	defer func() {
		x.named.abandon()
		x.letGo()
		s.metrics.answered(x.route, x.status)
	}()
	defer s.recover(x)
	h := x.Header()
	h["X-Request-Id"] = []string{x.id}
	if parent, trace := traceparent(r.Header["Traceparent"]); parent != "" {
		x.traceID = trace
		h["Traceparent"] = []string{parent}
	}
	h["X-Content-Type-Options"], h["Cache-Control"] = noSniff, noStore
	if e := s.guard(x); e != nil {
		x.writeError(e)
		return
	}
	if r.Method == http.MethodOptions && x.key == nil {
		s.preflight(x)
		return
	}
	path := r.URL.Path
	switch {
	case s.cfg.Workers != nil && x.key != nil && !ownRoute(path):
		s.passOn(x)
	case s.cfg.MCP != nil && (path == "/mcp" || strings.HasPrefix(path, "/mcp/")):
		if r.Method == http.MethodPost {
			if err := s.bodies.mayHold(x.key); err != nil { // a body that cannot be read would end the connection
				s.fail(x, err)
				return
			}
		}
		x.hold()
		ctx := context.WithValue(withKey(r.Context(), x.key), programsContext{}, &Programs{s, x.key})
		s.cfg.MCP.ServeHTTP(slowly{x}, r.WithContext(ctx))
	case s.cfg.Debug != nil && strings.HasPrefix(path, "/debug/") && x.key.Admin:
		s.cfg.Debug.ServeHTTP(x, r)
	case x.key == nil && path != "/healthz" && path != "/readyz":
		s.page(x)
	default:
		s.routes.ServeHTTP(x, r)
	}
	if s.stopping.Load() && x.status == 0 {
		h.Set("Connection", "close")
	}
}

// page answers what is open to everyone.
func (s *Server) page(x *exchange) {
	if s.cfg.Page == nil {
		x.writeError(fail(http.StatusNotFound, codeNotFound, "there is no such route"))
		return
	}
	s.cfg.Page.ServeHTTP(x, x.r)
}

// fail answers with what a handler returned, unless its answer has begun.
func (s *Server) fail(x *exchange, err error) {
	e, fault := asAPIError(err)
	if fault != nil {
		s.fault(x, "request failed", slog.String("error", fault.Error()))
	}
	if x.status == 0 {
		x.writeError(e)
	}
}

// recover turns a panic into a bare 500. The server goes on.
func (s *Server) recover(x *exchange) {
	r := recover()
	if r == nil {
		return
	}
	if r == http.ErrAbortHandler {
		panic(r) // how a handler gives up an answer that has begun
	}
	s.fault(x, "panic", slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
	if x.status != 0 {
		panic(http.ErrAbortHandler) // so that the client does not take what it has for the whole
	}
	x.writeError(fail(http.StatusInternalServerError, codeInternal, "the service failed; its log says why"))
}

// fault logs what is a fault of the host's.
func (s *Server) fault(x *exchange, message string, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("class", "error"), slog.String("request_id", x.id), slog.String("method", x.r.Method), slog.String("path", x.r.URL.Path))
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError, message, attrs...)
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

func (s *Server) healthz(x *exchange, _ echo.Context) error {
	x.writeJSON(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

func (s *Server) readyz(x *exchange, _ echo.Context) error {
	if s.stopping.Load() {
		return errStopping
	}
	if s.preparing.Load() {
		return &apiError{status: http.StatusServiceUnavailable, code: codeUnavailable, message: "the interpreters are being prepared", retryAfter: time.Second}
	}
	x.writeJSON(http.StatusOK, []byte(`{"status":"ready"}`))
	return nil
}

// Prepare loads the interpreters, or sets them up. Until it is done /readyz says that the server is not ready, and
// programs wait.
func (s *Server) Prepare(ctx context.Context) error {
	s.preparing.Store(true)
	defer s.preparing.Store(false)
	if s.cfg.Workers != nil {
		return nil
	}
	if err := s.cfg.Engine.Prepare(ctx); err != nil {
		return err
	}
	if s.cfg.Stored {
		s.comeBack(ctx)
	}
	return nil
}

// begin notes work that outlives its request. It fails once the server is stopping.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return errStopping
	}
	s.work.Add(1)
	return nil
}

// Shutdown ends the server in order: nothing new is taken, and what runs may end by itself until ctx is done; what then
// still runs is stopped. Answers of requests that wait are the http.Server's to deliver, whose Shutdown is to be
// called beside this one.
func (s *Server) Shutdown(ctx context.Context) error {
	s.refuse()
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.end(errServerStopping)
	<-done
	return errors.Join(err, s.sessions.close(), s.snapshots.close(), s.audit.close())
}

// refuse lets nothing new be taken from now on.
func (s *Server) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping.Swap(true) {
		close(s.quit)
	}
}

// Close is Shutdown that waits for nothing.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// newID is a new name that nobody can guess, of 130 random bits.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// requestID is what the client calls its request, or a new name.
func requestID(r *http.Request) string {
	const most = 64
	if ids := r.Header["X-Request-Id"]; len(ids) == 1 && ids[0] != "" && len(ids[0]) <= most && strings.Trim(ids[0], idLetters) == "" {
		return ids[0]
	}
	return newID("req_")
}

const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"
