package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// Workers run the programs of each key in a process of its own, which is a server too. The server that has them asks who
// sends a request, answers what is about itself (page, audit, metrics, descriptions), and passes on the rest.
type Workers interface {
	// Worker is the worker of a key. Where there is none it is started and waited for, until ctx is done. The error is a
	// [*WorkerError], or ctx's.
	Worker(ctx context.Context, k *Key) (Worker, error)
	// Loads say what each worker does, by the name of its key. A key that had one is in it for good.
	Loads() map[string]WorkerLoad
}

// Worker takes the requests of one key.
type Worker struct {
	// Transport reaches the worker, whatever the host of a request.
	Transport http.RoundTripper
	// Secret is what the worker wants to be shown: the client's own stays here.
	Secret string
	// Release is called once, when the request is over.
	Release func()
}

// WorkerLoad is what a worker does, and what became of those that the key had.
type WorkerLoad struct {
	Load
	// Lives says whether there is one. Starts and Crashes count all that there were.
	Lives           bool
	Starts, Crashes int
}

// Load is how much a server has to do.
type Load struct {
	Running  int `json:"running"`  // programs
	Waiting  int `json:"waiting"`  // programs that have no place to run
	Sessions int `json:"sessions"` // that live
	// Held says that ending the server now would lose something: programs that run, sessions or snapshots without a
	// store, results that somebody may come for, mailboxes and shared folders.
	Held bool `json:"held"`
}

// ErrNotTaken is what a worker's Transport fails with when the worker took no connection, so that nothing was sent. The next
// worker is asked then.
var ErrNotTaken = errors.New("the worker took no connection")

// WorkerError says that no worker can take a request now.
type WorkerError struct {
	Why string
	// After is when it is worth trying again.
	After time.Duration
}

func (e *WorkerError) Error() string { return e.Why }

var (
	errWorkerLate  = fail(http.StatusServiceUnavailable, codeUnavailable, "the worker of this key does not start in time")
	errNoAnswer    = errors.New("the worker's answer has a status that is none")
	errWorkerEnded = &apiError{
		status: http.StatusBadGateway, code: codeUnavailable, retryAfter: time.Second,
		message: "the worker of this key ended, or did not answer: what it ran is lost; sessions in a store come back",
	}
)

// Load is how much s has to do.
func (s *Server) Load() Load {
	l := Load{Sessions: s.sessions.count()}
	l.Running, l.Waiting = s.gate.load()
	l.Held = l.Running+l.Waiting > 0 || s.runs.awaited() || !s.cfg.Stored && l.Sessions+s.snapshots.count() > 0 || s.keys.keepInMemory()
	return l
}

// keepInMemory says whether programs of a key leave things for later ones in the memory of the process.
func (r keyring) keepInMemory() bool {
	return slices.ContainsFunc(r, func(k *Key) bool { return len(k.Policy.Mailbox)+len(k.Policy.Shared) > 0 })
}

// wholeLoad is how much s and its workers have to do.
func (s *Server) wholeLoad() Load {
	l := s.Load()
	if s.cfg.Workers != nil {
		for _, w := range s.cfg.Workers.Loads() {
			l.Running, l.Waiting, l.Sessions = l.Running+w.Running, l.Waiting+w.Waiting, l.Sessions+w.Sessions
		}
	}
	return l
}

// Ran is a run that ended: its record, and what else is counted.
type Ran struct {
	Record   AuditRecord    `json:"record"`
	Waited   time.Duration  `json:"waited"`   // for a place to run
	Tools    map[string]int `json:"tools"`    // calls by their outcome
	Requests map[string]int `json:"requests"` // to the network, by whether they were allowed
}

// denied is how many requests and calls were refused.
func (r Ran) denied() int { return r.Requests["false"] + r.Tools[hostfuncs.OutcomeRefused] }

