package vm

import "context"

// ValType is the type of a host function's parameter or result.
type ValType byte

// The number types of WebAssembly.
const (
	I32 ValType = iota
	I64
	F32
	F64
)

// HostFunc is one function that a guest imports. Fn finds its parameters on stack, in order, and leaves its
// results there from index 0 on; an i32 is in the low half of its slot.
//
// Fn ends the run by panicking with a [Stop].
type HostFunc struct {
	Module, Name    string
	Params, Results []ValType
	Fn              func(ctx context.Context, g Guest, stack []uint64)
}

// Guest is a running instance as drivers and host functions see it. It is not safe for concurrent use.
type Guest interface {
	// Call calls an exported function with at most one result. It may be called inside a host function.
	Call(ctx context.Context, export string, args ...uint64) (uint64, error)
	// Memory is the guest's linear memory.
	Memory() Memory
	// GlobalGet reads an exported global, GlobalSet writes a mutable one; false when there is none of that name.
	GlobalGet(name string) (uint64, bool)
	GlobalSet(name string, v uint64) bool
	// Charge takes fuel for what the host did in the guest's place. If that was more than there is, the run ends when the guest
	// next looks at its fuel.
	Charge(fuel uint64)
}

// Memory is linear memory. Every access is checked; false means out of bounds.
type Memory interface {
	// Size is the length in bytes. It can grow in any call into the guest.
	Size() uint32
	// Read returns a view that is valid until the next call into the guest.
	Read(offset, n uint32) ([]byte, bool)
	Write(offset uint32, b []byte) bool
	ReadUint32(offset uint32) (uint32, bool)
	WriteUint32(offset, v uint32) bool
}

// Stop is the panic value by which a host function ends a run. [Guest.Call] returns Err, wrapped.
type Stop struct{ Err error }
