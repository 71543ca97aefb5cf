package layout

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// codeOf has wazero compile a module and returns the file of code that it keeps.
func codeOf(t testing.TB, module []byte) []byte {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("machine code of amd64 is put in order, no other")
	}
	ctx, dir := context.Background(), t.TempDir()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(ctx)
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false).WithCompilationCache(cache))
	defer r.Close(ctx)
	if _, err := r.CompileModule(ctx, module); err != nil {
		t.Fatal(err)
	}
	var code []byte
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		code, err = os.ReadFile(path)
		return err
	})
	if err != nil || code == nil {
		t.Fatal("no code: ", err)
	}
	return code
}

// modules are those of testdata/wasm, rewritten as interpreters are.
func modules(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../testdata/wasm/*.wat")
	if err != nil || len(files) == 0 {
		t.Fatal("no modules: ", err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wat.Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out, err := rewrite.Rewrite(wasmbin.Encode(m), rewrite.Options{LowerExceptions: true, Fuel: true})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".wat")] = out.Module
	}
	return all
}

// TestRewrite: code of every module is of a known form, gets smaller, and can be put in order again. What it does is tested where it
// runs: in package rewrite.
func TestRewrite(t *testing.T) {
	for name, module := range modules(t) {
		t.Run(name, func(t *testing.T) {
			code := codeOf(t, module)
			better, err := Rewrite(code)
			if err != nil {
				t.Fatal(err)
			}
			if len(better) >= len(code) {
				t.Errorf("%d bytes became %d", len(code), len(better))
			}
			if _, err := Rewrite(better); err != nil {
				t.Error("the second time: ", err)
			}
		})
	}
}

// switches has what code can refer to: a jump table, constants, calls, loops, memory.
const switches = `(module
	(memory (export "memory") 1)
	(func $pick (param i32) (result f64)
		block
			block
				block
					local.get 0
					br_table 0 1 2 1 0
				end
				f64.const 1.5
				return
			end
			local.get 0
			f64.load
			f64.const 2.25
			f64.add
			return
		end
		f64.const 3)
	(func (export "run") (param i32) (result f64) (local f64)
		loop
			local.get 1
			local.get 0
			call $pick
			f64.add
			local.set 1
			local.get 0
			local.get 0
			i32.load offset=4
			i32.store
			local.get 0
			i32.const 1
			i32.sub
			local.tee 0
			br_if 0
		end
		local.get 1))`

// TestChangedCode: the comparison of old and new code finds every change of a bit in the new.
func TestChangedCode(t *testing.T) {
	file, err := parse(codeOf(t, wat.MustParse(switches)))
	if err != nil {
		t.Fatal(err)
	}
	for i, base := range file.offsets {
		f := &function{code: file.body(i), same: map[int]int{}}
		if err := f.takeApart(); err != nil {
			t.Fatal(err)
		}
		code, calls := f.putTogether(base)
		var c checker
		if err := c.check(f, base, code, calls); err != nil {
			t.Fatal("unchanged: ", err)
		}
		for at := range code {
			if slices.ContainsFunc(calls, func(c fixup) bool { return at >= c.at && at < c.at+4 }) {
				continue // link sets it
			}
			for bit := range 8 {
				code[at] ^= 1 << bit
				if c.check(f, base, code, calls) == nil {
					t.Errorf("function %d: a change of bit %d of byte %#x was not found", i, bit, at)
				}
				code[at] ^= 1 << bit
			}
		}
		for k := range calls {
			calls[k].target++
			if c.check(f, base, code, calls) == nil {
				t.Errorf("function %d: another function to be called was not found", i)
			}
			calls[k].target--
		}
	}
}

func TestUnknownFiles(t *testing.T) {
	code := codeOf(t, wat.MustParse(switches))
	for name, file := range map[string][]byte{
		"empty":     nil,
		"text":      []byte("this is no code of wazero's, but it is long enough"),
		"cut":       code[:len(code)-1],
		"longer":    append(code[:len(code):len(code)], 0),
		"functions": append(binary.LittleEndian.AppendUint32(code[:7+int(code[6]):7+int(code[6])], 1<<31), code[11+int(code[6]):]...),
	} {
		if _, err := Rewrite(file); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRewrite: no file of code makes it panic or loop, or differ.
func FuzzRewrite(f *testing.F) {
	for _, module := range modules(f) {
		f.Add(codeOf(f, module))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := Rewrite(file); errors.Is(err, ErrDiffers) {
			t.Error(err)
		}
	})
}
