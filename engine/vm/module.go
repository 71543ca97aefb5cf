package vm

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cloche-dev/cloche/engine/memimage"
)

// Names that package rewrite gives to what it adds to a module.
const (
	fuelModule = "cloche"
	fuelImport = "refill"
	fuelGlobal = "cloche.fuel"
	excGlobal  = "cloche.exc_tag"
)

// Config describes a module.
type Config struct {
	// Binary is the rewritten module. It must stay unchanged until Close: wazero refers to it.
	Binary []byte
	// CacheDir is the folder of compiled code, trusted like the program itself. Empty: none.
	CacheDir string
	// Cached says that the code must be in CacheDir already; Compile fails when it is not.
	Cached bool
	// Hosts instantiate host modules of other packages, such as wasi.Instantiate.
	Hosts []Host
	// Funcs are further host functions.
	Funcs []HostFunc
	// Globals are the mutable globals that belong to an image, by export name.
	Globals []string
}

// Host registers a host module.
type Host = func(context.Context, wazero.Runtime) error

// A Module is compiled code with its host functions, ready to be instantiated.
type Module struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	globals  []string
}

// Compile compiles a module, or loads its code from the cache folder.
func Compile(ctx context.Context, c Config) (*Module, error) {
	m := &Module{globals: c.Globals}
	cfg := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
	if c.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(c.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("open code cache: %w", err)
		}
		m.cache = cache
		cfg = cfg.WithCompilationCache(cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, cfg)
	err := m.addHosts(ctx, c)
	if err == nil {
		err = m.compile(ctx, c)
	}
	if err == nil {
		err = m.checkExports()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("compile module: %w", err), m.Close(ctx))
	}
	return m, nil
}

func (m *Module) compile(ctx context.Context, c Config) error {
	compile := func() (err error) {
		defer func() {
			if r := recover(); r != nil { // wazero checks modules with indexes that malformed ones can lead astray
				err = fmt.Errorf("the compiler does not take the module: %v", r)
			}
		}()
		// One worker is the default.
		ctx := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
		m.compiled, err = m.runtime.CompileModule(ctx, c.Binary)
		return err
	}
	if c.Cached {
		return unchanged(c.CacheDir, compile)
	}
	return compile()
}

func (m *Module) addHosts(ctx context.Context, c Config) error {
	for _, add := range c.Hosts {
		if err := add(ctx, m.runtime); err != nil {
			return err
		}
	}
	_, err := m.runtime.NewHostModuleBuilder(fuelModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refill), nil, nil).Export(fuelImport).Instantiate(ctx)
	if err != nil {
		return err
	}
	builders := map[string]wazero.HostModuleBuilder{}
	for _, f := range c.Funcs {
		b := builders[f.Module]
		if b == nil {
			b = m.runtime.NewHostModuleBuilder(f.Module)
			builders[f.Module] = b
		}
		fn := f.Fn
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			f := frameOf(ctx)
			fn(ctx, f.inst, stack)
			f.inst.Yield(f.meter)
		}), valTypes(f.Params), valTypes(f.Results)).Export(f.Name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m *Module) checkExports() error {
	if len(m.compiled.ExportedMemories()) != 1 {
		return errors.New("the module must export exactly one memory")
	}
	return nil
}

func valTypes(ts []ValType) []api.ValueType {
	out := make([]api.ValueType, len(ts))
	for i, t := range ts {
		out[i] = [...]api.ValueType{I32: api.ValueTypeI32, I64: api.ValueTypeI64, F32: api.ValueTypeF32, F64: api.ValueTypeF64}[t]
	}
	return out
}

// Close frees the code. Instances must have been closed.
func (m *Module) Close(ctx context.Context) error {
	err := m.runtime.Close(ctx)
	if m.cache != nil {
		err = errors.Join(err, m.cache.Close(ctx))
	}
	return err
}

// State is what an instance starts from and is reset to.
type State struct {
	// Image is the linear memory. Nil: an empty memory of the size that the module declares.
	Image *memimage.Image
	// Globals are the values of Config.Globals by name. Nil: the module's own.
	Globals map[string]uint64
}

// State is one without image whose globals have these values, in the order of Config.Globals, as a [Checkpoint] has them.
func (m *Module) State(globals []uint64) (State, error) {
	if len(globals) != len(m.globals) {
		return State{}, fmt.Errorf("%d globals, the module has %d", len(globals), len(m.globals))
	}
	st := State{Globals: map[string]uint64{}}
	for i, name := range m.globals {
		st.Globals[name] = globals[i]
	}
	return st, nil
}

// New makes an instance that starts from st and whose memory may grow to maxBytes, of which it must need no more
// to start.
func (m *Module) New(ctx context.Context, st State, maxBytes uint64) (*Instance, error) {
	for _, mem := range m.compiled.ExportedMemories() {
		if need := uint64(mem.Min()) * memimage.PageSize; need > maxBytes {
			return nil, fmt.Errorf("instantiate: the module needs %d bytes of memory to start, its limit is %d", need, maxBytes)
		}
	}
	linear, err := memimage.New(memimage.Config{Image: st.Image, Capacity: min(maxBytes, memimage.MaxBytes)})
	if err != nil {
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	alloc := experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory { return linear })
	mod, err := m.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, alloc), m.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		linear.Free()
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	i := &Instance{module: m, mod: mod, linear: linear, state: st, funcs: map[string]*function{}}
	i.mem.Memory = mod.Memory()
	if err := i.findGlobals(); err != nil {
		return nil, errors.Join(fmt.Errorf("instantiate: %w", err), i.Close(ctx))
	}
	return i, nil
}
