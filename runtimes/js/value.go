package js

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// value is a JSValue of QuickJS on a 32-bit machine: NaN-boxed, the tag in the high half, an integer or
// an address in the low half. A value with an address owns a reference.
type value uint64

// Tags of QuickJS (quickjs.h, JS_TAG_*). Those from tagFirst to -1 carry a reference count.
const (
	tagFirst         = -9
	tagBigInt        = -9
	tagSymbol        = -8
	tagString        = -7
	tagRope          = -6
	tagModule        = -3
	tagBytecode      = -2
	tagObject        = -1
	tagInt           = 0
	tagBool          = 1
	tagNull          = 2
	tagUndefined     = 3
	tagUninitialized = 4
	tagException     = 6
	tagShortBigInt   = 7
	tagFloat         = 8 // and every larger one
)

// floatAddend turns the bits of a boxed double into its own (quickjs.h, JS_FLOAT64_TAG_ADDEND).
const floatAddend = uint64(0x7ff80000-tagFirst+1) << 32

const undefined = value(tagUndefined << 32)

func (v value) tag() int32 {
	t := int32(v >> 32)
	if uint32(t-tagFirst) >= tagFloat-tagFirst {
		return tagFloat
	}
	return t
}

func (v value) int() int32      { return int32(v) }
func (v value) float() float64  { return math.Float64frombits(uint64(v) + floatAddend) }
func (v value) counted() bool   { return uint32(v.tag()-tagFirst) < -tagFirst }
func (v value) exception() bool { return v.tag() == tagException }

func intValue(i int32) value { return value(uint32(i)) }

// number is v as a Go number, 0 when it is none.
func (v value) number() float64 {
	switch v.tag() {
	case tagInt, tagBool:
		return float64(v.int())
	case tagFloat:
		return v.float()
	}
	return 0
}

// interp calls the interpreter in one instance. It lives for one call into the driver.
type interp struct {
	ctx context.Context
	g   vm.Guest
	b   *boot
}

// stopped is how an interp reports that the guest cannot go on: a trap, or a Stop from a host function.
// It unwinds to the driver's entry point, or through a host function to the call further out.
func (in *interp) call(export string, args ...uint64) uint64 {
	r, err := in.g.Call(in.ctx, export, args...)
	if err != nil {
		panic(vm.Stop{Err: err})
	}
	return r
}

// call32 is call for exports that return an i32: the upper half of what wazero gives is undefined then.
func (in *interp) call32(export string, args ...uint64) uint32 {
	return uint32(in.call(export, args...))
}

// fault ends the run because the guest's memory does not hold what the interpreter promises: the guest has
// damaged its own interpreter.
func fault(format string, args ...any) {
	panic(vm.Stop{Err: &vm.Trap{Reason: "javascript guest: " + fmt.Sprintf(format, args...)}})
}

// view is n bytes of the guest's memory, valid until the next call.
func (in *interp) view(offset, n uint32) []byte {
	b, ok := in.g.Memory().Read(offset, n)
	if !ok {
		fault("address %#x+%d is out of bounds", offset, n)
	}
	return b
}

// pieceBytes is how much a host function works through before it looks whether the run may go on.
const pieceBytes = 1 << 20

func (in *interp) charge(bytes int64) { in.g.Charge(runtimes.FuelPerByte * uint64(bytes)) }

// pieces calls do for n bytes, piece by piece, until an error, and charges for them. The run may end in between.
func (in *interp) pieces(n uint32, do func(from, to uint32) error) error {
	return in.piecesOf(pieceBytes, n, do)
}

// piecesOf is pieces of another size.
func (in *interp) piecesOf(size, n uint32, do func(from, to uint32) error) error {
	in.charge(int64(n))
	for from := uint32(0); from < n; {
		to := min(n, from+size)
		if err := do(from, to); err != nil {
			return err
		}
		if from = to; from < n {
			in.look()
		}
	}
	return nil
}

// look ends the run when it may not go on.
func (in *interp) look() {
	if c, ok := turnOf(in.ctx).env.clock().(Checker); ok {
		if err := c.Check(in.ctx); err != nil {
			panic(vm.Stop{Err: err})
		}
	}
}

func (in *interp) u32(offset uint32) uint32 { return binary.LittleEndian.Uint32(in.view(offset, 4)) }
func (in *interp) u64(offset uint32) uint64 { return binary.LittleEndian.Uint64(in.view(offset, 8)) }

func (in *interp) put(offset uint32, b []byte) {
	if !in.g.Memory().Write(offset, b) {
		fault("address %#x+%d is out of bounds", offset, len(b))
	}
}

