package wasi

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The proxy is a module that imports every function of preview1 and exports one of the same name that passes its
// parameters on, so that tests call the host as a guest does: over wazero's stack and real linear memory.

func leb(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

func wasmName(b []byte, s string) []byte { return append(leb(b, uint32(len(s))), s...) }

func section(b []byte, id byte, count int, body []byte) []byte {
	head := leb(nil, uint32(count))
	b = append(b, id)
	b = leb(b, uint32(len(head)+len(body)))
	return append(append(b, head...), body...)
}

// proxyModule assembles the proxy.
func proxyModule(minPages, maxPages uint32, exportMemory bool) []byte {
	return assemble(minPages, maxPages, exportMemory, false)
}

// forward is the body of a function that passes its parameters on to function i.
func forward(params int, i uint32) []byte {
	body := []byte{0} // no locals
	for p := range params {
		body = leb(append(body, 0x20), uint32(p)) // local.get
	}
	return append(leb(append(body, 0x10), i), 0x0b) // call, end
}

// repeat is the body of a function that does so as many times as its last parameter says.
//
//	(block (loop (br_if 1 (i32.eqz $count)) (drop (call i params...)) (local.set $count (i32.sub $count 1)) (br 0)))
func repeat(params int, i uint32) []byte {
	count := uint32(params)
	body := []byte{0, 0x02, 0x40, 0x03, 0x40}
	body = append(leb(append(body, 0x20), count), 0x45, 0x0d, 1)
	for p := range params {
		body = leb(append(body, 0x20), uint32(p))
	}
	body = append(leb(append(body, 0x10), i), 0x1a)
	body = leb(append(leb(append(body, 0x20), count), 0x41, 1, 0x6b, 0x21), count)
	return append(body, 0x0c, 0, 0x0b, 0x0b, 0x0b)
}

func assemble(minPages, maxPages uint32, exportMemory, loops bool) []byte {
	type signature struct {
		name    string
		params  []api.ValueType
		results []api.ValueType
	}
	all := []signature{{"proc_exit", []api.ValueType{i32}, nil}}
	for _, f := range functions {
		all = append(all, signature{f.name, f.params, []api.ValueType{i32}})
	}
	var types, imports, funcs, exports, code []byte
	for i, f := range all {
		types = append(types, 0x60)
		types = append(leb(types, uint32(len(f.params))), f.params...)
		types = append(leb(types, uint32(len(f.results))), f.results...)
		imports = leb(append(wasmName(wasmName(imports, ModuleName), f.name), 0), uint32(i))
		funcs = leb(funcs, uint32(i))
		exports = leb(append(wasmName(exports, f.name), 0), uint32(len(all)+i))
		body := forward(len(f.params), uint32(i))
		code = append(leb(code, uint32(len(body))), body...)
	}
	nTypes, nFuncs, nExports := len(all), len(all), len(all)
	for i, f := range all {
		if !loops || len(f.results) == 0 {
			continue
		}
		types = append(types, 0x60)
		types = append(append(leb(types, uint32(len(f.params)+1)), f.params...), i32, 0)
		funcs = leb(funcs, uint32(nTypes))
		exports = leb(append(wasmName(exports, "loop_"+f.name), 0), uint32(len(all)+nFuncs))
		body := repeat(len(f.params), uint32(i))
		code = append(leb(code, uint32(len(body))), body...)
		nTypes, nFuncs, nExports = nTypes+1, nFuncs+1, nExports+1
	}
	if exportMemory {
		exports = append(wasmName(exports, "memory"), 2, 0)
		nExports++
	}
	m := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	m = section(m, 1, nTypes, types)
	m = section(m, 2, len(all), imports)
	m = section(m, 3, nFuncs, funcs)
	m = section(m, 5, 1, leb(leb([]byte{1}, minPages), maxPages))
	m = section(m, 7, nExports, exports)
	return section(m, 10, nFuncs, code)
}

// One runtime serves all tests, as one serves all runs of an engine.
var testRuntime = sync.OnceValue(func() wazero.Runtime {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	if err := Instantiate(ctx, r); err != nil {
		panic(err)
	}
	return r
})

var proxyCompiled = sync.OnceValue(func() wazero.CompiledModule {
	c, err := testRuntime().CompileModule(context.Background(), proxyModule(4, 64, true))
	if err != nil {
		panic(err)
	}
	return c
})

// hostedConfig is for instances without a name, of which a runtime takes any number.
func hostedConfig() wazero.ModuleConfig { return wazero.NewModuleConfig().WithName("") }

// guest is an instance of the proxy, its memory filled with '?', and the State that its calls act on.
type guest struct {
	t   testing.TB
	mod api.Module
	s   *State
	ctx context.Context
	top uint32 // where the next text goes

	before []byte // see check
}

const resultOff = 16 // results go here unless a test says otherwise

func newGuest(t testing.TB, cfg Config) *guest {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := testRuntime().InstantiateModule(context.Background(), proxyCompiled(), hostedConfig())
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, mod: mod, s: s, ctx: WithState(context.Background(), s)}
	g.fill()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		mod.Close(context.Background())
	})
	return g
}

