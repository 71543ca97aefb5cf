package wat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

const printedModule = `(module
  (type 0 (func (param i32) (result i32)))
  (import "env" "f" (func (type 0)))
  (table 2 4 funcref)
  (memory 1)
  (tag (type 1))
  (global (;0;) (mut i32) (i32.const -1))
  (export "run" (func 1))
  (elem (table 0) (i32.const 0) func 1 0)
  (func (;1;) (type 0) (param i32) (result i32)
    (local i64)
    block (result i32)
      local.get 0
      i32.load8_u offset=16 align=1
      br_if 0
      br_table 0 0 0
    end
  )
  (data (i32.const 8) "x\x00")
)
`

func TestPrint(t *testing.T) {
	m, err := wat.Parse(`(module
		(import "env" "f" (func $f (param $x i32) (result i32)))
		(table 2 4 funcref) (memory 1) (tag $t (param f32))
		(global $g (mut i32) (i32.const -1))
		(elem (i32.const 0) func $run $f)
		(func $run (export "run") (param $x i32) (result i32) (local $y i64)
			block $out (result i32) ;; a comment
				(i32.load8_u offset=16 (local.get $x))
				br_if $out
				br_table $out $out 0
			end)
		(data (i32.const 8) "x\00"))`)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := wat.Print(&b, m); err != nil {
		t.Fatal(err)
	}
	// The tag's signature is the second one, made for it.
	want := strings.Replace(printedModule, "(result i32)))\n", "(result i32)))\n  (type 1 (func (param f32)))\n", 1)
	want = strings.Replace(want, " align=1", "", 1)
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &b, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"", "want one (module ...)"},
		{"(module", "line 1: missing )"},
		{"(module\n(func foo))", `line 2: unknown instruction "foo"`},
		{"(module (func end))", "line 1: end without a block"},
		{"(module (func br $x))", "line 1: unknown label $x"},
		{"(module (func (call $f)))", `line 1: unknown func "$f"`},
		{"(module (func (i32.const 99999999999)))", `line 1: bad number "99999999999"`},
		{"(module (global i33 (i32.const 0)))", `line 1: unknown type "i33"`},
		{`(module (data "abc`, "line 1: string without end"},
		{"(module (what))", `line 1: unknown field "what"`},
	} {
		if _, err := wat.Parse(tt.src); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got error %v, want %s", tt.src, err, tt.want)
		}
	}
}

func TestParseTestModules(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/wasm/*.wat")
	if err != nil || len(files) == 0 {
		t.Fatal("no test modules", err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wat.Parse(string(src))
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if err := wat.Print(&strings.Builder{}, m); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
