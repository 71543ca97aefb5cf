package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Command is a wasm32-wasip1 program: a module that exports _start. It is for tests and tinkering by whoever owns
// the machine. wazero's compiler trusts what it compiles, so a stranger's module is never to be run this way.
type Command struct {
	// Binary is the module.
	Binary []byte
	// Args are the program's arguments, its name first; Env is its environment.
	Args []string
	Env  map[string]string
	// Mounts show host folders. One at "/" takes the place of the sandbox's own files.
	Mounts []limits.Mount
	// Scratch gives it files in memory (/data, /tmp) without any mount. With neither it has no file tree.
	Scratch bool
	// Stdin, Stdout and Stderr are as in a [Turn], Limits and Seed as in [Options].
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Limits         limits.Limits
	Seed           *uint64
	// Clock is what the program sees as time. Nil: the host's.
	Clock wasi.Clock
}

// RunCommand runs a command module under the limits of a Job, fuel included. The result's language is "wasm".
func RunCommand(ctx context.Context, c Command) (_ *Result, err error) {
	o := Options{Env: c.Env, Mounts: c.Mounts}
	if err := errors.Join(o.check(), c.Limits.Validate()); err != nil {
		return nil, err
	}
	lim := c.Limits.WithDefaults()
	if c.Clock == nil {
		c.Clock = wasi.HostClock()
	}
	m, err := compileCommand(ctx, c.Binary)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	files, err := commandTree(o, lim, c.Clock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.close()) }()
	inst, err := m.New(ctx, vm.State{}, wholePages(lim.MemoryBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer func() { err = errors.Join(err, inst.Close(context.WithoutCancel(ctx))) }()

	// A command has no way to be interrupted gently: at the soft deadline it is stopped.
	var r *running
	r = newRunning(lim, Turn{Stdout: c.Stdout, Stderr: c.Stderr}, c.Clock, func(context.Context) error { return r.deadline.over() })
	r.deadline.yield = func() { inst.Yield(&r.meter) }
	cfg := r.wasi(files, c.Stdin, entropy(c.Seed))
	cfg.Args, cfg.FS, cfg.OpenFiles, cfg.AbsoluteLinks = c.Args, files.Namespace, int(lim.OpenFiles), false
	if !c.Scratch && len(c.Mounts) == 0 {
		cfg.Preopens = []string{}
	}
	for k, v := range c.Env {
		cfg.Env = append(cfg.Env, k+"="+v)
	}
	state, err := wasi.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	res := &Result{ID: newID("run_"), Language: "wasm"}
	err = inst.Run(wasi.WithState(ctx, state), &r.meter, func(ctx context.Context) error {
		_, err := inst.Call(ctx, "_start")
		return err
	})
	return res, r.record(res, inst, files, runtimes.Outcome{}, err)
}

func compileCommand(ctx context.Context, binary []byte) (*vm.Module, error) {
	out, err := rewrite.Rewrite(binary, rewrite.Options{LowerExceptions: true, Fuel: true})
	if err != nil {
		return nil, err
	}
	return vm.Compile(ctx, vm.Config{Binary: out.Module, Hosts: []vm.Host{wasi.Instantiate}})
}

// commandTree is the standard folders, or the host folder that is mounted at the root.
func commandTree(o Options, l limits.Limits, clock wasi.Clock) (*tree, error) {
	rooted := slices.ContainsFunc(o.Mounts, func(m limits.Mount) bool { return m.Guest == "/" })
	t, err := vfs.NewTemplate(vfs.Config{Layout: !rooted})
	if err != nil {
		return nil, err
	}
	return newTree(t, nil, nil, o, l, clock)
}
