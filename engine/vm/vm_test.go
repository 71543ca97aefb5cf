package vm_test

import (
	"context"
	"errors"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
)

// The test module, metered by hand as package rewrite does it:
//
//	(import "cloche" "refill" (func))            ;; 0
//	(import "host" "answer" (func (param i32) (result i32))) ;; 1
//	(memory (export "memory") 1)
//	(global (export "cloche.fuel") (mut i64) 0)  ;; 0
//	(global (export "cloche.g0") (mut i32) 7)    ;; 1
//	(func (export "spin") (loop charge 5, br 0))
//	(func (export "count") (param i32): memory[0] += param, g0 += param, charge 1)
//	(func (export "ask") (param i32) (result i32) (call 1 (local.get 0)))
//	(func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
//	(func (export "trap") unreachable)
//	(func (export "down") (call down))
//	(func (export "deep") (param i32) (result i32) (local.get 0 or else return 0) (1 + (call deep (local.get 0 - 1))))
func testModule() []byte {
	u := func(n int) []byte { // LEB128
		var b []byte
		for {
			c := byte(n & 0x7f)
			if n >>= 7; n == 0 {
				return append(b, c)
			}
			b = append(b, c|0x80)
		}
	}
	cat := func(parts ...any) []byte {
		var b []byte
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				b = append(b, p...)
			case []byte:
				b = append(b, p...)
			case int:
				b = append(b, byte(p))
			}
		}
		return b
	}
	name := func(s string) []byte { return cat(u(len(s)), s) }
	section := func(id int, items ...[]byte) []byte {
		body := u(len(items))
		for _, it := range items {
			body = append(body, it...)
		}
		return cat(id, u(len(body)), body)
	}
	charge := func(n int) []byte { // fuel -= n; if fuel < 0 then refill
		return cat("\x23\x00\x42", n, "\x7d\x24\x00", "\x23\x00\x42\x00\x53\x04\x40\x10\x00\x0b")
	}
	code := func(body ...any) []byte {
		b := cat(0, cat(body...), 0x0b)
		return cat(u(len(b)), b)
	}
	export := func(n string, kind, index int) []byte { return cat(name(n), kind, index) }
	return cat("\x00asm\x01\x00\x00\x00",
		section(1, cat("\x60\x00\x00"), cat("\x60\x01\x7f\x01\x7f"), cat("\x60\x01\x7f\x00")),
		section(2, cat(name("cloche"), name("refill"), "\x00\x00"), cat(name("host"), name("answer"), "\x00\x01")),
		section(3, u(0), u(2), u(1), u(1), u(0), u(0), u(1)),
		section(5, cat("\x00\x01")),
		section(6, cat("\x7e\x01\x42\x00\x0b"), cat("\x7f\x01\x41\x07\x0b")),
		section(7, export("memory", 2, 0), export("cloche.fuel", 3, 0), export("cloche.g0", 3, 1),
			export("spin", 0, 2), export("count", 0, 3), export("ask", 0, 4), export("grow", 0, 5), export("trap", 0, 6), export("down", 0, 7),
			export("deep", 0, 8)),
		section(10,
			code("\x03\x40", charge(5), "\x0c\x00\x0b"),
			code(charge(1), "\x41\x00\x41\x00\x28\x02\x00\x20\x00\x6a\x36\x02\x00", "\x23\x01\x20\x00\x6a\x24\x01"),
			code(charge(1), "\x20\x00\x10\x01"),
			code("\x20\x00\x40\x00"),
			code("\x00"),
			code("\x10\x07"),
			code("\x20\x00\x45\x04\x40\x41\x00\x0f\x0b", "\x41\x01\x20\x00\x41\x01\x6b\x10\x08\x6a"),
		))
}

