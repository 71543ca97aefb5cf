package engine

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// sandbox is an instance with the files and descriptors that are one program's or session's. It belongs to
// one goroutine at a time.
type sandbox struct {
	eng    *Engine
	lang   *loaded
	opts   Options
	limits limits.Limits
	random io.Reader // the guest's entropy

	inst  *vm.Instance // nil when the last turn's had to be thrown away
	ns    *vfs.Namespace
	state *wasi.State
	turns int
	begun time.Time // when the sandbox was asked for

	session bool
	mounts  []*vfs.HostDir
}

// sandbox makes a fresh one. The caller closes it.
func (e *Engine) sandbox(ctx context.Context, o Options) (*sandbox, error) {
	begun := time.Now()
	if err := o.check(); err != nil {
		return nil, err
	}
	l, err := e.language(o.Language)
	if err != nil {
		return nil, err
	}
	if err := e.enter(ctx); err != nil {
		return nil, err
	}
	s := &sandbox{eng: e, opts: o, limits: o.Limits.Or(e.cfg.Limits), begun: begun, random: entropy(o.Seed)}
	if s.lang, err = l.load(ctx); err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// start takes an instance and lays out the files.
func (s *sandbox) start(ctx context.Context) error {
	image := uint64(s.lang.State.Image.Size())
	if s.limits.MemoryBytes < image {
		return invalid("a memory limit of %s is less than the %s that %s needs to start",
			limits.FormatSize(s.limits.MemoryBytes), limits.FormatSize(image), s.lang.Driver.Language())
	}
	var err error
	if err = s.lay(); err != nil {
		return err
	}
	if s.state, err = wasi.New(wasi.Config{FS: s.ns, OpenFiles: int(s.limits.OpenFiles)}); err != nil {
		return err
	}
	if err := s.state.RestoreDescriptors(s.lang.Descriptors); err != nil {
		return fmt.Errorf("restore the image's descriptors: %w", err)
	}
	s.inst, err = s.lang.pool.Get(ctx)
	return err
}

// close frees the sandbox. An instance that came back in order is reset for the next.
func (s *sandbox) close() error {
	defer s.eng.leave()
	var err error
	if s.state != nil {
		err = s.state.Close()
	}
	for _, m := range s.mounts {
		err = errors.Join(err, m.Close())
	}
	if s.inst != nil {
		s.lang.pool.Put(s.inst)
		s.inst = nil
	}
	return err
}

// discard closes the instance, which must not run again.
func (s *sandbox) discard() {
	_ = s.inst.Close(context.Background()) // nothing of it is of use, whatever the error
	s.inst = nil
}

// running is one turn while it runs.
type running struct {
	*runtimes.Turn
	limits         limits.Limits
	stdout, stderr capped
	shown          displays
	door           hostfuncs.Door
	deadline       *deadline
	clock          wasi.Clock
	meter          vm.Meter
	env            js.Env // what the JavaScript driver reaches without WASI
}

// run runs one turn. After it s.inst is nil when the turn was cut.
func (s *sandbox) run(ctx context.Context, t Turn) (*Result, error) {
	begun := s.begun
	if s.turns > 0 {
		begun = time.Now()
	}
	lim := t.Limits.Or(s.limits)
	if err := lim.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	language, number := cmp.Or(s.opts.Language, Python), 0
	if s.session {
		number = s.turns + 1
	}
	rt, syntax, err := t.prepare(language, number)
	if err != nil {
		return nil, err
	}
	res := &Result{ID: newID("run_"), Language: language}
	if syntax != nil {
		res.Status, res.ExitCode, res.Error = StatusError, ExitError, (*Error)(syntax)
		res.Stderr = syntax.Traceback + "\n"
		return res, nil
	}
	r := &running{Turn: rt, limits: lim}
	if err := s.equip(r, t); err != nil {
		return nil, err
	}
	mark := s.ns.Mark()
	res.Usage.Start = time.Since(begun)
	out, err := s.drive(ctx, r)
	s.turns++
	err = s.record(res, r, out, err)
	if s.inst != nil && err == nil {
		res.FilesChanged, err = s.changes(mark)
	}
	return res, err
}

// equip gives the turn its streams, its clock, its door and its budget.
func (s *sandbox) equip(r *running, t Turn) error {
	r.stdout = capped{limit: r.limits.OutputBytes, to: t.Stdout}
	r.stderr = capped{limit: r.limits.OutputBytes, to: t.Stderr}
	r.shown = displays{limit: r.limits.ResultBytes}
	r.door = hostfuncs.Door{MaxCalls: r.limits.HostCalls, Handlers: map[hostfuncs.Op]hostfuncs.Handler{
		hostfuncs.OpDisplay: r.shown.handle,
	}}
	r.First, r.Session, r.Seed, r.Env = s.turns == 0, s.session, s.opts.Seed, s.opts.Env
	r.Door = r.door.Serve
	r.Entropy = func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(s.random, b) // neither source of entropy can fail
		return b
	}
	r.deadline = newDeadline(r.limits, func(ctx context.Context) error {
		return s.lang.Driver.Interrupt(ctx, s.inst, s.lang.Info)
	})
	r.meter = vm.Meter{Budget: r.limits.Fuel, Check: r.deadline.check, OutOfFuel: func(used uint64) error {
		return &limits.ExceededError{Resource: limits.Fuel, Limit: r.limits.Fuel, Used: used}
	}}
	r.clock = &turnClock{s.eng.cfg.Clock, r.deadline}
	r.env = js.Env{Files: guestFiles{s.ns}, Stdout: &r.stdout, Stderr: &r.stderr, Clock: r.clock, Dir: workDir}
	s.inst.Linear().SetLimit(r.limits.MemoryBytes / memimage.PageSize * memimage.PageSize)
	return s.state.Renew(wasi.Config{
		Stdin: t.Stdin, Stdout: &r.stdout, Stderr: &r.stderr, AbsoluteLinks: true,
		Clock: r.clock, Random: s.random,
	})
}

