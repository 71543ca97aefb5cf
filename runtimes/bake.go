package runtimes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine/layout"
	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// A baked interpreter is two entries of the cache, so that a change of the guest code does not compile the
// interpreter again: its machine code, and the image of it started.
const (
	shellFile   = "module.wasm" // the rewritten module without names, data and function bodies
	codeDir     = "code"        // its machine code
	namesFile   = "names"       // its function names, for traps
	dataFile    = "data"        // its data segments, one after the other
	programFile = "program.json"

	imageFile = "image" // linear memory after Driver.Boot
	stateFile = "state.json"
)

// program is what is known of a compiled module.
type program struct {
	Globals []string  `json:"globals"` // exports of mutable globals
	Data    []segment `json:"data"`
	LaidOut bool      `json:"laid_out"` // its machine code is in the order of package layout
}

// segment is a stretch of dataFile that belongs at Offset of linear memory.
type segment struct {
	Offset uint32 `json:"offset"`
	Bytes  int    `json:"bytes"`
}

// started is what belongs to an image besides memory.
type started struct {
	Globals     map[string]uint64 `json:"globals"`
	Descriptors []wasi.Descriptor `json:"descriptors"`
	Info        BootInfo          `json:"info"`
}

// Baked is an interpreter that is ready to make instances.
type Baked struct {
	Driver Driver
	Module *vm.Module
	// State is what instances start from, Info and Descriptors what belongs to it.
	State       vm.State
	Info        BootInfo
	Descriptors []wasi.Descriptor
	// ID is the hash of the image and of all that belongs to it: what is kept of an instance is kept beyond the image of
	// this ID, and fits no other. Machine code is no part of it: the ID is the same wherever the same version of everything
	// has made the image.
	ID string
	// LaidOut says that the machine code is in the order of package layout. It is not on other processors than amd64.
	LaidOut bool
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
	dirs, err := cache.Artifacts(ctx, s.Artifacts, o.Progress)
	if err != nil {
		return nil, err
	}
	entry := s.codeEntry()
	entry.Build = func(ctx context.Context, dir string, p Progress) error {
		return build(ctx, s, filepath.Join(dirs[s.Artifacts[0]], s.Module), dir, p)
	}
	code, err := cache.Ensure(ctx, entry, o.Progress)
	if err != nil {
		return nil, err
	}
	var prog program
	entry = s.imageEntry()
	entry.Build = func(ctx context.Context, dir string, p Progress) error {
		p.Stage("start "+s.Driver.Language(), s.BootTime)
		return b.boot(ctx, s, prog, filepath.Join(code, dataFile), dir)
	}
	// Each of these reads much, and none needs the others.
	var image string
	var errCode, errFiles, errImage error
	var wg sync.WaitGroup
	wg.Go(func() { prog, errCode = b.openCode(ctx, s, code) })
	wg.Go(func() { b.Template, errFiles = template(s, dirs) })
	wg.Go(func() { image, errImage = cache.Find(entry) })
	wg.Wait()
	if err := errors.Join(errCode, errFiles); err != nil {
		return nil, err
	}
	if errImage != nil { // it is to be made
		if image, err = cache.Ensure(ctx, entry, o.Progress); err != nil {
			return nil, err
		}
	}
	if b.ID, err = imageID(image, s.imageKeyOver(Key(s.codeParts()...))); err != nil {
		return nil, err
	}
	return b, b.openImage(image)
}

// imageID hashes what the cache has verified of an image.
func imageID(dir, key string) (string, error) {
	m, err := readManifest(dir)
	if err != nil {
		return "", err
	}
	parts := []string{key}
	for _, f := range m.Files {
		parts = append(parts, f.Path, f.SHA256)
	}
	return Key(parts...), nil
}

// codeEntry and imageEntry are the two entries, without their Build.
func (s Spec) codeEntry() Entry {
	return Entry{Name: s.Driver.Language() + "-code", Key: s.codeKey(), Hot: []string{shellFile, programFile}}
}

func (s Spec) imageEntry() Entry {
	return Entry{Name: s.Driver.Language() + "-image", Key: s.imageKey(), Hot: []string{imageFile, stateFile}}
}

// codeKey covers everything that the machine code depends on.
func (s Spec) codeKey() string {
	return Key(append([]string{MachineKey(), fmt.Sprint("layout ", layout.Version)}, s.codeParts()...)...)
}

// codeParts is what the rewritten module is made of.
func (s Spec) codeParts() []string {
	return []string{
		fmt.Sprint("rewriter ", rewrite.Version), fmt.Sprintf("%+v", s.rewriteOptions()), s.Module, artifactKey(s.Artifacts[0]),
	}
}

// imageKey covers everything that the image depends on.
func (s Spec) imageKey() string { return s.imageKeyOver(s.codeKey()) }

func (s Spec) imageKeyOver(code string) string {
	parts := []string{code, s.Revision, bootTime.String()}
	for _, name := range s.Artifacts {
		parts = append(parts, artifactKey(name))
	}
	for _, list := range [][]string{s.Start, s.Args, s.Env} {
		parts = append(parts, Key(list...))
	}
	return Key(parts...)
}

func artifactKey(name string) string {
	a, err := LookupArtifact(name)
	if err != nil {
		panic(err) // specs and lock file are both part of the program
	}
	return a.Key()
}

func (s Spec) rewriteOptions() rewrite.Options {
	o := s.Rewrite
	o.LowerExceptions, o.Fuel, o.StripNames, o.StripActiveData = true, true, true, true
	return o
}

