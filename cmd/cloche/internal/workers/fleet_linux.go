package workers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cloche-dev/cloche/web"
)

// Fleet are the workers of a server: its [web.Workers].
type Fleet struct {
	cfg    Config
	orders *net.UnixConn // to the spawner
	lost   chan struct{} // closed when the spawner has ended
	quit   chan struct{} // closed when the fleet is to end
	tasks  sync.WaitGroup

	// mu guards all below, and what seats and workers say it does.
	mu     sync.Mutex
	seats  map[string]*seat // by the key's name
	last   uint64           // number of a worker
	closed bool
}

// seat is what is known of a key's workers. The fleet's mu guards it.
type seat struct {
	key             *web.Key
	worker          *worker // that lives; or nil
	load            web.Load
	starts, crashes int
	failures        int       // crashes in a row
	notBefore       time.Time // of the next start
}

// worker is a process.
type worker struct {
	id        uint64
	seat      *seat
	secret    string
	control   *net.UnixConn
	transport *http.Transport
	started   time.Time
	ready     chan struct{} // closed when requests are taken
	ended     chan struct{} // closed when the process has ended

	// The fleet's mu guards all below.
	requests int // that go on
	used     time.Time
	retired  bool // told to end
	killed   bool // its process is ended
}

// New starts a fleet, which has no worker yet. It starts a process, and so must be called before the front's wall stands.
func New(cfg Config) (*Fleet, error) {
	orders, err := startSpawner()
	if err != nil {
		return nil, err
	}
	f := &Fleet{cfg: cfg, orders: orders, lost: make(chan struct{}), quit: make(chan struct{}), seats: map[string]*seat{}}
	f.tasks.Go(func() {
		_, _ = orders.Read(make([]byte, 1)) // it says nothing
		close(f.lost)
	})
	f.tasks.Go(f.watch)
	return f, nil
}

// Lost is closed when no worker can be started any longer.
func (f *Fleet) Lost() <-chan struct{} { return f.lost }

// maxDelay is the longest time between a crash and the next start; the first start after a crash is at once.
const (
	firstDelay = 100 * time.Millisecond
	maxDelay   = 30 * time.Second
	// soundAfter is how long a worker lives that is not held to be failing at every start.
	soundAfter = 10 * time.Second
)

func delay(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(firstDelay<<min(failures-2, 20), maxDelay)
}

// Worker implements [web.Workers].
func (f *Fleet) Worker(ctx context.Context, k *web.Key) (web.Worker, error) {
	for {
		w, wait, err := f.take(k)
		if err != nil {
			return web.Worker{}, err
		}
		if w != nil {
			select {
			case <-w.ready:
				return web.Worker{Transport: w.transport, Secret: w.secret, Release: func() { f.release(w) }}, nil
			case <-w.ended:
				f.release(w)
				continue
			case <-ctx.Done():
				f.release(w)
				return web.Worker{}, context.Cause(ctx)
			}
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return web.Worker{}, context.Cause(ctx)
		}
	}
}

// take takes the key's worker, or starts it. Without one there is something to wait for before trying again.
func (f *Fleet) take(k *web.Key) (*worker, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, &web.WorkerError{Why: "the server is stopping", After: time.Second}
	}
	s := f.seats[k.Name]
	if s == nil {
		s = &seat{key: k}
		f.seats[k.Name] = s
	}
	if s.worker != nil && (s.worker.retired || s.worker.killed) {
		return nil, s.worker.ended, nil
	}
	if s.worker == nil {
		if d := time.Until(s.notBefore); d > time.Second {
			return nil, nil, &web.WorkerError{Why: "the worker of this key keeps failing; it is started again later", After: d}
		} else if d > 0 {
			return nil, after(d), nil
		}
		if live, spare := f.count(); live >= f.cfg.Max {
			if spare == nil {
				return nil, nil, &web.WorkerError{Why: fmt.Sprintf("the server has %d workers, and takes no more: none of them is idle", live), After: time.Second}
			}
			f.retire(spare)
			return nil, spare.ended, nil
		}
		if err := f.start(s); err != nil {
			f.cfg.Logger.Error("start worker", "class", "error", "key", k.Name, "error", err.Error())
			return nil, nil, &web.WorkerError{Why: "the worker of this key cannot be started", After: time.Second}
		}
	}
	s.worker.requests++
	return s.worker, nil, nil
}

