package runtimes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Files of a baked interpreter in the cache.
const (
	moduleFile = "module.wasm" // the rewritten module without names, data and function bodies
	namesFile  = "names"       // its function names, for traps
	imageFile  = "image"       // linear memory after Driver.Boot
	stateFile  = "state.json"  // see bakedState
	codeDir    = "code"        // machine code
)

// bakedState is what belongs to an image besides memory.
type bakedState struct {
	Globals     map[string]uint64 `json:"globals"`
	Descriptors []wasi.Descriptor `json:"descriptors"`
	Info        BootInfo          `json:"info"`
	Exports     []string          `json:"exports"` // of mutable globals
}

// Baked is an interpreter that is ready to make instances.
type Baked struct {
	Driver Driver
	Module *vm.Module
	// State is what instances start from, Info and Descriptors what belongs to it.
	State       vm.State
	Info        BootInfo
	Descriptors []wasi.Descriptor
	// Template has the standard folders and the interpreter's own files.
	Template *vfs.Template

	closers []func() error
}

// Options say where things are kept and who is told.
type Options struct {
	// Cache is the cache folder; empty means [DefaultCacheDir].
	Cache string
	// Progress may be nil.
	Progress Progress
}

// Load returns the interpreter, from the cache if it is there and whole, and else fetched and baked. Close it
// after its last instance.
func Load(ctx context.Context, s Spec, o Options) (_ *Baked, err error) {
	if o.Progress == nil {
		o.Progress = Silent{}
	}
	cache, err := OpenCache(o.Cache)
	if err != nil {
		return nil, err
	}
	b := &Baked{Driver: s.Driver, closers: []func() error{cache.Close}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	dirs := map[string]string{}
	for _, name := range s.Artifacts {
		if dirs[name], err = cache.Artifact(ctx, name, o.Progress); err != nil {
			return nil, err
		}
	}
	if b.Template, err = template(s, dirs); err != nil {
		return nil, err
	}
	dir, err := cache.Ensure(ctx, Entry{
		Name: s.Driver.Language(),
		Key:  s.key(),
		Hot:  []string{imageFile, moduleFile, stateFile},
		Build: func(ctx context.Context, dir string, p Progress) error {
			return bake(ctx, s, filepath.Join(dirs[s.Artifacts[0]], s.Module), b.Template, dir, p)
		},
	}, o.Progress)
	if err != nil {
		return nil, err
	}
	return b, b.open(ctx, s, dir)
}

// key covers everything that the baked files depend on.
func (s Spec) key() string {
	parts := []string{MachineKey(), fmt.Sprint("rewriter ", rewrite.Version), fmt.Sprintf("%+v", s.rewriteOptions()), s.Revision, s.Module}
	for _, name := range s.Artifacts {
		a, err := LookupArtifact(name)
		if err != nil {
			panic(err) // specs and lock file are both part of the program
		}
		parts = append(parts, a.Key())
	}
	return Key(append(append(parts, s.Start...), append(s.Args, s.Env...)...)...)
}

func (s Spec) rewriteOptions() rewrite.Options {
	o := s.Rewrite
	o.LowerExceptions, o.Fuel, o.StripNames, o.StripActiveData = true, true, true, true
	return o
}

func template(s Spec, dirs map[string]string) (*vfs.Template, error) {
	var mounts []vfs.Mount
	if s.Mounts != nil {
		var err error
		if mounts, err = s.Mounts(dirs); err != nil {
			return nil, fmt.Errorf("mount the files of %s: %w", s.Driver.Language(), err)
		}
	}
	return vfs.NewTemplate(vfs.Config{Layout: true, Mounts: mounts})
}

// bake rewrites, compiles and starts the interpreter, and leaves in dir what instances need.
func bake(ctx context.Context, s Spec, wasm string, files *vfs.Template, dir string, p Progress) error {
	binary, err := os.ReadFile(wasm)
	if err != nil {
		return err
	}
	p.Stage("rewrite "+s.Module, s.CompileTime/15)
	out, err := rewrite.Rewrite(binary, s.rewriteOptions())
	if err != nil {
		return fmt.Errorf("%s: %w", s.Module, err)
	}
	if !out.TableImmutable {
		return fmt.Errorf("%s: it can change its tables while it runs, which an image does not hold", s.Module)
	}
	shell, err := rewrite.Shell(out.Module)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{moduleFile: shell, namesFile: out.Names} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	p.Stage("compile "+s.Module, s.CompileTime)
	m, err := vm.Precompile(ctx, s.config(out.Module, out.Globals, dir), shell)
	if err != nil {
		return err
	}
	p.Stage("start "+s.Driver.Language(), s.BootTime)
	err = boot(ctx, s, m, out, files, dir)
	return errors.Join(err, m.Close(context.WithoutCancel(ctx)))
}

// config is how the interpreter is compiled, with its machine code in dir.
func (s Spec) config(binary []byte, globals []string, dir string) vm.Config {
	return vm.Config{
		Binary: binary, CacheDir: filepath.Join(dir, codeDir), Globals: globals,
		Hosts: []vm.Host{wasi.Instantiate}, Funcs: s.Driver.HostFuncs(),
	}
}

// boot starts the interpreter in a cold instance and writes its image.
func boot(ctx context.Context, s Spec, m *vm.Module, out rewrite.Output, files *vfs.Template, dir string) (err error) {
	inst, err := m.New(ctx, vm.State{}, memimage.MaxBytes)
	if err != nil {
		return err
	}
	ns, err := files.New(vfs.Options{})
	if err != nil {
		return errors.Join(err, inst.Close(ctx))
	}
	var printed bytes.Buffer
	state, err := wasi.New(wasi.Config{FS: ns, Args: s.Args, Env: s.Env, Stdout: &printed, Stderr: &printed})
	if err != nil {
		return errors.Join(err, inst.Close(ctx))
	}
	defer func() { err = errors.Join(err, state.Close(), inst.Close(context.WithoutCancel(ctx))) }()
	for _, d := range out.Data {
		if !inst.Memory().Write(d.Offset, d.Bytes) {
			return fmt.Errorf("%s: a data segment at %d does not fit its memory", s.Module, d.Offset)
		}
	}
	var info BootInfo
	meter := vm.Meter{Budget: math.MaxInt64, Check: func(ctx context.Context, _ vm.Guest) error { return ctx.Err() }}
	err = inst.Run(wasi.WithState(ctx, state), &meter, func(ctx context.Context) error {
		for _, export := range s.Start {
			if _, err := inst.Call(ctx, export); err != nil {
				return err
			}
		}
		var err error
		info, err = s.Driver.Boot(ctx, inst)
		return err
	})
	if err != nil {
		return fmt.Errorf("start %s: %w%s", s.Driver.Language(), err, said(printed.Bytes()))
	}
	descriptors, err := state.OpenDescriptors()
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Driver.Language(), err)
	}
	st, err := json.Marshal(bakedState{Globals: inst.Globals(), Descriptors: descriptors, Info: info, Exports: out.Globals})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, stateFile), st, 0o600); err != nil {
		return err
	}
	memory, _ := inst.Memory().Read(0, inst.Memory().Size())
	return os.WriteFile(filepath.Join(dir, imageFile), memory, 0o600)
}