// drive lets the interpreter run the turn.
func (s *sandbox) drive(ctx context.Context, r *running) (out runtimes.Outcome, err error) {
	ctx = js.WithEnv(wasi.WithState(ctx, s.state), &r.env)
	err = s.inst.Run(ctx, &r.meter, func(ctx context.Context) error {
		r.env.Stdin = stdinReader{ctx, s.state}
		out, err = s.lang.Driver.Turn(ctx, s.inst, s.lang.Info, r.Turn)
		return err
	})
	return out, err
}

// stdinReader is the turn's standard input, whose waits end with the turn. The context is that of one call,
// which it does not outlive.
type stdinReader struct {
	ctx   context.Context
	state *wasi.State
}

func (r stdinReader) Read(p []byte) (int, error) { return r.state.ReadStdin(r.ctx, p) }

// record fills in what the turn printed, showed and used, and how it ended.
func (s *sandbox) record(res *Result, r *running, out runtimes.Outcome, err error) error {
	res.Stdout, res.Stderr, res.Results = string(r.stdout.kept), string(r.stderr.kept), r.shown.shown
	if t := (Truncated{r.stdout.cut(), r.stderr.cut(), r.shown.cut()}); t != (Truncated{}) {
		res.Truncated = &t
	}
	linear := s.inst.Linear()
	private, errPrivate := linear.PrivateBytes()
	wall := time.Since(r.deadline.start)
	res.Usage = limits.Usage{
		Start: res.Usage.Start, Wall: wall, Compute: wall - r.deadline.waited, Fuel: r.meter.Used(),
		MemoryPeakBytes: linear.Size(), PrivateBytes: private,
		DiskBytes: uint64(s.ns.Usage().Bytes), OutputBytes: r.stdout.total + r.stderr.total,
	}
	memory := &limits.ExceededError{Resource: limits.Memory, Limit: r.limits.MemoryBytes, Used: linear.Size()}
	if err == nil {
		res.cameBack(out, r.deadline, memory)
		return errPrivate
	}
	denied := linear.Denied()
	s.discard()
	return errors.Join(res.cutShort(err, denied, memory), errPrivate)
}

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
