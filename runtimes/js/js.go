// Package js runs JavaScript in QuickJS-NG, as the npm package quickjs-wasi builds it for WebAssembly.
//
// The [Driver] calls the interpreter's C API, which the module exports (values are 64-bit NaN boxes). The
// global objects that programs expect of Node and the web are written in JavaScript (folder guest), run
// once when the image is baked, and reach the host through env.host_call:
//
//	program -> console, timers, fs ... (guest/*.js) -> one host function per op -> hostcall.go -> Env, Turn
//
// A program that waits (timers) waits in Go: the turn is a loop over the interpreter's jobs and the guest's
// timers (loop.go). What a turn is given comes with its [runtimes.Turn] and its [Env]; the Driver itself
// holds nothing of it, and nothing of it stays in Go when the turn is over.
//
// The package knows no WebAssembly runtime. A Driver may be used from several goroutines.
package js

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// Language is the name of the language in jobs, results and on the command line.
const Language = "javascript"

// keepExports are the exports of quickjs.wasm that the driver calls. The others may be dropped.
var keepExports = []string{
	"memory", stackPointer, "_initialize", "wasm_malloc", "wasm_free",
	"qjs_init", "qjs_get_runtime_ptr", "qjs_get_context_ptr", "qjs_get_quickjs_version",
	"qjs_set_interrupt_handler", "qjs_set_promise_rejection_handler", "qjs_set_module_loader",
	"qjs_new_host_function", "qjs_get_undefined", "qjs_new_number", "qjs_new_string", "qjs_new_array_buffer",
	"qjs_free_value", "qjs_dup_value",
	"JS_Call", "JS_DeleteProperty", "JS_Eval2", "JS_FreeContext", "JS_NewContext", "JS_EvalFunction", "JS_ExecutePendingJob", "JS_FreeAtom",
	"JS_FreeCString", "JS_FreeValue", "JS_GetArrayBuffer", "JS_GetException", "JS_GetGlobalObject",
	"JS_GetPropertyStr", "JS_HasProperty", "JS_IsJobPending", "JS_IsPromise", "JS_NewAtomLen",
	"JS_NewSettledPromise", "JS_NewStringLen", "JS_ParseJSON", "JS_PromiseMarkAsHandled", "JS_PromiseResult", "JS_PromiseState", "JS_ReadObject", "JS_RunGC",
	"JS_SetGCThreshold", "JS_SetMaxStackSize", "JS_SetPropertyStr", "JS_SetUncatchableError", "JS_Throw",
	"JS_ThrowOutOfMemory", "JS_ToCStringLen2", "JS_DupValue", "JS_IsProxy", "JS_GetProxyTarget", "JS_GetClassID", "JS_UpdateStackTop",
}

// Driver implements [runtimes.Driver]. Its zero value is ready.
type Driver struct {
	// parsed is the boot that was decoded last: an engine has one image of a language.
	parsed atomic.Pointer[parsedBoot]
	zones  atomic.Pointer[zones]
}

type parsedBoot struct {
	info []byte
	boot *boot
}

// New returns a driver.
func New() *Driver { return &Driver{} }

var _ runtimes.Driver = (*Driver)(nil)

// Language implements [runtimes.Driver].
func (*Driver) Language() string { return Language }

// HostFuncs implements [runtimes.Driver].
func (*Driver) HostFuncs() []vm.HostFunc {
	i32 := func(n int) []vm.ValType { return make([]vm.ValType, n) }
	return []vm.HostFunc{
		{Module: "env", Name: "host_call", Params: i32(5), Results: i32(1), Fn: hostCall},
		{Module: "env", Name: "host_interrupt", Results: i32(1), Fn: hostInterrupt},
		{Module: "env", Name: "host_promise_rejection", Params: i32(3), Fn: hostPromiseRejection},
		{Module: "env", Name: "host_module_normalize", Params: i32(2), Results: i32(1), Fn: hostModuleNormalize},
		{Module: "env", Name: "host_module_load", Params: i32(2), Results: i32(1), Fn: hostModuleLoad},
		{Module: "env", Name: "host_get_timezone_offset", Params: i32(2), Results: i32(1), Fn: hostTimezoneOffset},
	}
}

// bootOf decodes info, once per image.
func (d *Driver) bootOf(info runtimes.BootInfo) (*boot, error) {
	if p := d.parsed.Load(); p != nil && bytes.Equal(p.info, info) {
		return p.boot, nil
	}
	b := &boot{}
	if err := json.Unmarshal(info, b); err != nil {
		return nil, fmt.Errorf("decode boot info: %w", err)
	}
	d.parsed.Store(&parsedBoot{bytes.Clone(info), b})
	return b, nil
}

// Interrupt implements [runtimes.Driver]: the interpreter stops at its next poll, and neither catch nor
// finally of the program see it.
func (d *Driver) Interrupt(ctx context.Context, g vm.Guest, _ runtimes.BootInfo) error {
	s := turnOf(ctx)
	if s == nil {
		return errors.New("interrupt: no turn is running")
	}
	s.interrupted = true
	(&interp{ctx, g, s.boot}).hurry()
	return nil
}

// Unnoticed implements [runtimes.Driver]. Who waits here asks the turn first.
func (d *Driver) Unnoticed(vm.Guest, runtimes.BootInfo) bool { return false }

// hurry makes the interpreter ask host_interrupt at its next poll instead of one in ten thousand.
func (in *interp) hurry() { in.g.Memory().WriteUint32(in.b.Countdown, 1) }

// recoverStop turns the unwinding of an interp into the error of a driver's method. Anything else goes on.
func recoverStop(err *error) {
	switch r := recover().(type) {
	case nil:
	case vm.Stop:
		*err = r.Err
	default:
		panic(r)
	}
}
