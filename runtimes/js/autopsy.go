package js

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// Autopsy implements [runtimes.Driver]. The largest values are read where they lie. Frames the interpreter tells by itself, on
// top of those that the stop has left, and on the stack that it does not use otherwise: its own may be full.
func (d *Driver) Autopsy(ctx context.Context, g vm.Guest, info runtimes.BootInfo) (parts []json.RawMessage, err error) {
	defer recoverStop(&err)
	b, err := d.bootOf(info)
	if err != nil {
		return nil, err
	}
	s := &turn{Turn: &runtimes.Turn{}, boot: b, env: envOf(ctx), zones: d.zones.Load()}
	in := &interp{ctx: context.WithValue(ctx, turnKey{}, s), g: g, b: b}
	part, err := json.Marshal(map[string]any{"globals": largest(heap{g.Memory(), b})})
	if err != nil {
		return nil, err
	}
	parts = append(parts, part)
	if !g.GlobalSet(stackPointer, b.FirstStack) {
		return parts, errors.New("the stack is not where it was expected")
	}
	const never = 1<<32 - 1 // bytes: objects that are half made must not be collected
	in.call("JS_UpdateStackTop", uint64(b.Runtime))
	in.call("JS_SetMaxStackSize", uint64(b.Runtime), firstStack)
	in.call("JS_SetGCThreshold", uint64(b.Runtime), never)
	in.free(in.takeException())
	in.put(b.Tracing, []byte{0})
	v := in.invoke(b.Funcs["whereabouts"])
	if v.exception() {
		reason, _ := in.stringOf(in.takeException(), 1000)
		return parts, errors.New("the interpreter answers with an error: " + reason)
	}
	text, ok := in.stringOf(v, runtimes.MaxAutopsy)
	if !ok || !json.Valid([]byte(text)) {
		return parts, errors.New("the interpreter's answer is no JSON")
	}
	return append(parts, json.RawMessage(text)), nil
}

// sized is a name with about how many bytes its value holds.
type sized struct {
	told
	Bytes uint64 `json:"bytes"`
}

// largest are the names of the program's with the largest values.
func largest(h heap) []sized {
	const most = 20
	type found struct {
		bytes uint64
		tell  func() told
	}
	var all []found
	c := card{heap: h}
	c.each(func(_ string, _ uint64, v value, tell func() told) { all = append(all, found{h.size(v), tell}) })
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.bytes, a.bytes) })
	list := []sized{}
	for _, f := range all[:min(len(all), most)] {
		list = append(list, sized{f.tell(), f.bytes})
	}
	return list
}

// size is about how many bytes a value holds, with what its first items and properties hold.
func (h heap) size(v value) uint64 {
	const sample = 100
	total := h.flatSize(v)
	o, ok := objectAt(v)
	if !ok {
		return total
	}
	if class := h.class(o); class == classArray {
		items, n := h.array(o)
		looked, inside := min(n, sample), uint64(0)
		for i := range looked {
			inside += h.flatSize(value(h.u64(items + 8*i)))
		}
		if items != 0 && looked > 0 {
			total += inside * uint64(n) / uint64(looked)
		}
		return total
	}
	for p := range h.properties(o, sample) {
		if p.flags&propKind == propNormal {
			total += h.flatSize(p.value)
		}
	}
	return total
}

// flatSize is size without what is inside. The numbers are those of the interpreter's structures.
func (h heap) flatSize(v value) uint64 {
	const objectSize, itemSize, propertySize, recordSize = 40, 8, 16, 40
	switch v.tag() {
	case tagString, tagRope:
		_, n := h.text(v, 0)
		return uint64(n)
	case tagBigInt:
		return 4 * uint64(h.u32(uint32(v)))
	case tagObject:
	default:
		return itemSize
	}
	o := object(uint32(v))
	size := objectSize + propertySize*uint64(h.count(o))
	switch class := h.class(o); {
	case class == classArray:
		_, n := h.array(o)
		size += itemSize * uint64(n)
	case isTyped(class):
		size += uint64(h.u32(uint32(o)+32)) << widthOf[class-classUint8Clamped]
	case class == classMap || class == classSet:
		size += recordSize * uint64(h.records(o))
	}
	return size
}
