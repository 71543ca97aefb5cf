package rewrite_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// FuzzRewrite feeds the rewriter what is no valid module. It must not panic; what was valid must stay valid; and the
// same input must give the same output.
func FuzzRewrite(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(testdata, "*.wat"))
	if err != nil || len(files) == 0 {
		f.Fatal("no test modules", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wat.MustParse(string(src)))
	}
	f.Add(wat.MustParse(exportsModule))
	f.Add(wat.MustParse(dataModule))
	f.Fuzz(testRewrite)
}

// FuzzRewriteFunc puts the bytes into a module as the body of a function, where they get further.
func FuzzRewriteFunc(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(testdata, "*.wat"))
	if err != nil || len(files) == 0 {
		f.Fatal("no test modules", err)
	}
	for _, file := range files {
		_, module := readModule(f, file)
		m, err := wasmbin.Decode(module)
		if err != nil {
			f.Fatal(err)
		}
		for _, fn := range m.Funcs {
			f.Add(fn.Body)
		}
	}
	frame, err := wat.Parse(`(module
		(type (func (param i32) (result i32))) (type (func)) (type (func (param i32))) (type (func (result i32 exnref)))
		(import "env" "f" (func))
		(table 2 funcref) (memory 1) (tag (param i32)) (tag) (global (mut i32) (i32.const 0)) (global exnref (ref.null exn))
		(elem (i32.const 0) func 1 2) (elem func 1) (data "abc")
		(func (param i32) (result i32) local.get 0 throw 0)
		(func)
		(func (param exnref) local.get 0 throw_ref)
		(func (param i32) (result i32) unreachable))`)
	if err != nil {
		f.Fatal(err)
	}
	last := len(frame.Funcs) - 1
	f.Fuzz(func(t *testing.T, body []byte) {
		m := *frame
		m.Funcs = slices.Clone(frame.Funcs)
		m.Funcs[last].Body = body
		testRewrite(t, wasmbin.Encode(&m))
	})
}

func testRewrite(t *testing.T, module []byte) {
	o := rewrite.Options{LowerExceptions: true, Fuel: true, StripActiveData: true}
	out, err := rewrite.Rewrite(module, o)
	if err != nil {
		return
	}
	if again := mustRewrite(t, module, o); !bytes.Equal(again.Module, out.Module) {
		t.Error("rewriting twice gives two results")
	}
	// wazero believes a name section whatever counts it has, and would take memory for billions; rewriting makes its own.
	m, err := wasmbin.Decode(module)
	if err != nil {
		t.Fatal(err)
	}
	m.Customs = slices.DeleteFunc(m.Customs, func(c wasmbin.Custom) bool { return c.Name == wasmbin.NameSection })
	// Tail calls stay what they are, but for those that an exception may leave.
	if compiles(wasmbin.Encode(m), allFeatures) && !compiles(out.Module, api.CoreFeaturesV2|experimental.CoreFeaturesTailCall) {
		t.Error("a valid module has become invalid")
	}
}

// compiles says whether wazero takes a module. Its check of what is malformed may panic.
func compiles(module []byte, features api.CoreFeatures) (ok bool) {
	defer func() { _ = recover() }()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer r.Close(ctx)
	_, err := r.CompileModule(ctx, module)
	return err == nil
}
