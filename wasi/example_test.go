package wasi_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"

	"github.com/cloche-dev/cloche/wasi"
)

// hello is a module that writes a line to standard output and exits with status 3:
//
//	(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
//	(import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
//	(memory (export "memory") 1)
//	(data (i32.const 0) "\08\00\00\00\06\00\00\00hello\n")
//	(func (export "_start")
//	  (drop (call 0 (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))
//	  (call 1 (i32.const 3)))
var hello = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x10\x03\x60\x04\x7f\x7f\x7f\x7f\x01\x7f\x60\x01\x7f\x00\x60\x00\x00" +
	"\x02\x46\x02\x16wasi_snapshot_preview1\x08fd_write\x00\x00\x16wasi_snapshot_preview1\x09proc_exit\x00\x01" +
	"\x03\x02\x01\x02" +
	"\x05\x03\x01\x00\x01" +
	"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x02" +
	"\x0a\x13\x01\x11\x00\x41\x01\x41\x00\x41\x01\x41\x10\x10\x00\x1a\x41\x03\x10\x01\x0b" +
	"\x0b\x14\x01\x00\x41\x00\x0b\x0e\x08\x00\x00\x00\x06\x00\x00\x00hello\x0a")

func Example() {
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	if err := wasi.Instantiate(ctx, r); err != nil { // once; it serves all runs
		panic(err)
	}
	module, err := r.CompileModule(ctx, hello)
	if err != nil {
		panic(err)
	}
	// Without start functions: _start is called below, with the State of this run.
	instance, err := r.InstantiateModule(ctx, module, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		panic(err)
	}

	state, err := wasi.New(wasi.Config{Args: []string{"hello"}, Stdout: os.Stdout})
	if err != nil {
		panic(err)
	}
	defer state.Close()
	_, err = instance.ExportedFunction("_start").Call(wasi.WithState(ctx, state))
	if exit, ok := errors.AsType[*wasi.ExitError](err); ok {
		fmt.Println("exit status", exit.Code)
	}
	// Output:
	// hello
	// exit status 3
}
