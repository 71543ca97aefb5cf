package vm

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/engine/memimage"
)

// An Instance is one running copy of a module. It implements [Guest].
type Instance struct {
	module *Module
	mod    api.Module
	linear *memimage.Linear
	mem    memory
	state  State
	saved  []savedGlobal
	fuel   api.MutableGlobal // nil without metering
	exc    api.MutableGlobal // nil without lowered exceptions
	funcs  map[string]*function
}

// savedGlobal is a mutable global with the value that the image gives it.
type savedGlobal struct {
	name   string
	global api.MutableGlobal
	value  uint64
}

func (i *Instance) findGlobals() error {
	for _, name := range i.module.globals {
		g, ok := i.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("the module exports no mutable global %q", name)
		}
		v, ok := i.state.Globals[name]
		if !ok {
			v = g.Get()
		}
		g.Set(v)
		i.saved = append(i.saved, savedGlobal{name, g, v})
	}
	i.fuel, _ = i.mod.ExportedGlobal(fuelGlobal).(api.MutableGlobal)
	i.exc, _ = i.mod.ExportedGlobal(excGlobal).(api.MutableGlobal)
	return nil
}

// Memory implements [Guest].
func (i *Instance) Memory() Memory { return &i.mem }

// Linear is the memory behind Memory, for its limit and statistics.
func (i *Instance) Linear() *memimage.Linear { return i.linear }

// GlobalGet implements [Guest].
func (i *Instance) GlobalGet(name string) (uint64, bool) {
	g := i.mod.ExportedGlobal(name)
	if g == nil {
		return 0, false
	}
	return g.Get(), true
}

// GlobalSet implements [Guest].
func (i *Instance) GlobalSet(name string, v uint64) bool {
	g, ok := i.mod.ExportedGlobal(name).(api.MutableGlobal)
	if ok {
		g.Set(v)
	}
	return ok
}

// Globals are the present values of the module's Config.Globals, as [State] takes them.
func (i *Instance) Globals() map[string]uint64 {
	out := make(map[string]uint64, len(i.saved))
	for _, s := range i.saved {
		out[s.name] = s.global.Get()
	}
	return out
}

// Reset makes memory and globals equal to the state that the instance was made from. An instance that
// trapped or was stopped must be closed instead.
func (i *Instance) Reset() (memimage.Stats, error) {
	st, err := i.linear.Reset()
	if err != nil {
		return st, err
	}
	if st.Shrunk {
		if err := i.resize(); err != nil {
			return st, err
		}
	}
	for _, s := range i.saved {
		s.global.Set(s.value)
	}
	return st, nil
}

// Close frees the instance and its memory.
func (i *Instance) Close(ctx context.Context) error {
	err := i.mod.Close(ctx)
	i.linear.Free() // again is harmless: wazero frees it only when the module owned it
	return err
}

// memory adapts wazero's memory to [Memory].
type memory struct{ api.Memory }

func (m *memory) ReadUint32(offset uint32) (uint32, bool) { return m.ReadUint32Le(offset) }
func (m *memory) WriteUint32(offset, v uint32) bool       { return m.WriteUint32Le(offset, v) }

// Checkpoint is an instance's memory and globals at one moment. Each owner calls Release once.
type Checkpoint struct {
	Memory *memimage.Delta
	// Globals are the values of the module's Config.Globals in their order.
	Globals []uint64
}

// Retain adds an owner, and returns c.
func (c Checkpoint) Retain() Checkpoint {
	if c.Memory != nil {
		c.Memory.Retain()
	}
	return c
}

// Release takes an owner away; the last one frees the memory.
func (c Checkpoint) Release() { c.Memory.Release() }

// Save takes a checkpoint. Nothing of the guest may be running.
func (i *Instance) Save() (Checkpoint, error) {
	d, err := i.linear.Save()
	return i.checkpoint(d), err
}

// Begin is Save for an instance that is new or was just reset: the checkpoint is the state that it was made from.
func (i *Instance) Begin() Checkpoint { return i.checkpoint(i.linear.Begin()) }

func (i *Instance) checkpoint(d *memimage.Delta) Checkpoint {
	c := Checkpoint{Memory: d, Globals: make([]uint64, len(i.saved))}
	for n, s := range i.saved {
		c.Globals[n] = s.global.Get()
	}
	return c
}

// Load brings an instance of the same module and state that is new or was just reset to a checkpoint.
func (i *Instance) Load(c Checkpoint) error {
	if len(c.Globals) != len(i.saved) {
		return fmt.Errorf("load a checkpoint of %d globals into a module of %d", len(c.Globals), len(i.saved))
	}
	if err := i.linear.Load(c.Memory); err != nil {
		return err
	}
	if err := i.resize(); err != nil {
		return err
	}
	for n, s := range i.saved {
		s.global.Set(c.Globals[n])
	}
	if i.exc != nil {
		i.exc.Set(0) // of an instance that was stopped there may have been one on its way
	}
	return nil
}

// resize tells wazero the length of the linear memory. It takes the length of a memory from what its
// allocator returns to a growth, which so can shrink it too.
func (i *Instance) resize() error {
	i.linear.Rewind()
	if _, ok := i.mod.Memory().Grow(1); !ok || uint64(i.mod.Memory().Size()) != i.linear.Size() {
		return fmt.Errorf("set linear memory to %d bytes: wazero kept %d", i.linear.Size(), i.mod.Memory().Size())
	}
	return nil
}
