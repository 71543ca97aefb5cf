package engine

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
	"github.com/cloche-dev/cloche/runtimes/python"
	"github.com/cloche-dev/cloche/wasi"
)

// sandbox is an instance with the files and descriptors that are one program's or session's. It belongs to
// one goroutine at a time.
type sandbox struct {
	eng    *Engine
	lang   *loaded
	opts   Options
	limits limits.Limits
	random io.Reader  // the guest's entropy
	tape   tape       // of its one run; see running.tape
	clock  wasi.Clock // the guest's time

	inst  *vm.Instance // nil when the last turn's had to be thrown away
	tree  *tree
	state *wasi.State
	turns int
	made  time.Duration // how long it took to make the sandbox, which is part of its first turn's start

	session bool
	seated  bool            // it has one of the places for live sandboxes
	copied  bool            // the next turn must renew random generators; see state.copied
	failed  *failure        // what is kept of the last turn, if it was cut
	asked   <-chan struct{} // closed to interrupt the turn gently; see Session.Interrupt
}

// sandbox makes a fresh one. The caller closes it.
func (e *Engine) sandbox(ctx context.Context, o Options) (*sandbox, error) {
	begun := time.Now()
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := e.enter(ctx); err != nil {
		return nil, err
	}
	s := &sandbox{eng: e, opts: o, limits: o.Limits.Or(e.cfg.Limits), random: entropy(o.Seed), clock: e.cfg.Clock}
	if !o.Clock.IsZero() {
		s.clock = wasi.NewFixedClock(o.Clock, 0)
	}
	s.seated = true
	var err error
	if s.lang, s.opts, err = e.interpreter(ctx, o); err == nil {
		s.copied = s.lang.template
		err = s.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.made = time.Since(begun)
	return s, nil
}

// start takes an instance and lays out the files.
func (s *sandbox) start(ctx context.Context) error {
	image := uint64(s.lang.State.Image.Size())
	if s.limits.MemoryBytes < image {
		return invalid("a memory limit of %s is less than the %s that %s needs to start",
			limits.FormatSize(s.limits.MemoryBytes), limits.FormatSize(image), s.lang.Driver.Language())
	}
	packages, err := s.eng.packages.mount(ctx, s.opts)
	if err != nil {
		return err
	}
	if s.tree, err = newTree(s.lang.Template, s.lang.files, packages, s.opts, s.limits, s.clock); err != nil {
		return err
	}
	if s.state, err = wasi.New(wasi.Config{FS: s.tree.Namespace, OpenFiles: int(s.limits.OpenFiles)}); err != nil {
		return err
	}
	err = s.state.RestoreDescriptors(s.lang.Descriptors)
	if few, ok := errors.AsType[*wasi.OpenFilesError](err); ok {
		return invalid("a limit of %d open files is less than the %d that %s needs to start", few.Cap, few.Open, s.lang.Driver.Language())
	}
	if err != nil {
		return fmt.Errorf("restore the image's descriptors: %w", err)
	}
	s.inst, err = s.lang.pool.Get(ctx)
	return err
}

// close frees the sandbox. An instance that came back in order is reset for the next.
func (s *sandbox) close() error {
	err := s.release()
	s.park()
	return err
}

// release is close, but for the sandbox's place among the live ones.
func (s *sandbox) release() error {
	var err error
	if s.state != nil {
		err = s.state.Close()
		s.state = nil
	}
	if s.tree != nil {
		err = errors.Join(err, s.tree.close())
	}
	s.vacate()
	return err
}

// discard closes the instance, which must not run again.
func (s *sandbox) discard() {
	_ = s.inst.Close(context.Background()) // nothing of it is of use, whatever the error
	s.inst = nil
}

// run runs one turn, or with from the rest of a suspended one. After it s.inst is nil when the turn was cut.
func (s *sandbox) run(ctx context.Context, t Turn, from *resumption) (*Result, error) {
	begun := time.Now()
	s.failed = nil
	lim := s.limits
	if t.Limits != (limits.Limits{}) {
		lim = t.Limits.Or(lim)
		if err := lim.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	language, number := cmp.Or(s.opts.Language, Python), 0
	if s.session {
		number = s.turns + 1
	}
	turn, err := t.prepare(language, number)
	if err != nil {
		return nil, err
	}
	res := &Result{ID: cmp.Or(t.ID, newID("run_")), Language: language}
	r := newRunning(lim, t, s.clock, func(ctx context.Context) error {
		return s.lang.Driver.Interrupt(ctx, s.inst, s.lang.Info)
	})
	r.deadline.unnoticed = func() bool { return s.lang.Driver.Unnoticed(s.inst, s.lang.Info) }
	r.deadline.yield = func() { s.inst.Yield(&r.meter) }
	r.deadline.asked, r.session = s.asked, s.session
	r.tape, r.random = s.tape, s.random
	if err := s.comeBack(r, turn, &t, from); err != nil {
		return nil, err
	}
	s.inst.Linear().SetLimit(wholePages(lim.MemoryBytes))
	if err := s.state.Renew(r.wasi(s.tree, t.Stdin, r.random)); err != nil {
		return nil, err
	}
	mark := s.tree.Mark()
	res.Usage.Start = time.Since(begun)
	if s.turns == 0 {
		res.Usage.Start += s.made
	}
	out, err := s.drive(ctx, r, turn, func() *slog.Logger { return s.eng.cfg.Logger.With("run", res.ID) })
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		err = cancelled(ctx) // whatever it was that noticed first
	}
	if from == nil || from.again() {
		s.turns++
	}
	err = r.record(res, s.inst, s.tree, out, err)
	if res.Status == StatusSuspended {
		res.suspended = r.suspension(res, turn, out.Suspended)
		res.PendingCalls = res.suspended.pending()
	}
	if tape, ok := r.tape.(*turnTape); ok && err == nil && !res.cut {
		err = tape.unfinished(res)
		res.cut = err != nil
	}
	if res.cut {
		if err == nil {
			s.failed = s.fail(res, r, t, turn.Name)
		}
		s.discard()
	}
	if err == nil { // the files are the host's, and in order when the instance is not; a session undoes what a turn that was cut did
		res.FilesChanged, res.MoreFilesChanged = s.tree.changes(mark)
	}
	s.log(ctx, res)
	return res, err
}

// log writes the record of a turn. It has no word of the program's.
func (s *sandbox) log(ctx context.Context, res *Result) {
	if !s.eng.cfg.Logger.Enabled(ctx, slog.LevelError) {
		return
	}
	u := res.Usage
	attrs := []slog.Attr{
		slog.String("run", res.ID), slog.String("language", res.Language), slog.String("status", string(res.Status)),
		slog.Uint64("fuel", u.Fuel), slog.Duration("wall", u.Wall), slog.Uint64("private_bytes", u.PrivateBytes),
	}
	level := slog.LevelInfo
	if trap, ok := errors.AsType[*vm.Trap](res.trap); ok && trap.Fault != "" {
		level, attrs = slog.LevelError, append(attrs, slog.String("fault", trap.Fault))
	}
	s.eng.cfg.Logger.LogAttrs(ctx, level, "turn", attrs...)
}

// drive lets the interpreter run the turn.
func (s *sandbox) drive(ctx context.Context, r *running, t *runtimes.Turn, log func() *slog.Logger) (out runtimes.Outcome, err error) {
	t.First, t.Session, t.Seed, t.Env = s.turns == 0, s.session, s.opts.Seed, s.opts.Env
	t.Renew = s.copied
	t.Deny = s.opts.Review.Deny
	if len(s.opts.Packages) > 0 {
		t.Paths = []string{python.PackagesDir}
	}
	t.Door, t.Disk = r.door.Serve, func() runtimes.Space { return s.tree.space(r.limits) }
	t.Tools = !s.opts.Tools.Empty()
	r.offer(ctx, &s.opts, log)
	defer r.disconnect()
	if r.tape != nil {
		r.tape.splice(r, t)
	}
	t.Entropy = func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(r.random, b) // neither source of entropy can fail
		return b
	}
	env := js.Env{Files: guestFiles{s.tree.Namespace, func(l limits.Resource) { r.quota(s.tree, l) }}, Stdout: &r.stdout, Stderr: &r.stderr, Clock: r.guestClock, Dir: runtimes.WorkDir}
	ctx = js.WithEnv(wasi.WithState(ctx, s.state), &env)
	err = s.inst.Run(ctx, &r.meter, func(ctx context.Context) error {
		r.events.waiting = func() { vm.Waiting(ctx) }
		env.Stdin = stdinReader{ctx, s.state}
		out, err = s.lang.Driver.Turn(ctx, s.inst, s.lang.Info, t)
		return err
	})
	return r.suspend(out, err), err
}

// stdinReader is the turn's standard input for JavaScript, whose waits end with the turn. The context is that
// of one call, which it does not outlive.
type stdinReader struct {
	ctx   context.Context
	state *wasi.State
}

func (r stdinReader) Read(p []byte) (int, error) { return r.state.ReadStdin(r.ctx, p) }

func wholePages(bytes uint64) uint64 { return bytes / memimage.PageSize * memimage.PageSize }

// entropy is the guest's source of randomness.
func entropy(seed *uint64) io.Reader {
	if seed == nil {
		return cryptorand.Reader
	}
	var key [32]byte
	for i := range 8 {
		key[i] = byte(*seed >> (8 * i))
	}
	return rand.NewChaCha8(key)
}
