package python

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// booted is what the guest tells when its image is complete. Addresses are offsets in linear memory.
type booted struct {
	Turn     uint32    `json:"turn"` // the function turn
	None     uint32    `json:"none"`
	Version  string    `json:"version"`
	Twisters []twister `json:"twisters"`
	Ready    []uint32  `json:"ready"`   // what is called before Autopsy
	Autopsy  uint32    `json:"autopsy"` // the function report of autopsy.py
	Stack    uint32    `json:"stack"`   // the top of the stack
	Thread   uint32    `json:"thread"`  // the PyThreadState
}

// stackBytes is how much of its stack in linear memory the interpreter may use before it raises RecursionError. The
// build asks a C library that knows no better and would take 128 KiB for all there is, at which a memoized
// function may call itself 300 times; the module reserves 16 MiB. More would let the machine's own stack, which
// grows with it, come near wazero's bound.
const stackBytes = 1 << 20

// stackPointer is the module's stack pointer, as the rewriter exports it.
const stackPointer = "cloche.g0"

// Boot runs the guest's bootstrap in an interpreter whose start function ran, with the mounts and the environment
// of [Spec]. Output on the standard streams at this point tells of trouble.
func (d *Driver) Boot(ctx context.Context, g vm.Guest) (runtimes.BootInfo, error) {
	start, err := guestFiles.ReadFile("guest/start.py")
	if err != nil {
		return nil, err
	}
	at, err := g.Call(ctx, expAlloc, uint64(len(start)))
	if err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	if at == 0 || !g.Memory().Write(uint32(at), start) {
		return nil, errors.New("boot python: no memory for the bootstrap")
	}
	r := new(run)
	status, err := g.Call(context.WithValue(ctx, runKey{}, r), expExecute, at, uint64(len(start)))
	if err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	if status != 0 || r.booted == nil {
		return nil, fmt.Errorf("boot python: the bootstrap ended with status %d; its standard error says why", status)
	}
	var b booted
	if err := json.Unmarshal(r.booted, &b); err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	for i := range b.Twisters {
		if err := b.Twisters[i].locate(g.Memory()); err != nil {
			return nil, fmt.Errorf("boot python: random generator %d: %w", i, err)
		}
	}
	// Nothing of the guest runs, so the top of its stack is free.
	top, ok := g.GlobalGet(stackPointer)
	if !ok || top < autopsyStack {
		return nil, errors.New("boot python: the stack is not where it was expected")
	}
	b.Stack = uint32(top)
	state, err := g.Call(ctx, expThreadState)
	if err == nil {
		err = protectStack(ctx, g, state, top, stackBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	b.Thread = uint32(state)
	return json.Marshal(b)
}

// protectStack tells the interpreter where its stack is.
func protectStack(ctx context.Context, g vm.Guest, state, top, size uint64) error {
	failed, err := g.Call(ctx, expProtectStack, state, top-size, size)
	if err == nil && failed != 0 {
		err = errors.New("the stack cannot be protected")
	}
	return err
}

type cachedInfo struct {
	raw runtimes.BootInfo
	booted
}

// decode returns info decoded; an engine has few images, so the last one is kept.
func (d *Driver) decode(info runtimes.BootInfo) (*cachedInfo, error) {
	if c := d.info.Load(); c != nil && bytes.Equal(c.raw, info) {
		return c, nil
	}
	c := &cachedInfo{raw: bytes.Clone(info)}
	if err := json.Unmarshal(info, &c.booted); err != nil {
		return nil, fmt.Errorf("python: boot info: %w", err)
	}
	d.info.Store(c)
	return c, nil
}

// Counts of references on a 32-bit CPython: one that is at least immortalMin is never changed, and
// immortalRefs is what the interpreter gives its own.
const (
	immortalMin  = 1 << 30
	immortalRefs = 5 << 28
)

// immortalize ends the counting of references of objects, given by their addresses (u32, little endian). An object
// starts with its count.
func immortalize(mem vm.Memory, addresses []byte) bool {
	for ; len(addresses) >= 4; addresses = addresses[4:] {
		at := binary.LittleEndian.Uint32(addresses)
		count, ok := mem.ReadUint32(at)
		if !ok || count == 0 || at%4 != 0 {
			return false
		}
		if count < immortalMin && !mem.WriteUint32(at, immortalRefs) {
			return false
		}
	}
	return len(addresses) == 0
}

// moduleSource answers opModule for the module _cloche or one in it.
func moduleSource(name string) []byte {
	file := "bootstrap"
	if sub, ok := strings.CutPrefix(name, "_cloche."); ok {
		file = sub
	}
	src, err := guestFiles.ReadFile("guest/" + file + ".py")
	if err != nil {
		return []byte{0, 0}
	}
	return append([]byte{0, 1}, src...)
}
