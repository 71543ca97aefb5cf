package python

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

const (
	// autopsyStack is what the stack may grow to in an autopsy: a turn may have been stopped where it had used up its own.
	autopsyStack = 4 << 20
	// redZone is what a function may use below the stack pointer.
	redZone = 1 << 10
	// maxParts is how many parts of an autopsy are taken.
	maxParts = 8
)

// Autopsy calls the guest's autopsy.py on top of the frames that the stop has left: the interpreter is as it was in the
// middle of an instruction, with its newest frame where it looks for it.
func (d *Driver) Autopsy(ctx context.Context, g vm.Guest, info runtimes.BootInfo) (parts []json.RawMessage, err error) {
	image, err := d.decode(info)
	if err != nil {
		return nil, err
	}
	sp, ok := g.GlobalGet(stackPointer)
	top := uint64(image.Stack)
	if !ok || sp > top || sp < top-autopsyStack/2 || !g.GlobalSet(stackPointer, (sp-redZone)&^15) {
		return nil, errors.New("python: the stack is not where it was expected")
	}
	ctx = context.WithValue(ctx, runKey{}, &run{turn: &runtimes.Turn{}, autopsy: &parts})
	state := uint64(image.Thread)
	current, err := g.Call(ctx, expThreadState)
	if err == nil && current == 0 { // it was stopped in a wait
		_, err = g.Call(ctx, expAttach, state)
	}
	if err == nil {
		err = protectStack(ctx, g, state, top, autopsyStack)
	}
	if err != nil {
		return nil, err
	}
	// An interrupt that the program has not seen yet rises in the first call of a function of Python's.
	for _, function := range slices.Concat(image.Ready, []uint32{image.Autopsy, image.Autopsy}) {
		if _, err := g.Call(ctx, expErrClear); err != nil {
			return parts, err
		}
		if _, err := g.Call(ctx, expCallNoArgs, uint64(function)); err != nil || len(parts) > 0 {
			return parts, err
		}
	}
	return parts, nil
}
