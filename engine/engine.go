// Package engine runs programs that nobody has read yet: Python and JavaScript, each in a sandbox of
// its own inside this process.
//
//	eng, err := engine.New(engine.Config{})
//	res, err := eng.Run(ctx, engine.Job{Code: "print(6 * 7)"})
//
// [Engine.Run] gives each [Job] a fresh sandbox. [Engine.Open] makes a [Session], which keeps its variables
// and files from turn to turn. What the guest did is a [Result], whatever it did; an error means that the job was
// malformed ([ErrInvalid]) or that the host failed.
//
// An Engine may be used from several goroutines, a Session too (its turns do not overlap). The first job of a
// language loads its interpreter from the cache folder, which takes a fraction of a second, or sets it up, which
// takes a minute; [Engine.Prepare] does so ahead of time.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
	"github.com/cloche-dev/cloche/runtimes/python"
	"github.com/cloche-dev/cloche/wasi"
)

// Config says how an engine works. The zero value is usable and safe.
type Config struct {
	// Cache is the folder of baked interpreters. Empty: $CLOCHE_CACHE, or "cloche" in the user's cache folder.
	Cache string
	// Limits are those of jobs that do not say otherwise; fields that are zero are limits.Default's.
	Limits limits.Limits
	// MaxSandboxes is the number of sandboxes that live at once, sessions included; jobs beyond it wait. Zero
	// means 64.
	MaxSandboxes int
	// MaxIdle is the number of warm instances kept per language, 1 to 1024. Zero means 4. Each holds about 3 MiB
	// and the pages that runs commonly write.
	MaxIdle int
	// Progress is told how setting up an interpreter goes. Nil: nobody is.
	Progress runtimes.Progress
	// Clock is what guests see as time; sleeping and deadlines are in real time. Nil: the host's clock.
	Clock wasi.Clock
	// MaxSessions is the number of sessions that are open at once; more are refused. Sessions that nobody uses take
	// no place among MaxSandboxes. Zero means 10,000.
	MaxSessions int
	// ParkAfter is how long a session may be idle before it gives its instance back and keeps its state alone; its next
	// turn takes about a tenth of a millisecond more. Zero means two seconds.
	ParkAfter time.Duration
	// Store is a folder that keeps sessions: each turn is there before its Result is, and a process that opens
	// the folder after this one has ended, in whatever way, has its sessions (see Engine.Session). It is for one process
	// at a time, is made if it is missing, and holds all that guests hold: it must be the user's alone. Empty: none.
	Store string
	// HibernateAfter is how long a session may be idle before it is left to the store. Zero means five minutes.
	HibernateAfter time.Duration
	// SnapshotKey authenticates snapshot files: those made with another key are refused. Empty: that of the file
	// snapshot.key in the Store folder, else in the cache folder, which is made at its first use.
	SnapshotKey []byte
	// Logger gets a record per turn: language, status, usage; never source or output. Nil: none.
	Logger *slog.Logger
}

// Engine holds the interpreters and their warm instances.
type Engine struct {
	cfg       Config
	languages map[string]*language
	slots     chan struct{}
	keys      keyring
	templates templates
	live      *sessions
	store     *store // or nil
	failures  failures
	packages  packages

	// mu guards closed, and that nothing is added to open after it.
	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup
}

// ErrClosed is returned by an engine or session that was closed.
var ErrClosed = errors.New("closed")

// Specs are the interpreters that there are, by the language of each.
func Specs() map[string]runtimes.Spec {
	return map[string]runtimes.Spec{Python: python.Spec(), JavaScript: js.Spec()}
}