func after(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// count is how many workers live, and which of them was asked for least lately of those that can be ended: nil for none.
// Preconditions: mu is held.
func (f *Fleet) count() (live int, spare *worker) {
	for _, s := range f.seats {
		w := s.worker
		if w == nil {
			continue
		}
		live++
		if w.retired || !w.idle() {
			continue
		}
		if spare == nil || w.used.Before(spare.used) {
			spare = w
		}
	}
	return live, spare
}

// idle says whether nothing would be lost with the worker. What it said of its load is as old as its last request, or
// younger than loadEvery. Preconditions: mu is held.
func (w *worker) idle() bool {
	return w.requests == 0 && !w.seat.load.Held && time.Since(w.used) > 2*loadEvery
}

func (f *Fleet) release(w *worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.requests--
	w.used = time.Now()
}

// start starts a worker. Preconditions: mu is held.
func (f *Fleet) start(s *seat) error {
	control, fd, err := pair(unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	f.last++
	if err := pass(f.orders, order(orderStart, f.last), fd); err != nil {
		return errors.Join(ErrLost, err, control.Close())
	}
	now := time.Now()
	w := &worker{
		id: f.last, seat: s, secret: rand.Text(), control: control, started: now, used: now, ready: make(chan struct{}), ended: make(chan struct{}),
	}
	w.transport = &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return f.dial(ctx, w) },
		DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
	}
	s.worker, s.load = w, web.Load{}
	s.starts++
	f.tasks.Go(func() { f.serve(w) })
	return nil
}

// dial opens a connection to the worker, and waits until it has taken it. The worker says that with one byte.
func (f *Fleet) dial(ctx context.Context, w *worker) (net.Conn, error) {
	conn, fd, err := pair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	err = pass(w.control, []byte{0}, fd)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
		_, err = conn.Read(make([]byte, 1))
		stop()
	}
	switch {
	case ctx.Err() != nil: // and so the deadline may be set
		return nil, errors.Join(context.Cause(ctx), conn.Close())
	case err != nil:
		f.kill(w, "it takes no connection")
		return nil, errors.Join(web.ErrNotTaken, err, conn.Close())
	}
	return conn, nil
}

// serve hands the worker its job and hears its news, until it has ended.
func (f *Fleet) serve(w *worker) {
	key := w.seat.key
	log := f.cfg.Logger.With("class", "operation", "key", key.Name, "worker", w.id)
	late := time.AfterFunc(f.cfg.Patience, func() { f.kill(w, "it does not start in time") })
	job := f.cfg.Job(key)
	job.Settings.Config.Keys = []*web.Key{{Name: key.Name, Hash: web.HashKey(w.secret), Policy: key.Policy}}
	err := writeJob(w.control, job)
	if err == nil {
		err = hear(w.control, job.Settings.Config.AuditCode, func(n news) {
			switch {
			case n.Ready != nil:
				if !late.Stop() {
					return
				}
				log.Info("worker is ready", "after", time.Since(w.started), "wall", *n.Ready)
				close(w.ready)
				f.tasks.Go(func() { f.ask(w) })
			case n.Ran != nil:
				f.cfg.Record(key, *n.Ran)
			case n.Load != nil:
				f.mu.Lock()
				w.seat.load = *n.Load
				f.mu.Unlock()
			}
		})
	}
	late.Stop()
	if err != nil {
		f.kill(w, err.Error()) // it says what no worker says
	}
	_ = w.control.Close()
	f.gone(w)
}