// lastDenial says which of the calls on record was refused last, and by what rule.
func (r Ran) lastDenial() string {
	for _, q := range slices.Backward(r.Record.HTTPRequests) {
		if !q.Allowed {
			return q.Method + " " + withoutQuery(q.URL) + ": " + q.Reason
		}
	}
	for _, c := range slices.Backward(r.Record.ToolCalls) {
		if c.Outcome == hostfuncs.OutcomeRefused {
			return c.Name + ": " + c.Rule
		}
	}
	return ""
}

// maxRecord is above what a record holds besides its code, and maxCounted above what any limit lets a program ask for.
const (
	maxRecord  = 1 << 20
	maxCounted = 1 << 40
)

// known says whether r can be: its names, which become those of metrics, are among those that there are, and it is no
// larger than records get.
func (r Ran) known() bool {
	_, err := languageOf(r.Record.Language)
	named := func(n map[string]int, names ...string) bool {
		for name, count := range n {
			if count < 0 || count > maxCounted || !slices.Contains(names, name) {
				return false
			}
		}
		return true
	}
	rec := &r.Record
	return err == nil && rec.size()-len(rec.Code) <= maxRecord && len(rec.ToolCalls) <= maxAuditedCalls && len(rec.HTTPRequests) <= maxAuditedCalls && slices.Contains(statuses, r.Record.Status) && named(r.Requests, "true", "false") &&
		named(r.Tools, hostfuncs.OutcomeOK, hostfuncs.OutcomeError, hostfuncs.OutcomeRefused, hostfuncs.OutcomeTimeout, hostfuncs.OutcomeCancelled)
}

var statuses = []string{
	statusFailed, string(engine.StatusOK), string(engine.StatusError), string(engine.StatusTimeout), string(engine.StatusOutOfFuel),
	string(engine.StatusOutOfMemory), string(engine.StatusCancelled), string(engine.StatusTrapped), string(engine.StatusRefused), string(engine.StatusSuspended),
}

// Record puts a run on record that a worker of the key has told of (Config.OnRun). The worker is not trusted with more
// than its key: what cannot be true is left out.
func (s *Server) Record(k *Key, r Ran) {
	if !r.known() {
		s.log(slog.LevelError, "error", "a worker tells of a run that cannot be", slog.String("key", k.Name))
		return
	}
	r.Record.Key, r.Record.Policy = k.Name, k.Policy.Name
	s.record(r)
}

// record puts a run in the audit and the metrics.
func (s *Server) record(r Ran) {
	r.Record.Denied = r.denied()
	if total, report := s.denials.add(r.Record.Key, r.Record.Denied); report {
		s.log(slog.LevelWarn, "resource", "a key's programs are denied again and again", slog.String("key", r.Record.Key),
			slog.Uint64("denied", total), slog.String("run", r.Record.ID), slog.String("last", r.lastDenial()))
	}
	if err := s.audit.add(r.Record); err != nil {
		s.log(slog.LevelError, "error", "the audit file cannot be written", slog.String("error", err.Error()))
	}
	s.metrics.ran(r)
}

// ownRoute says whether a server that has workers answers a path itself.
func ownRoute(path string) bool {
	switch path {
	case "/v1/audit", "/v1/openapi.json", "/v1/runtimes", "/metrics", "/healthz", "/readyz":
		return true
	}
	return strings.HasPrefix(path, "/debug/")
}