// said is what an interpreter that did not start has printed, for the error.
func said(printed []byte) string {
	const most = 4000
	if printed = bytes.TrimSpace(printed); len(printed) == 0 {
		return ""
	}
	return "; it printed:\n" + string(printed[max(0, len(printed)-most):])
}

// open loads what bake has left in dir.
func (b *Baked) open(ctx context.Context, s Spec, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return err
	}
	var st bakedState
	if err := json.Unmarshal(text, &st); err != nil {
		return fmt.Errorf("%s: %w", stateFile, err)
	}
	b.Info, b.Descriptors, b.State.Globals = st.Info, st.Descriptors, st.Globals
	shell, err := os.ReadFile(filepath.Join(dir, moduleFile))
	if err != nil {
		return err
	}
	cfg := s.config(shell, st.Exports, dir)
	cfg.Cached = true
	if b.Module, err = vm.Compile(ctx, cfg); err != nil {
		return err
	}
	b.closers = append(b.closers, func() error { return b.Module.Close(context.Background()) })
	if b.State.Image, err = memimage.Open(filepath.Join(dir, imageFile)); err != nil {
		return err
	}
	b.closers = append(b.closers, b.State.Image.Close)
	return nil
}

// Close frees the interpreter. Its instances must have been closed.
func (b *Baked) Close() error {
	var errs []error
	for i := len(b.closers) - 1; i >= 0; i-- {
		errs = append(errs, b.closers[i]())
	}
	b.closers = nil
	return errors.Join(errs...)
}