// free gives up a reference. One that is not the last is only counted down, which needs no call of the guest.
func (in *interp) free(v value) {
	if !v.counted() {
		return
	}
	if at := uint32(v) - refCount; int32(in.u32(at)) > 1 {
		in.g.Memory().WriteUint32(at, in.u32(at)-1)
		return
	}
	in.call("JS_FreeValue", uint64(in.b.Ctx), uint64(v))
}

// refCount is how far before what a value points to its references are counted, in an i32 (quickjs.c,
// JSMallocBlockHeader). probeReferences checks it.
const refCount = 4

// errNoMemory says that the guest's allocator had nothing left for the driver.
var errNoMemory = fmt.Errorf("javascript guest: out of memory")

// alloc takes n bytes of the guest's heap; false when it is full.
func (in *interp) alloc(n int) (uint32, bool) {
	if n < 0 || n > math.MaxInt32 {
		return 0, false
	}
	p := uint32(in.call("wasm_malloc", uint64(n)))
	return p, p != 0
}

func (in *interp) release(p uint32) { in.call("wasm_free", uint64(p)) }

// newString makes a string of s, which should be UTF-8. An exception when memory is short.
func (in *interp) newString(s string) value { return newText(in, s) }

// newText is newString, also of bytes: a copy of long ones would be the host's memory.
func newText[text string | []byte](in *interp, s text) value {
	p, temp := putText(in, s)
	if p == 0 {
		return value(in.call("JS_ThrowOutOfMemory", uint64(in.b.Ctx)))
	}
	v := value(in.call("JS_NewStringLen", uint64(in.b.Ctx), uint64(p), uint64(len(s))))
	if temp {
		in.release(p)
	}
	return v
}

// text puts s and a NUL where the interpreter can read it: the scratch buffer when it fits, else the heap,
// and temp is true. The address is 0 when memory is short.
func (in *interp) text(s string) (p uint32, temp bool) { return putText(in, s) }

func putText[text string | []byte](in *interp, s text) (p uint32, temp bool) {
	p = in.b.Scratch
	if len(s)+1 > scratchSize {
		var ok bool
		if p, ok = in.alloc(len(s) + 1); !ok {
			return 0, false
		}
		temp = true
	}
	b := in.view(p, uint32(len(s)+1))
	b[copy(b, s)] = 0
	return p, temp
}

// bytesOf gives do the UTF-8 bytes of v, a string (anything else is converted, which may run the program's
// code); unpaired surrogates are three bytes each (WTF-8). The bytes are valid until do calls the guest.
// False when the conversion threw.
func (in *interp) bytesOf(v value, do func([]byte)) bool {
	lenAt := in.b.Cell
	p := uint32(in.call("JS_ToCStringLen2", uint64(in.b.Ctx), uint64(lenAt), uint64(v), 0))
	if p == 0 {
		return false
	}
	do(in.view(p, in.u32(lenAt)))
	in.call("JS_FreeCString", uint64(in.b.Ctx), uint64(p))
	return true
}

// stringOf is the text of v, cut at max bytes; false when the conversion threw.
func (in *interp) stringOf(v value, max int) (s string, ok bool) {
	ok = in.bytesOf(v, func(b []byte) { s = string(b[:min(len(b), max)]) })
	return s, ok
}

// invoke calls a function with arguments that stay the caller's.
func (in *interp) invoke(fn value, args ...value) value {
	return in.invokeWith(in.b.Args, fn, args...)
}

// invokeWith is invoke with the arguments put at that address.
func (in *interp) invokeWith(at uint32, fn value, args ...value) value {
	for i, a := range args {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(a))
		in.put(at+uint32(8*i), b[:])
	}
	return value(in.call("JS_Call", uint64(in.b.Ctx), uint64(fn), uint64(undefined), uint64(len(args)), uint64(at)))
}

// takeException takes the pending exception.
func (in *interp) takeException() value {
	return value(in.call("JS_GetException", uint64(in.b.Ctx)))
}

// property reads a property; the value is the caller's to free.
func (in *interp) property(v value, name string) value {
	p, _ := in.text(name)
	return value(in.call("JS_GetPropertyStr", uint64(in.b.Ctx), uint64(v), uint64(p)))
}

// arrayBuffer finds the bytes of an ArrayBuffer; false when it is none or detached (an exception is pending then).
func (in *interp) arrayBuffer(v value) (offset, n uint32, ok bool) {
	p := uint32(in.call("JS_GetArrayBuffer", uint64(in.b.Ctx), uint64(in.b.Cell), uint64(v)))
	return p, in.u32(in.b.Cell), p != 0
}

func (in *interp) atom(name string) uint32 {
	p, temp := in.text(name)
	if p == 0 {
		return 0
	}
	a := uint32(in.call("JS_NewAtomLen", uint64(in.b.Ctx), uint64(p), uint64(len(name))))
	if temp {
		in.release(p)
	}
	return a
}