func compile(t testing.TB) *vm.Module {
	t.Helper()
	m, err := vm.Compile(t.Context(), vm.Config{
		Binary: testModule(), Globals: []string{"cloche.g0"},
		Funcs: []vm.HostFunc{{Module: "host", Name: "answer", Params: []vm.ValType{vm.I32}, Results: []vm.ValType{vm.I32}, Fn: answer}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

var errAsked = errors.New("asked for an error")

// answer calls back into the guest, stops, or has a bug, as it is asked.
func answer(ctx context.Context, g vm.Guest, stack []uint64) {
	switch stack[0] {
	case 1:
		panic(vm.Stop{Err: errAsked})
	case 2:
		panic(errAsked)
	case 3:
		var none []uint64
		stack[0] = none[stack[0]]
	case 4:
		if _, err := g.Call(ctx, "ask", 40); err != nil {
			panic(vm.Stop{Err: err})
		}
		stack[0] = 4
	case 5:
		time.Sleep(2 * time.Millisecond)
	default:
		stack[0] += 2
	}
}

func instance(t testing.TB, m *vm.Module, st vm.State, maxPages uint64) *vm.Instance {
	t.Helper()
	i, err := m.New(t.Context(), st, maxPages*memimage.PageSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// call makes one metered call.
func call(t testing.TB, i *vm.Instance, m *vm.Meter, export string, args ...uint64) (res uint64, err error) {
	t.Helper()
	runErr := i.Run(t.Context(), m, func(ctx context.Context) error {
		res, err = i.Call(ctx, export, args...)
		return err
	})
	if !errors.Is(runErr, err) {
		t.Errorf("Run returned %v, do %v", runErr, err)
	}
	return res, err
}

func TestCall(t *testing.T) {
	i := instance(t, compile(t), vm.State{}, 4)
	for _, tt := range []struct {
		export string
		arg    uint64
		want   uint64
		err    string
	}{
		{"ask", 40, 42, ""},
		{"ask", 4, 4, ""},
		{"ask", 1, 0, "asked for an error"},
		{"ask", 2, 0, "asked for an error"},
		{"ask", 3, 0, "trap: fault in a host function called by ask"},
		{"trap", 0, 0, "trap: unreachable"},
		{"down", 0, 0, "trap: stack overflow"},
		{"grow", 3, 1, ""},
		{"grow", 1, 0xffffffff, ""},
		{"none", 0, 0, "call none: the module exports no such function"},
	} {
		var args []uint64
		if tt.export != "trap" && tt.export != "down" {
			args = append(args, tt.arg)
		}
		got, err := call(t, i, &vm.Meter{Budget: 100}, tt.export, args...)
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%s(%d): error %v, want %s", tt.export, tt.arg, err, tt.err)
			}
		} else if err != nil || got != tt.want {
			t.Errorf("%s(%d): %d, %v; want %d", tt.export, tt.arg, got, err, tt.want)
		}
	}
	if !i.Linear().Denied() {
		t.Error("the refused growth was not noted")
	}
}

// TestMachineStackIsGivenBack lets guests recurse and come back, and looks what their stacks leave in the heap.
func TestMachineStackIsGivenBack(t *testing.T) {
	const depth, instances = 300_000, 4
	m := compile(t)
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	var all []*vm.Instance
	before := heap()
	for range instances {
		i := instance(t, m, vm.State{}, 4)
		all = append(all, i)
		for _, n := range []uint64{depth, 3} {
			if got, err := call(t, i, &vm.Meter{Budget: 100}, "deep", n); err != nil || got != n {
				t.Fatalf("deep(%d): %d, %v", n, got, err)
			}
		}
	}
	if after := heap(); after > before+instances<<20 {
		t.Errorf("%d instances that recursed hold %d KiB of heap", instances, (after-before)>>10)
	}
	runtime.KeepAlive(all)
}

func TestTrapIsTyped(t *testing.T) {
	i := instance(t, compile(t), vm.State{}, 4)
	_, err := call(t, i, &vm.Meter{Budget: 100}, "down")
	trap, ok := errors.AsType[*vm.Trap](err)
	if !ok || !trap.StackOverflow() {
		t.Errorf("endless recursion: %#v", err)
	}
	_, err = call(t, i, &vm.Meter{Budget: 100}, "trap")
	if trap, ok = errors.AsType[*vm.Trap](err); !ok || trap.StackOverflow() || len(trap.Stack) == 0 {
		t.Errorf("unreachable: %#v", err)
	}
	_, err = call(t, i, &vm.Meter{Budget: 100}, "ask", 3)
	if trap, ok = errors.AsType[*vm.Trap](err); !ok || !strings.Contains(trap.Fault, "index out of range [3] with length 0") || strings.Contains(trap.Error(), "index") {
		t.Errorf("a fault of the host's: %#v", err)
	}
	_, err = call(t, i, &vm.Meter{Budget: 100}, "ask", 1)
	if _, ok = errors.AsType[*vm.Trap](err); ok || !errors.Is(err, errAsked) {
		t.Errorf("a stop: %#v", err)
	}
}

func TestFuel(t *testing.T) {
	i := instance(t, compile(t), vm.State{}, 4)
	var checks int
	m := &vm.Meter{Budget: 50_000_001, Check: func(context.Context, vm.Guest) error { checks++; return nil }}
	_, err := call(t, i, m, "spin")
	if !errors.Is(err, vm.ErrOutOfFuel) {
		t.Errorf("spin: %v", err)
	}
	if m.Used() != 50_000_005 || checks == 0 {
		t.Errorf("used %d with %d checks, want 50,000,005: the first charge past the budget", m.Used(), checks)
	}
	// Where a guest stops does not depend on where its slices ended: here the budget is a whole number of charges.
	m = &vm.Meter{Budget: 50_000_000}
	if _, err := call(t, i, m, "spin"); !errors.Is(err, vm.ErrOutOfFuel) || m.Used() != 50_000_005 {
		t.Errorf("spin: %v after %d", err, m.Used())
	}
	m = &vm.Meter{Budget: 1000}
	for range 3 {
		if _, err := call(t, i, m, "count", 1); err != nil {
			t.Fatal(err)
		}
	}
	if m.Used() != 3 {
		t.Errorf("three calls used %d", m.Used())
	}
	stop := errors.New("enough")
	m = &vm.Meter{Budget: 1 << 62, Check: func(context.Context, vm.Guest) error { return stop }}
	if _, err := call(t, i, m, "spin"); !errors.Is(err, stop) {
		t.Errorf("a check that says stop: %v", err)
	}
}

// A guest that spends its time in host functions is asked to look at its time like one that computes.
func TestSlowHostFunction(t *testing.T) {
	i := instance(t, compile(t), vm.State{}, 4)
	checks := 0
	m := &vm.Meter{Budget: 1 << 62, Check: func(context.Context, vm.Guest) error { checks++; return nil }}
	err := i.Run(t.Context(), m, func(ctx context.Context) error {
		for range 10 {
			if _, err := i.Call(ctx, "ask", 5); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || checks < 9 || m.Used() != 10 {
		t.Errorf("10 slow calls: %v, %d checks, %d fuel", err, checks, m.Used())
	}
}

func TestResetAfterGrowth(t *testing.T) {
	m := compile(t)
	first := instance(t, m, vm.State{}, 4)
	if _, err := call(t, first, &vm.Meter{Budget: 100}, "count", 5); err != nil {
		t.Fatal(err)
	}
	mem, _ := first.Memory().Read(0, first.Memory().Size())
	im, err := memimage.FromBytes(mem)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = im.Close() })

	i := instance(t, m, vm.State{Image: im, Globals: first.Globals()}, 1000)
	for round := range 5 {
		word, _ := i.Memory().ReadUint32(0)
		g, _ := i.GlobalGet("cloche.g0")
		if word != 5 || g != 12 || i.Memory().Size() != memimage.PageSize {
			t.Fatalf("round %d: word %d, global %d, size %d", round, word, g, i.Memory().Size())
		}
		if _, err := call(t, i, &vm.Meter{Budget: 100}, "count", 3); err != nil {
			t.Fatal(err)
		}
		if round%2 == 1 {
			if old, err := call(t, i, &vm.Meter{Budget: 100}, "grow", uint64(900)); err != nil || old != 1 {
				t.Fatalf("grow: %d, %v", old, err)
			}
			if !i.Memory().WriteUint32(900*memimage.PageSize, 1) {
				t.Fatal("the grown memory cannot be written")
			}
		}
		if _, err := i.Reset(); err != nil {
			t.Fatal(err)
		}
		if _, ok := i.Memory().ReadUint32(memimage.PageSize); ok {
			t.Fatal("memory past the image can be read after a reset")
		}
	}
}

// A guest that computes without pause must let the garbage collector in.
func TestGuestLetsGarbageCollectorIn(t *testing.T) {
	m := compile(t)
	stop := make(chan struct{})
	done := make(chan error)
	const guests = 8
	for range guests {
		i := instance(t, m, vm.State{}, 4)
		go func() {
			meter := &vm.Meter{Budget: 1 << 62, Check: func(context.Context, vm.Guest) error {
				select {
				case <-stop:
					return errAsked
				default:
					return nil
				}
			}}
			done <- i.Run(context.Background(), meter, func(ctx context.Context) error {
				_, err := i.Call(ctx, "spin")
				return err
			})
		}()
	}
	time.Sleep(50 * time.Millisecond)
	var took []time.Duration
	for range 40 {
		begin := time.Now()
		runtime.GC()
		took = append(took, time.Since(begin))
	}
	close(stop)
	for range guests {
		if err := <-done; !errors.Is(err, errAsked) {
			t.Error(err)
		}
	}
	sort.Slice(took, func(a, b int) bool { return took[a] < took[b] })
	// Stock wazero takes until the loop ends, which is never. The bound is loose: machines are noisy.
	if median := took[len(took)/2]; median > 500*time.Millisecond {
		t.Errorf("a collection took %v (median) while guests computed", median)
	}
	t.Logf("collections: median %v, worst %v", took[len(took)/2], took[len(took)-1])
}

func BenchmarkCall(b *testing.B) {
	i := instance(b, compile(b), vm.State{}, 4)
	m := &vm.Meter{Budget: 1 << 62}
	_ = i.Run(b.Context(), m, func(ctx context.Context) error {
		for b.Loop() {
			if _, err := i.Call(ctx, "ask", 40); err != nil {
				b.Fatal(err)
			}
		}
		return nil
	})
}

func TestSaveLoad(t *testing.T) {
	m := compile(t)
	base := instance(t, m, vm.State{}, 4)
	mem, _ := base.Memory().Read(0, base.Memory().Size())
	im, err := memimage.FromBytes(mem)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = im.Close() })
	st := vm.State{Image: im, Globals: base.Globals()}
	a, b := instance(t, m, st, 100), instance(t, m, st, 100)
	for _, step := range []struct {
		export string
		arg    uint64
	}{{"count", 5}, {"grow", 40}} {
		if _, err := call(t, a, &vm.Meter{Budget: 100}, step.export, step.arg); err != nil {
			t.Fatal(err)
		}
	}
	c, err := a.Save()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, a, &vm.Meter{Budget: 100}, "count", 100); err != nil {
		t.Fatal(err)
	}
	for range 2 { // b is new the first time and reset the second
		if err := b.Load(c); err != nil {
			t.Fatal(err)
		}
		word, _ := b.Memory().ReadUint32(0)
		g, _ := b.GlobalGet("cloche.g0")
		if word != 5 || g != 12 || b.Memory().Size() != 41*memimage.PageSize {
			t.Errorf("loaded: word %d, global %d, size %d", word, g, b.Memory().Size())
		}
		if _, err := b.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}
