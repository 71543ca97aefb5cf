package rewrite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// TestLoweredModulesAgree runs every eh_*.wat twice: as it is, on wazero's own exception handling, and lowered, on
// core features only.
func TestLoweredModulesAgree(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata, "eh_*.wat"))
	if err != nil || len(files) == 0 {
		t.Fatal("no test modules", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".wat"), func(t *testing.T) {
			src, module := readModule(t, file)
			lowered := instantiate(t, mustRewrite(t, module, rewrite.Options{LowerExceptions: true}).Module, api.CoreFeaturesV2, 0)
			var original *guest
			for _, c := range readCalls(t, src) {
				if got := lowered.call(c); got != c.want {
					t.Errorf("after lowering: %s%v = %s, want %s", c.name, c.args, got, c.want)
				}
				if c.lowered {
					continue
				}
				if original == nil {
					original = instantiate(t, module, allFeatures, 0)
				}
				if got := original.call(c); got != c.want {
					t.Errorf("before lowering: %s%v = %s, want %s", c.name, c.args, got, c.want)
				}
			}
		})
	}
}

func TestLowerGolden(t *testing.T) {
	_, module := readModule(t, filepath.Join(testdata, "eh_ref.wat"))
	golden(t, "eh_ref.golden", printed(t, mustRewrite(t, module, rewrite.Options{LowerExceptions: true}).Module))
}

func TestOnlyThrowersAreTouched(t *testing.T) {
	module := wat.MustParse(`(module
		(type $v (func))
		(type $i (func (result i32)))
		(tag $e)
		(table 2 funcref)
		(elem (i32.const 0) func $a $calm)
		(func $a throw $e)
		(func $calm (result i32) i32.const 1)
		(func $calls (call_indirect (type $v) (i32.const 0)))
		(func $calls_calm (result i32) (call_indirect (type $i) (i32.const 1)))
		(func $catches
			block $h
				try_table (catch_all $h)
					call $calls
				end
			end)
		(func $safe call $catches)
		(func $not_in_table (result i32) throw $e)
	)`)
	out := mustRewrite(t, module, rewrite.Options{LowerExceptions: true})
	// $a, $calls and $not_in_table let exceptions out; $catches holds them back.
	want := "3 of 7 functions may throw, 2 checks after calls"
	if r := out.Report[0]; r.Detail != want || r.Funcs != 4 {
		t.Errorf("report: %d functions touched, %q; want 4, %q", r.Funcs, r.Detail, want)
	}
}

func TestLowerRefuses(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"wide tag", `(tag (param i64))`, "tag 0 has values [i64]: at most one i32 or f32 can be lowered"},
		{"two values", `(tag (param i32 i32))`, "tag 0 has values [i32 i32]: at most one i32 or f32 can be lowered"},
		{"exnref table", `(table 1 exnref)`, "table 0 holds exnref"},
		{"unknown tag", `(tag) (func throw 3)`, "function 0: offset 0x0: tag 3 does not exist"},
		{"unknown label", `(tag) (func throw 0 br 7)`, "function 0: offset 0x2: label 7 does not exist"},
		{"unknown callee", `(tag) (func call 9)`, "function 0 calls function 9, which does not exist"},
		{"is_null of who knows", `(func (local $x exnref) local.get $x nop ref.is_null drop)`,
			"function 0: offset 0x3: ref.is_null: the type of its operand is not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rewrite.Rewrite(wat.MustParse("(module "+tt.src+")"), rewrite.Options{LowerExceptions: true})
			if want := "rewrite: lower exceptions: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("got error %v, want %s", err, want)
			}
		})
	}
}
