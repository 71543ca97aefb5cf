package js

import (
	"encoding/binary"
	"errors"
)

// maxKept bounds what the promise that is kept may hold on to: results of so many bytes of JSON.
const maxKept = 4 << 10

// Offsets in what a promise's JSObject points to (quickjs.c, JSPromiseData), which probeSettled checks.
const (
	promiseHandled = 20
	promiseResult  = 24
)

// settled is a boxed promise that is fulfilled with v, which it takes: plain JSON of that size, while the prototypes of such are
// pristine. The interpreter makes a dozen objects for one, and a program mostly awaits it and has forgotten it before its next
// call. So the last one is kept (boot.Kept), and given out again if nobody else has it and it is as it was made.
func (in *interp) settled(v value, size int) uint64 {
	h := heap{in.g.Memory(), in.b}
	kept := value(h.u64(in.b.Kept))
	if size <= maxKept && h.untouched(kept) {
		data := h.u32(uint32(kept) + 24)
		before := value(h.u64(data + promiseResult))
		in.g.Memory().WriteUint32(data+promiseHandled, 0)
		in.putValue(data+promiseResult, v)
		in.free(before)
		return in.call("qjs_dup_value", uint64(in.b.Kept))
	}
	promise := value(in.call("JS_NewSettledPromise", uint64(in.b.Ctx), 0, uint64(v)))
	in.free(v)
	if size > maxKept || promise.exception() {
		return in.box(promise)
	}
	in.putValue(in.b.Kept, promise)
	in.free(kept)
	return in.call("qjs_dup_value", uint64(in.b.Kept))
}

// untouched says whether v is a promise with one reference, fulfilled, without properties of its own, and not weakly referred to.
func (h heap) untouched(v value) bool {
	o, ok := objectAt(v)
	return ok && h.u32(uint32(o)-refCount) == 1 && h.u32(uint32(o)+8) == h.b.PromiseHead && h.u32(uint32(o)+20) == 0 &&
		h.proto(o) == h.b.PromiseProto && h.count(o) == 0 && h.u32(h.u32(uint32(o)+24)) == promiseFulfilled
}

func (in *interp) putValue(at uint32, v value) {
	in.put(at, binary.LittleEndian.AppendUint64(nil, uint64(v)))
}

// probeSettled makes the first promise to keep, and checks how promises are laid out.
func (in *interp) probeSettled() error {
	b, h := in.b, heap{in.g.Memory(), in.b}
	for range 2 { // the second time it is used again
		const result = 0x1234567
		box := uint32(in.settled(intValue(result), 0))
		v := value(in.u64(box))
		in.call("qjs_free_value", uint64(box))
		o, ok := objectAt(v)
		data := h.u32(uint32(o) + 24)
		if !ok || v != value(h.u64(b.Kept)) || h.u64(data+promiseResult) != result || h.u32(data+4) != data+4 || h.u32(data+12) != data+12 {
			return errors.New("promises are not laid out as they should be")
		}
		b.PromiseHead, b.PromiseProto = h.u32(uint32(o)+8), h.proto(o)
	}
	if !h.untouched(value(h.u64(b.Kept))) || !h.overrides(b.PromiseProto) || !h.pristine() {
		return errors.New("a promise is not used again as it should be")
	}
	in.put(h.u32(uint32(h.u64(b.Kept))+24)+promiseResult, make([]byte, 8)) // the number 0
	return nil
}
