package rewrite_test

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// used is the fuel that the guest has consumed since it was instantiated with slices of the given length.
func (g *guest) used(slice uint64) int64 {
	return int64(uint64(g.refills)*slice - g.mod.ExportedGlobal(rewrite.FuelGlobal).Get())
}

// TestFueledModulesAgree runs every test module with fuel, in slices of several lengths, with
// its code as wazero compiles it and laid out in turns: the results are those in the header, and the
// fuel used by each call does not depend on the slice.
func TestFueledModulesAgree(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata, "*.wat"))
	if err != nil || len(files) == 0 {
		t.Fatal("no test modules", err)
	}
	slices := []uint64{1 << 40, 1_000_000, 1000, 37}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".wat"), func(t *testing.T) {
			src, module := readModule(t, file)
			out := mustRewrite(t, module, rewrite.Options{LowerExceptions: true, Fuel: true})
			var want []int64 // fuel used by each call
			for k, slice := range slices {
				g := instantiate(t, out.Module, api.CoreFeaturesV2, slice)
				if k%2 == 1 {
					g = instantiateLaidOut(t, out.Module, slice)
				}
				for i, c := range readCalls(t, src) {
					before := g.used(slice)
					if got := g.call(c); got != c.want {
						t.Errorf("slices of %d: %s%v = %s, want %s", slice, c.name, c.args, got, c.want)
					}
					used := g.used(slice) - before
					if slice == slices[0] {
						want = append(want, used)
					} else if used != want[i] {
						t.Errorf("slices of %d: %s%v used %d fuel, want %d as with slices of %d", slice, c.name, c.args, used, want[i], slices[0])
					}
				}
			}
		})
	}
}

// TestOriginalsAgree runs the modules that need no lowering as they are, so that the headers are right.
func TestOriginalsAgree(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata, "fuel_*.wat"))
	if err != nil || len(files) == 0 {
		t.Fatal("no test modules", err)
	}
	for _, file := range files {
		src, module := readModule(t, file)
		g := instantiate(t, module, api.CoreFeaturesV2, 0)
		for _, c := range readCalls(t, src) {
			if got := g.call(c); got != c.want {
				t.Errorf("%s: %s%v = %s, want %s", filepath.Base(file), c.name, c.args, got, c.want)
			}
		}
	}
}

func TestFuelGolden(t *testing.T) {
	_, module := readModule(t, filepath.Join(testdata, "fuel_paths.wat"))
	golden(t, "fuel_paths.golden", printed(t, mustRewrite(t, module, rewrite.Options{Fuel: true}).Module))
}

// fuelOf runs one call and returns the fuel that it used.
func fuelOf(t *testing.T, g *guest, slice uint64, name string, args ...uint64) int64 {
	t.Helper()
	before := g.used(slice)
	g.call(call{name: name, args: args})
	return g.used(slice) - before
}

func TestFuelFollowsThePath(t *testing.T) {
	const slice = 1 << 40
	_, module := readModule(t, filepath.Join(testdata, "fuel_paths.wat"))
	g := instantiate(t, mustRewrite(t, module, rewrite.Options{Fuel: true}).Module, api.CoreFeaturesV2, slice)

	// A loop's body is charged as often as it runs: 9 instructions.
	ten, thousand := fuelOf(t, g, slice, "sum", 10), fuelOf(t, g, slice, "sum", 1000)
	if perRound := float64(thousand-ten) / 990; perRound != 9 {
		t.Errorf("a round of the loop costs %v, want 9", perRound)
	}
	// The long arm is charged only when it is taken.
	short, long := fuelOf(t, g, slice, "arms", 0), fuelOf(t, g, slice, "arms", 1)
	if long-short < 30 {
		t.Errorf("the short arm costs %d, the long one %d: it has 38 instructions", short, long)
	}
	// Calls without a loop are charged too: 63 calls, 2 of every 3 of which are not to $leaf.
	if tree := fuelOf(t, g, slice, "tree", 0); tree < 2*63 {
		t.Errorf("a tree of 126 calls costs %d", tree)
	}
}

func TestBulkIsChargedByLength(t *testing.T) {
	const slice = 1 << 40
	module := wat.MustParse(`(module (memory 100)
		(func (export "fill") (param i32) (memory.fill (i32.const 0) (i32.const 1) (local.get 0)))
		(func (export "copy") (param i32) (memory.copy (i32.const 0) (i32.const 9) (local.get 0)))
		(func (export "grow") (param i32) (drop (memory.grow (local.get 0))))
	)`)
	g := instantiate(t, mustRewrite(t, module, rewrite.Options{Fuel: true}).Module, api.CoreFeaturesV2, slice)
	for _, tt := range []struct {
		name     string
		from, to uint64
		want     int64
	}{
		{"fill", 0, 100_000, 50_000},
		{"fill", 0, 5_000_000, 2_500_000},
		{"copy", 0, 5_000_000, 2_500_000},
		{"grow", 0, 3, 3 * 512},
	} {
		got := fuelOf(t, g, slice, tt.name, tt.to) - fuelOf(t, g, slice, tt.name, tt.from)
		if got != tt.want {
			t.Errorf("%s: %d more units cost %d fuel, want %d", tt.name, tt.to-tt.from, got, tt.want)
		}
	}
}

