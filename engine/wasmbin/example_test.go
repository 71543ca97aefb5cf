package wasmbin_test

import (
	"fmt"

	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

func ExampleInstrReader() {
	module := wat.MustParse(`(module (func (param i32) (result i32) (i32.add (local.get 0) (i32.const 42))))`)
	m, err := wasmbin.Decode(module)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, expr, err := wasmbin.SplitBody(m.Funcs[0].Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	var in wasmbin.Instr
	r := wasmbin.NewInstrReader(expr)
	for r.Next(&in) {
		fmt.Println(in.Start, in.Op)
	}
	if err := r.Err(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0 local.get
	// 2 i32.const
	// 4 i32.add
	// 5 end
}