// New makes an engine. It loads nothing yet.
func New(cfg Config) (*Engine, error) {
	if cfg.MaxSandboxes == 0 {
		cfg.MaxSandboxes = 64
	}
	if cfg.MaxIdle == 0 {
		cfg.MaxIdle = 4
	}
	if cfg.Clock == nil {
		cfg.Clock = wasi.HostClock()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	errs := []error{cfg.Limits.Validate()}
	if cfg.MaxSandboxes < 1 {
		errs = append(errs, fmt.Errorf("MaxSandboxes is %d, must be 1 or more", cfg.MaxSandboxes))
	}
	if cfg.MaxIdle < 1 || cfg.MaxIdle > 1024 {
		errs = append(errs, fmt.Errorf("MaxIdle is %d, must be from 1 to 1024", cfg.MaxIdle))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	cfg.Limits = cfg.Limits.WithDefaults()
	cfg.MaxSessions = cmp.Or(cfg.MaxSessions, 10_000)
	cfg.ParkAfter, cfg.HibernateAfter = cmp.Or(cfg.ParkAfter, 2*time.Second), cmp.Or(cfg.HibernateAfter, 5*time.Minute)
	e := &Engine{cfg: cfg, languages: map[string]*language{}, slots: make(chan struct{}, cfg.MaxSandboxes)}
	e.live = &sessions{eng: e, open: map[string]*Session{}, hurry: make(chan struct{}, 1)}
	if cfg.Store != "" {
		var err error
		if e.store, err = openStore(cfg.Store); err != nil {
			return nil, fmt.Errorf("new engine: %w", err)
		}
	}
	ballast()
	for name, spec := range Specs() {
		e.languages[name] = &language{spec: spec, cfg: cfg}
	}
	e.packages = packages{cfg: cfg, python: e.languages[Python].load}
	return e, nil
}

// Limits are those of jobs and sessions that do not say otherwise. No field is zero.
func (e *Engine) Limits() limits.Limits { return e.cfg.Limits }

// Prepare loads interpreters, setting up what is missing, so that the first job does not wait. Without
// languages it is all of them.
func (e *Engine) Prepare(ctx context.Context, languages ...string) error {
	if len(languages) == 0 {
		languages = []string{JavaScript, Python}
	}
	for _, name := range languages {
		l, err := e.language(name)
		if err != nil {
			return err
		}
		if _, err := l.load(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) language(name string) (*language, error) {
	rt, err := knownRuntime(name)
	if err != nil {
		return nil, err
	}
	return e.languages[rt], nil
}

// Run runs a job in a fresh sandbox.
func (e *Engine) Run(ctx context.Context, j Job) (*Result, error) {
	if j.Receipt {
		return e.runRecorded(ctx, j)
	}
	return e.run(ctx, j, nil)
}

// run runs a job, with its host's answers on a tape if there is one.
func (e *Engine) run(ctx context.Context, j Job, answers tape) (*Result, error) {
	sb, err := e.sandbox(ctx, j.options())
	if err != nil {
		return nil, err
	}
	sb.tape = answers
	res, err := sb.run(ctx, j.turn(), nil)
	if err == nil {
		res.files = sb.tree.files()
	}
	return res, errors.Join(err, sb.close())
}

// Close ends the engine: running jobs and turns are waited for, sessions are closed (a store keeps them), then everything
// is freed. Cancel contexts to make it quick.
func (e *Engine) Close() error {
	e.mu.Lock()
	already := e.closed
	e.closed = true
	e.mu.Unlock()
	if already {
		e.open.Wait()
		return nil
	}
	errs := []error{e.live.close()}
	e.open.Wait()
	e.failures.dropAll()
	if e.store != nil {
		errs = append(errs, e.store.lock.Close())
	}
	errs = append(errs, e.templates.close())
	for _, l := range e.languages {
		errs = append(errs, l.close())
	}
	errs = append(errs, e.packages.close()...)
	return errors.Join(errs...)
}

// enter takes one of the places for live sandboxes. leave gives it back.
func (e *Engine) enter(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
	default:
		select {
		case e.live.hurry <- struct{}{}:
		default:
		}
		select {
		case e.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("wait for one of %d sandboxes: %w", cap(e.slots), context.Cause(ctx))
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		<-e.slots
		return fmt.Errorf("engine: %w", ErrClosed)
	}
	e.open.Add(1)
	return nil
}

func (e *Engine) leave() {
	<-e.slots
	e.open.Done()
}

// newID is a name that nobody can guess: 26 letters and digits, of 130 random bits.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
