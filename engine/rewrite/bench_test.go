package rewrite_test

import (
	"testing"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// BenchmarkRewrite rewrites a module of 5,000 functions with exceptions and loops; python.wasm has 89,060.
func BenchmarkRewrite(b *testing.B) {
	m := decode(b, wat.MustParse(programText(program(1))))
	for funcs := m.Funcs; len(m.Funcs) < 5000; {
		m.Funcs = append(m.Funcs, funcs...)
	}
	module := wasmbin.Encode(m)
	b.SetBytes(int64(len(module)))
	for b.Loop() {
		mustRewrite(b, module, rewrite.Options{LowerExceptions: true, Fuel: true})
	}
}