// fill puts '?' everywhere, so that a stray write shows.
func (g *guest) fill() {
	mem := g.all()
	mem[0] = '?'
	for n := 1; n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
	g.top = 4096
}

func (g *guest) all() []byte {
	mem, _ := g.mod.Memory().Read(0, g.mod.Memory().Size())
	return mem
}

// call calls an export and returns what the guest gets.
func (g *guest) call(name string, params ...uint64) Errno {
	g.t.Helper()
	errno, err := g.try(name, params...)
	if err != nil {
		g.t.Fatalf("%s%v: %v", name, params, err)
	}
	return errno
}

func (g *guest) try(name string, params ...uint64) (Errno, error) {
	res, err := g.mod.ExportedFunction(name).Call(g.ctx, params...)
	if err != nil || len(res) == 0 {
		return 0, err
	}
	return Errno(res[0]), nil
}

// want calls and checks the error number.
func (g *guest) want(want Errno, name string, params ...uint64) {
	g.t.Helper()
	if got := g.call(name, params...); got != want {
		g.t.Fatalf("%s%v: %v, want %v", name, params, got, want)
	}
}

// text puts s into memory and returns its offset and length as parameters.
func (g *guest) text(s string) (off, n uint64) {
	off = uint64(g.top)
	if !g.mod.Memory().WriteString(g.top, s) {
		g.t.Fatal("text does not fit")
	}
	g.top += uint32(len(s)+7) &^ 7
	return off, uint64(len(s))
}

// iov puts one iovec for the range into memory and returns its offset.
func (g *guest) iov(ranges ...uint64) uint64 {
	off := uint64(g.top)
	for i, r := range ranges {
		g.mod.Memory().WriteUint32Le(g.top+uint32(i)*4, uint32(r))
	}
	g.top += uint32(len(ranges)*4+7) &^ 7
	return off
}

func (g *guest) u32(off uint32) uint32 {
	v, ok := g.mod.Memory().ReadUint32Le(off)
	if !ok {
		g.t.Fatal("read outside memory")
	}
	return v
}

func (g *guest) u64(off uint32) uint64 {
	v, ok := g.mod.Memory().ReadUint64Le(off)
	if !ok {
		g.t.Fatal("read outside memory")
	}
	return v
}

// wideMemory is a memory of 4 GiB as far as its size goes. It holds only the iovecs at its start.
type wideMemory struct {
	api.Memory
	iovecs []byte
}

func (m wideMemory) Read(off, n uint32) ([]byte, bool) {
	if off == 0 && int(n) <= len(m.iovecs) {
		return m.iovecs[:n], true
	}
	return nil, true
}