// TestLongFillIsInterrupted stops at the second refill: the host must come to its turn between the pieces.
func TestLongFillIsInterrupted(t *testing.T) {
	module := wat.MustParse(`(module (memory (export "m") 512)
		(func (export "fill") (memory.fill (i32.const 0) (i32.const 1) (i32.const 33554432))))`)
	out := mustRewrite(t, module, rewrite.Options{Fuel: true})
	calls, untouched := 0, false
	run(t, out.Module, "fill", func(m api.Module) bool {
		calls++
		b, _ := m.ExportedMemory("memory").ReadByte(33554431)
		untouched = b == 0
		m.ExportedGlobal(rewrite.FuelGlobal).(api.MutableGlobal).Set(1_000_000)
		return calls < 3
	})
	if calls != 3 || !untouched {
		t.Errorf("after %d refills of a million, the last of 32 MiB is written: %v", calls, !untouched)
	}
}

// TestNothingEscapes runs programs that go on for practically ever, and ends each at its hundredth refill.
func TestNothingEscapes(t *testing.T) {
	tree := "(func $f0 (nop))" // 2^40 calls without a loop or recursion
	for i := 1; i <= 40; i++ {
		tree += strings.NewReplacer("#", itoa(i), "%", itoa(i-1)).Replace("(func $f# (call $f%) (call $f%))")
	}
	for _, tt := range []struct{ name, src string }{
		{"loop", `(func (export "run") loop br 0 end)`},
		{"loop with values", `(func (export "run") i32.const 1 loop (param i32) br 0 end)`},
		{"two labels", `(func (export "run") (local i32) loop loop local.get 0 br_if 1 br 0 end end)`},
		{"br_table", `(func (export "run") (local i32) loop local.get 0 br_table 0 0 0 end)`},
		{"recursion", `(func $r (export "run") (local $n i32) call $d call $d call $d loop call $d br 0 end) (func $d)`},
		{"mutual recursion that returns", `(func (export "run") (call $a (i32.const 60)))
			(func $a (param i32) (local.get 0) if (call $b (i32.sub (local.get 0) (i32.const 1))) (call $b (i32.sub (local.get 0) (i32.const 1))) end)
			(func $b (param i32) (call $a (local.get 0)))`},
		{"recursion through the table", `(table 1 funcref) (elem (i32.const 0) func $a) (type $t (func (param i32)))
			(func (export "run") (call_indirect (type $t) (i32.const 60) (i32.const 0)))
			(func $a (param i32) (local.get 0) if
				(call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))
				(call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)) end)`},
		{"tree of calls", tree + `(func (export "run") call $f40)`},
		{"fills", `(memory 16) (func (export "run") loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 1048576)) br 0 end)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := mustRewrite(t, wat.MustParse("(module "+tt.src+")"), rewrite.Options{Fuel: true})
			refills := 0
			ended := run(t, out.Module, "run", func(m api.Module) bool {
				refills++
				m.ExportedGlobal(rewrite.FuelGlobal).(api.MutableGlobal).Set(10_000)
				return refills < 100
			})
			if !ended {
				t.Errorf("ended by itself after %d refills", refills)
			}
		})
	}
}

// run calls an export; refill is called when fuel has run out, and ends the run when it returns false.
func run(t *testing.T, module []byte, export string, refill func(api.Module) bool) (ended bool) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	defer r.Close(ctx)
	_, err := r.NewHostModuleBuilder(rewrite.RefillModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) {
			if !refill(m) {
				ended = true
				panic("out of fuel")
			}
		}), nil, nil).Export(rewrite.RefillName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	m.ExportedFunction(export).Call(ctx)
	return ended
}

func TestFuelNeedsLowering(t *testing.T) {
	_, err := rewrite.Rewrite(wat.MustParse(`(module (tag) (func throw 0))`), rewrite.Options{Fuel: true})
	if want := "rewrite: fuel: function 0: exceptions must be lowered first"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// TestRefillIsImportedBehindTheOthers checks that every mention of a function follows it to its new index.
func TestRefillIsImportedBehindTheOthers(t *testing.T) {
	module := wat.MustParse(`(module
		(import "env" "f" (func $imported))
		(table 3 funcref)
		(elem (i32.const 0) func $a $imported)
		(elem (i32.const 2) funcref (ref.func $b))
		(global funcref (ref.func $b))
		(start $a)
		(func $a (export "a") (call $b) (call $imported))
		(func $b (drop (ref.func $a)))
	)`)
	out := mustRewrite(t, module, rewrite.Options{Fuel: true})
	golden(t, "renumber.golden", printed(t, out.Module))
}

func itoa(i int) string { return strconv.Itoa(i) }
