package rewrite_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

func decode(t testing.TB, module []byte) *wasmbin.Module {
	t.Helper()
	m, err := wasmbin.Decode(module)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func exportNames(m *wasmbin.Module) []string {
	var names []string
	for _, e := range m.Exports {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

const exportsModule = `(module
	(memory (export "mem") 2 10)
	(global $sp (mut i32) (i32.const 5))
	(global i32 (i32.const 1))
	(global (export "__counter") (mut i64) (i64.const 7))
	(func $visible (export "visible"))
	(func $hidden (result i32) (global.get $sp))
)`

func TestExports(t *testing.T) {
	module := wat.MustParse(exportsModule)
	for _, tt := range []struct {
		name string
		o    rewrite.Options
		want []string
	}{
		{"all kept", rewrite.Options{}, []string{"__counter", "cloche.g0", "cloche.g2", "mem", "memory", "visible"}},
		{"none kept", rewrite.Options{KeepExports: []string{}}, []string{"cloche.g0", "cloche.g2", "memory"}},
		{"by name", rewrite.Options{KeepExports: []string{"mem"}, ExportFuncs: map[string]string{"h": "hidden"}},
			[]string{"cloche.g0", "cloche.g2", "h", "mem", "memory"}},
		{"same name", rewrite.Options{ExportFuncs: map[string]string{"visible": "visible"}},
			[]string{"__counter", "cloche.g0", "cloche.g2", "mem", "memory", "visible"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := mustRewrite(t, module, tt.o)
			if got := exportNames(decode(t, out.Module)); !slices.Equal(got, tt.want) {
				t.Errorf("exports %q, want %q", got, tt.want)
			}
			if want := []string{"cloche.g0", "cloche.g2"}; !slices.Equal(out.Globals, want) {
				t.Errorf("Globals = %q, want %q", out.Globals, want)
			}
			if out.MemoryMin != 2 || out.MemoryMax != 10 {
				t.Errorf("memory of %d to %d pages, want 2 to 10", out.MemoryMin, out.MemoryMax)
			}
		})
	}
}

func TestExportErrors(t *testing.T) {
	module := wat.MustParse(exportsModule)
	for _, tt := range []struct {
		funcs map[string]string
		want  string
	}{
		{map[string]string{"a": "nobody", "b": "hidden", "c": "also nobody"}, "rewrite: exports: no function is named also nobody, nobody"},
		{map[string]string{"visible": "hidden"}, `rewrite: exports: export "visible" exists already`},
	} {
		if _, err := rewrite.Rewrite(module, rewrite.Options{ExportFuncs: tt.funcs}); err == nil || err.Error() != tt.want {
			t.Errorf("got error %v, want %s", err, tt.want)
		}
	}
}

func TestMutableGlobalsRoundTrip(t *testing.T) {
	out := mustRewrite(t, wat.MustParse(exportsModule), rewrite.Options{ExportFuncs: map[string]string{"h": "hidden"}})
	g := instantiate(t, out.Module, api.CoreFeaturesV2, 0)
	g.mod.ExportedGlobal(out.Globals[0]).(api.MutableGlobal).Set(41)
	if got := g.call(call{name: "h"}); got != "41" {
		t.Errorf("the guest reads %s from the global that the host set to 41", got)
	}
}

const dataModule = `(module
	(memory 1)
	(data (i32.const 16) "active")
	(data "passive")
	(data (i32.const 64) "more")
	(func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
	(func (export "init_passive") (result i32)
		i32.const 200
		i32.const 0
		i32.const 7
		memory.init 1
		data.drop 1
		(i32.load8_u (i32.const 200)))
	(func (export "init_active") (param i32)
		i32.const 300
		i32.const 0
		local.get 0
		memory.init 2
		data.drop 2)
)`

func TestStripActiveData(t *testing.T) {
	module := wat.MustParse(dataModule)
	out := mustRewrite(t, module, rewrite.Options{StripActiveData: true})
	want := []rewrite.DataSegment{{Offset: 16, Bytes: []byte("active")}, {Offset: 64, Bytes: []byte("more")}}
	if !reflect.DeepEqual(out.Data, want) {
		t.Errorf("Data = %v, want %v", out.Data, want)
	}
	g := instantiate(t, out.Module, api.CoreFeaturesV2, 0)
	for _, c := range []call{
		{name: "load", args: []uint64{16}, want: "0"},
		{name: "init_active", args: []uint64{0}, want: "ok"}, // an active segment is empty after instantiation
		{name: "init_active", args: []uint64{1}, want: "trap"},
		{name: "init_passive", want: "112"},
		{name: "init_passive", want: "trap"}, // dropped by the first call
	} {
		if got := g.call(c); got != c.want {
			t.Errorf("%s%v = %s, want %s", c.name, c.args, got, c.want)
		}
	}
}

func TestStripActiveDataWithoutIndices(t *testing.T) {
	out := mustRewrite(t, wat.MustParse(`(module (memory 1) (data (i32.const 0) "x"))`), rewrite.Options{StripActiveData: true})
	if m := decode(t, out.Module); len(m.Data) != 0 || m.HasDataCount {
		t.Errorf("%d segments left, data count section: %v", len(m.Data), m.HasDataCount)
	}
}

func TestStripActiveDataRefusesComputedOffset(t *testing.T) {
	module := wat.MustParse(`(module (memory 1) (global i32 (i32.const 3)) (data (global.get 0) "x"))`)
	_, err := rewrite.Rewrite(module, rewrite.Options{StripActiveData: true})
	if want := "rewrite: strip data: segment 0: offset is not a constant"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestNames(t *testing.T) {
	module := wat.MustParse(exportsModule)
	kept, stripped := mustRewrite(t, module, rewrite.Options{}), mustRewrite(t, module, rewrite.Options{StripNames: true})
	if !bytes.Equal(kept.Names, stripped.Names) || len(decode(t, stripped.Module).Customs) != 0 || len(decode(t, kept.Module).Customs) != 1 {
		t.Error("StripNames must move the names from the module to Names only")
	}
	names, err := wasmbin.FuncNames(stripped.Names)
	if want := []wasmbin.Name{{Index: 0, Name: "visible"}, {Index: 1, Name: "hidden"}}; err != nil || !slices.Equal(names, want) {
		t.Errorf("names %v, %v; want %v", names, err, want)
	}
}

func TestTableImmutable(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want bool
	}{
		{`(module (table 1 funcref) (func (call_indirect (param) (i32.const 0))))`, true},
		{`(module (table 1 funcref) (func (table.set (i32.const 0) (ref.null func))))`, false},
		{`(module (table 1 funcref) (func (drop (table.grow (ref.null func) (i32.const 0)))))`, false},
		{`(module (table (export "t") 1 funcref))`, false},
		{`(module (import "m" "t" (table 1 funcref)))`, false},
	} {
		if got := mustRewrite(t, wat.MustParse(tt.src), rewrite.Options{}).TableImmutable; got != tt.want {
			t.Errorf("%s: TableImmutable = %v, want %v", tt.src, got, tt.want)
		}
	}
}