// passOn has a worker answer the request.
func (s *Server) passOn(x *exchange) {
	if err := s.begin(); err != nil {
		x.writeError(errStopping)
		return
	}
	defer s.work.Done()
	ctx, cancel := context.WithCancelCause(x.r.Context())
	defer cancel(nil)
	stop := context.AfterFunc(s.ended, func() { cancel(errServerStopping) })
	defer stop()
	route := s.routes.NewContext(nil, nil)
	s.routes.Router().Find(x.r.Method, x.r.URL.Path, route)
	x.route = route.Path()

	wait, cancelWait := context.WithTimeoutCause(ctx, s.cfg.QueueWait, errWorkerLate)
	defer cancelWait()
	body := &passedBody{x: x, from: x.r.Body}
	x.r.Body = body
	to := &passing{s: s, key: x.key, ctx: ctx, wait: wait}
	defer to.release()
	if n := x.r.ContentLength; 0 < n && n <= maxRepeated && s.bodies.take(x.key, n) {
		x.held = n
		var err error
		if to.body, err = io.ReadAll(x.r.Body); err != nil {
			s.fail(x, readError(err))
			return
		}
	}
	dropped := false // the worker answered before it had read the body
	proxy := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "localhost", "localhost"
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			h := r.Out.Header
			for name := range h {
				// Whether a page may ask was decided here, as was which request it is.
				if name == "Origin" || name == "Cookie" || name == "Sec-Websocket-Protocol" || strings.HasPrefix(name, "Sec-Fetch-") {
					delete(h, name)
				}
			}
			if slices.Contains(subprotocols(r.In), subprotocol) {
				h["Sec-Websocket-Protocol"] = []string{subprotocol} // without the key
			}
			h.Set("X-Request-Id", x.id)
			// By these names net/http would take the request for one that may run twice, and repeat it after a worker's death.
			for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
				if named, ok := h[name]; ok {
					delete(h, name)
					h[strings.ToLower(name)] = named
				}
			}
		},
		ModifyResponse: func(res *http.Response) error {
			if res.StatusCode < http.StatusSwitchingProtocols { // net/http panics where that is to be sent
				return errNoAnswer
			}
			for name := range x.Header() {
				delete(res.Header, name) // what is decided here
			}
			dropped = x.dropBody()
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			body.stop()
			if body.err != nil { // who stopped in the middle of it may still read what was wrong
				s.fail(x, readError(body.err))
			} else {
				s.fail(x, workerError(ctx, err))
			}
		},
		Transport: to, FlushInterval: -1, ErrorLog: log.New(connectionLog{s}, "", 0),
	}
	proxy.ServeHTTP(passedOn{x}, x.r.WithContext(ctx))
	// What is sent to its end can be followed by the end of the connection, when all that its client sends was taken.
	if dropped && x.Header().Get("Content-Length") != "" {
		body.stop()
		x.drain()
	}
}

// maxRepeated bounds the body of a request that is kept until it was answered, to be sent again. Where a key's requests hold too
// much together it is not kept.
const maxRepeated = 256 << 10

// passing has a worker of the key take a request. One that has ended without having taken it, which shows in the moment of
// its death, is replaced by the next.
type passing struct {
	s    *Server
	key  *Key
	ctx  context.Context // of the request
	wait context.Context // for a worker
	body []byte          // if it was read ahead
	last Worker
}

// RoundTrip implements [http.RoundTripper]. What a worker says before its answer is not passed on: the proxy would trace it, as often
// as it comes, and drop the headers that were decided here.
func (p *passing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.WithContext(p.ctx)
	for {
		p.release()
		w, err := p.s.cfg.Workers.Worker(p.wait, p.key)
		if err != nil {
			return nil, workerError(p.wait, err)
		}
		p.last = w
		r.Header.Set("Authorization", "Bearer "+w.Secret)
		if p.body != nil {
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.body)), nil } // the transport repeats, too
			r.Body, _ = r.GetBody()
		}
		res, err := w.Transport.RoundTrip(r)
		// A worker that ends with a part of the request unread resets the connection, what is sent later finds it broken, and
		// it runs nothing before it has read all.
		unread := (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) && p.body != nil
		if err == nil || r.Context().Err() != nil || !errors.Is(err, ErrNotTaken) && !unread {
			return res, err
		}
	}
}

func (p *passing) release() {
	if p.last.Release != nil {
		p.last.Release()
		p.last = Worker{}
	}
}