func template(s Spec, dirs map[string]string) (*vfs.Template, error) {
	if s.Open != nil {
		if err := s.Open(dirs); err != nil {
			return nil, fmt.Errorf("open the files of %s: %w", s.Driver.Language(), err)
		}
	}
	var mounts []vfs.Mount
	if s.Mounts != nil {
		var err error
		if mounts, err = s.Mounts(dirs); err != nil {
			return nil, fmt.Errorf("mount the files of %s: %w", s.Driver.Language(), err)
		}
	}
	return vfs.NewTemplate(vfs.Config{Layout: true, Mounts: append(mounts, vfs.Devices()...)})
}

// build rewrites and compiles the interpreter into dir.
func build(ctx context.Context, s Spec, wasm string, dir string, p Progress) error {
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
	prog := program{Globals: out.Globals}
	var data []byte
	for _, d := range out.Data {
		prog.Data = append(prog.Data, segment{d.Offset, len(d.Bytes)})
		data = append(data, d.Bytes...)
	}
	for name, b := range map[string][]byte{shellFile: shell, namesFile: out.Names, dataFile: data} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	p.Stage("compile "+s.Module, s.CompileTime)
	if prog.LaidOut, err = vm.Precompile(ctx, s.config(out.Module, out.Globals, dir), shell); err != nil {
		return err
	}
	text, err := json.Marshal(prog)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, programFile), text, 0o600)
}

// config is how the interpreter is compiled, with its machine code in dir.
func (s Spec) config(binary []byte, globals []string, dir string) vm.Config {
	return vm.Config{
		Binary: binary, CacheDir: filepath.Join(dir, codeDir), Globals: globals,
		Hosts: []vm.Host{wasi.Instantiate}, Funcs: s.Driver.HostFuncs(),
	}
}

// openCode loads what build has left in dir.
func (b *Baked) openCode(ctx context.Context, s Spec, dir string) (program, error) {
	var prog program
	if err := readJSON(filepath.Join(dir, programFile), &prog); err != nil {
		return prog, err
	}
	shell, err := os.ReadFile(filepath.Join(dir, shellFile))
	if err != nil {
		return prog, err
	}
	b.LaidOut = prog.LaidOut
	cfg := s.config(shell, prog.Globals, dir)
	cfg.Cached = true
	if b.Module, err = vm.Compile(ctx, cfg); err != nil {
		return prog, err
	}
	b.closers = append(b.closers, func() error { return b.Module.Close(context.Background()) })
	return prog, nil
}

// bootTime is when every image is made, as the interpreter sees it.
var bootTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// boot starts the interpreter in a cold instance and writes its image into dir. The interpreter sees a fixed time and
// fixed random numbers, so that the image is the same bytes wherever it is made: a program then costs the same fuel on
// every machine. What must differ from run to run is renewed when a run starts; that the secret of Python's string hashes
// is not is documented.
func (b *Baked) boot(ctx context.Context, s Spec, prog program, data, dir string) (err error) {
	inst, err := b.Module.New(ctx, vm.State{}, memimage.MaxBytes)
	if err != nil {
		return err
	}
	ns := b.Template.New(vfs.Options{Now: bootTime.UnixNano})
	var printed bytes.Buffer
	state, err := wasi.New(wasi.Config{
		FS: ns, Args: s.Args, Env: s.Env, Stdout: &printed, Stderr: &printed, AbsoluteLinks: true,
		Clock: wasi.NewFixedClock(bootTime, 0), Random: rand.NewChaCha8([32]byte{}),
	})
	if err != nil {
		return errors.Join(err, inst.Close(ctx))
	}
	defer func() { err = errors.Join(err, state.Close(), inst.Close(context.WithoutCancel(ctx))) }()
	if err := loadData(inst, prog, data); err != nil {
		return err
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
	text, err := json.Marshal(started{Globals: inst.Globals(), Descriptors: descriptors, Info: info})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, stateFile), text, 0o600); err != nil {
		return err
	}
	memory, _ := inst.Memory().Read(0, inst.Memory().Size())
	return memimage.Write(filepath.Join(dir, imageFile), memory)
}

// loadData does what instantiation would have done with the data segments.
func loadData(inst *vm.Instance, prog program, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, d := range prog.Data {
		if d.Bytes > len(data) || !inst.Memory().Write(d.Offset, data[:d.Bytes]) {
			return fmt.Errorf("a data segment of %d bytes at %d does not fit the memory", d.Bytes, d.Offset)
		}
		data = data[d.Bytes:]
	}
	return nil
}

// said is what an interpreter that did not start has printed, for the error.
func said(printed []byte) string {
	const most = 4000
	if printed = bytes.TrimSpace(printed); len(printed) == 0 {
		return ""
	}
	return "; it printed:\n" + string(printed[max(0, len(printed)-most):])
}

// openImage maps what boot has left in dir.
func (b *Baked) openImage(dir string) error {
	var st started
	if err := readJSON(filepath.Join(dir, stateFile), &st); err != nil {
		return err
	}
	b.Info, b.Descriptors, b.State.Globals = st.Info, st.Descriptors, st.Globals
	var err error
	if b.State.Image, err = memimage.Open(filepath.Join(dir, imageFile)); err != nil {
		return err
	}
	b.closers = append(b.closers, b.State.Image.Close)
	return nil
}

func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
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