// gone notes that a worker has ended.
func (f *Fleet) gone(w *worker) {
	f.mu.Lock()
	s, retired := w.seat, w.retired
	s.worker, s.load = nil, web.Load{}
	if !retired {
		s.crashes++
		if time.Since(w.started) > soundAfter {
			s.failures = 0
		}
		s.failures++
		s.notBefore = time.Now().Add(delay(s.failures))
	}
	f.mu.Unlock()
	if !retired {
		f.cfg.Logger.Error("worker ended unasked", "class", "error", "key", s.key.Name, "worker", w.id)
	}
	close(w.ended)
	w.transport.CloseIdleConnections()
}

// ask asks a worker, again and again, whether it still answers.
func (f *Fleet) ask(w *worker) {
	client := http.Client{Transport: w.transport, Timeout: f.cfg.Patience}
	for {
		select {
		case <-w.ended:
			return
		case <-time.After(f.cfg.Patience / 4):
		}
		res, err := client.Get("http://localhost/healthz")
		if err != nil {
			f.mu.Lock()
			retired := w.retired // and so has its grace
			f.mu.Unlock()
			if !retired {
				f.kill(w, "it does not answer")
			}
			return
		}
		_ = res.Body.Close()
	}
}

// kill ends a worker's process at once.
func (f *Fleet) kill(w *worker, why string) {
	select {
	case <-w.ended:
		return
	default:
	}
	f.mu.Lock()
	w.killed = true // who asks from now on waits for the next one
	f.mu.Unlock()
	f.cfg.Logger.Warn("worker is killed", "class", "operation", "key", w.seat.key.Name, "worker", w.id, "why", why)
	_, _ = f.orders.Write(order(orderKill, w.id)) // a spawner that is gone is noticed elsewhere
}

// retire has a worker end in order. Preconditions: mu is held.
func (f *Fleet) retire(w *worker) {
	w.retired = true
	shut(w.control)
	time.AfterFunc(f.cfg.Grace+lastAnswers, func() { f.kill(w, "it does not end in time") })
}

// lastAnswers is what a worker may take beyond its grace.
const lastAnswers = 10 * time.Second

// watch ends workers that nobody asks for.
func (f *Fleet) watch() {
	tick := time.NewTicker(max(min(f.cfg.Idle/4, time.Minute), loadEvery))
	defer tick.Stop()
	for {
		select {
		case <-f.quit:
			return
		case <-tick.C:
		}
		f.mu.Lock()
		for _, s := range f.seats {
			if w := s.worker; w != nil && !w.retired && w.idle() && time.Since(w.used) > f.cfg.Idle {
				f.retire(w)
			}
		}
		f.mu.Unlock()
	}
}

// Loads implements [web.Workers].
func (f *Fleet) Loads() map[string]web.WorkerLoad {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]web.WorkerLoad, len(f.seats))
	for name, s := range f.seats {
		out[name] = web.WorkerLoad{Load: s.load, Lives: s.worker != nil, Starts: s.starts, Crashes: s.crashes}
	}
	return out
}

// Stop has all workers end, in order. It does not wait.
func (f *Fleet) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, s := range f.seats {
		if s.worker != nil && !s.worker.retired {
			f.retire(s.worker)
		}
	}
}

// Close ends all workers, in order, and waits for that.
func (f *Fleet) Close() error {
	f.Stop()
	late := time.After(f.cfg.Grace + 2*lastAnswers)
	for _, w := range f.living() {
		select {
		case <-w.ended:
		case <-late: // nobody is left who could end it
			_ = w.control.Close()
			<-w.ended
		}
	}
	close(f.quit)
	shut(f.orders)
	select {
	case <-f.lost: // the spawner has waited for its processes
	case <-time.After(lastAnswers):
	}
	err := f.orders.Close()
	f.tasks.Wait()
	return err
}

func (f *Fleet) living() (list []*worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seats {
		if s.worker != nil {
			list = append(list, s.worker)
		}
	}
	return list
}