// workerError is what the client is told. ctx may say why there was no time.
func workerError(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*WorkerError](err); ok {
		return &apiError{status: http.StatusServiceUnavailable, code: codeUnavailable, message: e.Why, retryAfter: e.After}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if tooLate := readError(err); errors.Is(err, os.ErrDeadlineExceeded) {
		return tooLate
	}
	return errWorkerEnded
}

// passedBody is a body on its way to a worker. The client has BodyTimeout for each part. The worker's transport may read it
// for longer than the answer takes.
type passedBody struct {
	x    *exchange
	from io.ReadCloser
	over atomic.Bool // nothing of it is read any more

	mu  sync.Mutex // held while it is read
	err error      // that reading failed with
}

func (b *passedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	_ = b.x.control.SetReadDeadline(time.Now().Add(b.x.s.cfg.BodyTimeout))
	if b.over.Load() { // since: stop waits for mu, and sets the deadline that stays
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.from.Read(p)
	switch {
	case err == io.EOF:
		b.x.bodyRead.Store(true)
		_ = b.x.control.SetReadDeadline(time.Time{})
	case err != nil && !b.over.Load():
		b.err = err
	}
	return n, err
}

// stop ends a read that waits, and lets no other begin: what is left of the connection is the caller's.
func (b *passedBody) stop() {
	b.over.Store(true)
	if b.x.bodyRead.Load() || b.x.r.ContentLength == 0 {
		return
	}
	_ = b.x.control.SetReadDeadline(time.Unix(1, 0))
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.x.control.SetReadDeadline(time.Time{})
}

// Close leaves the body open, which the server closes: it may have to go to another worker.
func (b *passedBody) Close() error { return nil }

// passedOn is the writer of a worker's answer. The client has WriteTimeout to take each part.
type passedOn struct{ *exchange }

func (p passedOn) Write(b []byte) (int, error) {
	p.writeWithin(p.s.cfg.WriteTimeout)
	return p.exchange.Write(b)
}

// Hijack implements [http.Hijacker], for WebSockets.
func (p passedOn) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := p.control.Hijack()
	return timedConn{conn, p.s.cfg.WriteTimeout}, rw, err
}

// timedConn is a connection whose other end has a time to take what is written.
type timedConn struct {
	net.Conn
	timeout time.Duration
}

func (c timedConn) Write(b []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.timeout))
	return c.Conn.Write(b)
}

// workerMetrics describe the workers, by key.
type workerMetrics struct {
	workers                                            Workers
	lives, starts, crashes, running, waiting, sessions *prometheus.Desc
}

func newWorkerMetrics(w Workers) *workerMetrics {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, []string{"key"}, nil) }
	return &workerMetrics{
		workers: w,
		lives:   desc("cloche_worker_lives", "Whether the key has a worker now."),
		starts:  desc("cloche_worker_starts_total", "Workers that were started."), crashes: desc("cloche_worker_crashes_total", "Workers that ended unasked."),
		running: desc("cloche_worker_running", "Programs that run now."), waiting: desc("cloche_worker_waiting", "Programs that wait for a place to run."),
		sessions: desc("cloche_worker_sessions", "Sessions that live."),
	}
}

// Describe implements [prometheus.Collector].
func (m *workerMetrics) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, ch) }

// Collect implements [prometheus.Collector].
func (m *workerMetrics) Collect(ch chan<- prometheus.Metric) {
	for key, l := range m.workers.Loads() {
		lives := 0
		if l.Lives {
			lives = 1
		}
		for _, v := range []struct {
			desc *prometheus.Desc
			kind prometheus.ValueType
			n    int
		}{
			{m.lives, prometheus.GaugeValue, lives}, {m.starts, prometheus.CounterValue, l.Starts}, {m.crashes, prometheus.CounterValue, l.Crashes},
			{m.running, prometheus.GaugeValue, l.Running}, {m.waiting, prometheus.GaugeValue, l.Waiting}, {m.sessions, prometheus.GaugeValue, l.Sessions},
		} {
			ch <- prometheus.MustNewConstMetric(v.desc, v.kind, float64(v.n), key)
		}
	}
}
