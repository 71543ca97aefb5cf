package wasmbin_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// everything has an item of every kind in every section.
const everything = `(module
	(type $t (func (param i32 i64) (result f32 f64)))
	(import "m" "f" (func $imported (param externref)))
	(import "m" "t" (table 1 2 externref))
	(import "m" "g" (global i64))
	(import "m" "e" (tag (param i32)))
	(table $table 3 funcref)
	(memory 1 5)
	(tag $tag (param i32))
	(global (export "g") (mut i32) (i32.const -7))
	(global f64 (f64.const 0.5))
	(global funcref (ref.func $all))
	(export "memory" (memory 0))
	(start $start)
	(elem (table $table) (i32.const 1) func $all $start)
	(elem func $start)
	(elem declare func $all)
	(elem externref (ref.null extern))
	(elem (table $table) (i32.const 0) funcref (ref.null func) (ref.func $all))
	(func $start)
	(func $all (param i32) (local i64 f32) (local exnref)
		block $h (result i32 exnref)
			try_table (result i32 exnref) (catch_ref $tag $h) (catch_all 0)
				local.get 0
				br_table 1 1 1
			end
		end
		throw_ref)
	(func (return_call $start))
	(data (i32.const 8) "active\00\ff")
	(data "passive")
)`

func modules(t testing.TB) map[string][]byte {
	t.Helper()
	m := map[string][]byte{"everything": wat.MustParse(everything), "empty": wat.MustParse("(module)")}
	files, err := filepath.Glob("../../testdata/wasm/*.wat")
	if err != nil || len(files) == 0 {
		t.Fatal("no test modules", err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m[filepath.Base(f)] = wat.MustParse(string(src))
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	for name, b := range modules(t) {
		m, err := wasmbin.Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again := wasmbin.Encode(m); !bytes.Equal(again, b) {
			t.Errorf("%s: encodes to other bytes than it was decoded from:\n%x\n%x", name, b, again)
		}
	}
}

func TestDecodeEverything(t *testing.T) {
	m, err := wasmbin.Decode(wat.MustParse(everything))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Imported(wasmbin.KindFunc), 1; got != want {
		t.Errorf("%d imported functions, want %d", got, want)
	}
	if got, want := m.TagTypes(), m.Imports[3].Type; len(got) != 2 || got[0] != want {
		t.Errorf("tags %v, want two, of signature %d first", got, want)
	}
	if got := m.Elements[3]; got.Type != wasmbin.ExternRef || got.Mode != wasmbin.Passive || len(got.Exprs) != 1 {
		t.Errorf("fourth element segment: %+v", got)
	}
	if got, want := m.GlobalTypes(), []wasmbin.GlobalType{
		{Type: wasmbin.I64}, {Type: wasmbin.I32, Mutable: true}, {Type: wasmbin.F64}, {Type: wasmbin.FuncRef},
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("globals %v, want %v", got, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	const preamble = "\x00asm\x01\x00\x00\x00"
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "offset 0x0: not a WebAssembly module of version 1"},
		{"version 2", "\x00asm\x02\x00\x00\x00", "offset 0x0: not a WebAssembly module of version 1"},
		{"unknown section", preamble + "\x0e\x00", "decode 14 section: offset 0x8: unknown section 14"},
		{"section past the end", preamble + "\x01\x05\x00", "decode type section: offset 0xa: length 5 is past the end"},
		{"twice", preamble + "\x01\x01\x00\x01\x01\x00", "decode type section: offset 0xb: type section out of order"},
		{"out of order", preamble + "\x03\x01\x00\x01\x01\x00", "decode type section: offset 0xb: type section out of order"},
		{"huge count", preamble + "\x01\x05\xff\xff\xff\xff\x0f", "decode type section: offset 0xa: count 4294967295 is past the end"},
		{"long number", preamble + "\x01\x06\x80\x80\x80\x80\x80\x00", "decode type section: offset 0xa: number does not fit in 32 bits"},
		{"form of type", preamble + "\x01\x04\x01\x50\x00\x00", "decode type section: offset 0xb: unknown form of type 0x50"},
		{"value type", preamble + "\x01\x05\x01\x60\x01\x33\x00", "decode type section: offset 0xd: unknown value type 0x33"},
		{"rest", preamble + "\x01\x02\x00\x07", "decode type section: offset 0xb: 1 bytes after the last item"},
		{"kind of import", preamble + "\x02\x05\x01\x00\x00\x09\x00", "decode import section: offset 0xd: unknown kind of import 0x9"},
		{"name", preamble + "\x07\x05\x01\x01\xff\x00\x00", "decode export section: offset 0xc: name is not UTF-8"},
		{"no bodies", preamble + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00", "decode module: 1 functions but 0 bodies"},
		{"data count", preamble + "\x0c\x01\x02", "decode module: data count 2 but 0 segments"},
		{"constant without end", preamble + "\x06\x05\x01\x7f\x00\x41\x00", "decode global section: offset 0xf: unexpected end"},
		{"unknown opcode", preamble + "\x06\x05\x01\x7f\x00\xff\x0b", "decode global section: offset 0xd: unknown opcode 0xff"},
		{"kind of element", preamble + "\x09\x03\x01\x08\x00", "decode element section: offset 0xb: unknown kind of element segment 8"},
		{"kind of data", preamble + "\x0b\x03\x01\x05\x00", "decode data section: offset 0xb: unknown kind of data segment 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := wasmbin.Decode([]byte(tt.in))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
			var format *wasmbin.FormatError
			if !errors.As(err, &format) && !strings.HasPrefix(tt.want, "decode module") {
				t.Errorf("%T is not a *FormatError", err)
			}
		})
	}
}

func TestLEB128(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 127, 128, 1<<31 - 1, -1 << 31, 1<<63 - 1, -1 << 63} {
		expr := append(wasmbin.AppendS64([]byte{byte(wasmbin.OpI64Const)}, v), byte(wasmbin.OpEnd))
		in := firstInstr(t, expr)
		if int64(in.Value) != v {
			t.Errorf("%d became %d", v, int64(in.Value))
		}
	}
	for _, v := range []uint32{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1<<32 - 1} {
		expr := append(wasmbin.AppendU32([]byte{byte(wasmbin.OpLocalGet)}, v), byte(wasmbin.OpEnd))
		if in := firstInstr(t, expr); in.Index != v {
			t.Errorf("%d became %d", v, in.Index)
		}
	}
}

func firstInstr(t *testing.T, expr []byte) wasmbin.Instr {
	t.Helper()
	var in wasmbin.Instr
	r := wasmbin.NewInstrReader(expr)
	if !r.Next(&in) {
		t.Fatalf("%x: %v", expr, r.Err())
	}
	return in
}

func TestFuncNames(t *testing.T) {
	names := []wasmbin.Name{{Index: 0, Name: "a"}, {Index: 300, Name: "größe"}}
	module := []byte{0, 2, 1, 'm'} // the module's name, which is skipped
	got, err := wasmbin.FuncNames(wasmbin.AppendFuncNames(module, names))
	if err != nil || !reflect.DeepEqual(got, names) {
		t.Errorf("got %v, %v; want %v", got, err, names)
	}
	if _, err := wasmbin.FuncNames([]byte{1, 9, 1}); err == nil || err.Error() != "offset 0x2: length 9 is past the end" {
		t.Errorf("got error %v for a truncated section", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, b := range modules(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wasmbin.Decode(b)
		if err != nil {
			return
		}
		once := wasmbin.Encode(m)
		again, err := wasmbin.Decode(once)
		if err != nil {
			t.Fatalf("own output is refused: %v", err)
		}
		if !bytes.Equal(once, wasmbin.Encode(again)) {
			t.Error("Encode(Decode(Encode(m))) differs from Encode(m)")
		}
		for _, c := range m.Customs {
			wasmbin.FuncNames(c.Bytes)
		}
	})
}
