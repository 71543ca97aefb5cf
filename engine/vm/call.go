package vm

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// A Meter is the fuel of one run and the host's word in it.
type Meter struct {
	// Budget is the number of instructions that the run may execute.
	Budget uint64
	// Check is called at the end of each slice, about every 0.1 ms of computing, from inside the guest's run. An error
	// ends the run with it. It may call into the guest to interrupt it. Nil: nothing is checked.
	Check func(ctx context.Context, g Guest) error
	// OutOfFuel makes the error that ends a run whose budget is used up. Nil: ErrOutOfFuel.
	OutOfFuel func(used uint64) error

	used  uint64        // before the slice now given
	given int64         // the slice now given
	size  int64         // the size of slices, fitted to sliceTime
	since time.Duration // when the slice began, after epoch

	// See share.go.
	computed   time.Duration // in whole slices
	seated     bool
	yielded    time.Duration // when it was last done, after epoch
	yieldEvery time.Duration
}

// Used is the number of instructions executed so far, up to the end of the last Run or slice.
func (m *Meter) Used() uint64 { return m.used }

// Slices are fitted to last about sliceTime: long enough that a refill costs nothing, short enough that a
// guest holds up the garbage collector no longer than that.
const (
	sliceTime  = 100 * time.Microsecond
	sliceFirst = 200_000
	sliceMin   = 10_000
	sliceMax   = 20_000_000
)

var epoch = time.Now()

// frame is the context of a call into a guest.
type frame struct {
	context.Context
	inst  *Instance
	meter *Meter
}

type frameKey struct{}

func (f *frame) Value(key any) any {
	if key == (frameKey{}) {
		return f
	}
	return f.Context.Value(key)
}

func frameOf(ctx context.Context) *frame { return ctx.Value(frameKey{}).(*frame) }

// Run gives do a context in which the instance may be called, with fuel from m. When do is back, m.Used is
// exact. Only meanwhile may the instance's memory be written to. See [memimage.Linear.While].
func (i *Instance) Run(ctx context.Context, m *Meter, do func(context.Context) error) error {
	if m.size == 0 {
		m.size, m.yieldEvery = sliceFirst, yieldSeldom/2
		m.yielded = time.Since(epoch)
	}
	m.since = time.Since(epoch)
	i.give(m)
	running.Add(1)
	defer running.Add(-1)
	defer m.rise()
	var err error
	i.linear.While(func() { err = do(&frame{Context: ctx, inst: i, meter: m}) })
	i.take(m)
	return err
}

// give hands the guest the next slice.
func (i *Instance) give(m *Meter) {
	m.given = 0
	if m.Budget > m.used {
		m.given = min(m.size, int64(min(m.Budget-m.used, math.MaxInt64)))
	}
	if i.fuel != nil {
		i.fuel.Set(uint64(m.given))
	}
}

// take counts what the guest used of its slice.
func (i *Instance) take(m *Meter) {
	if i.fuel != nil {
		m.used += uint64(m.given - int64(i.fuel.Get()))
		m.given = 0
		i.fuel.Set(0)
	}
}

// Charge implements [Guest].
func (i *Instance) Charge(fuel uint64) {
	if i.fuel != nil {
		i.fuel.Set(i.fuel.Get() - min(fuel, maxCharge))
	}
}

// maxCharge keeps what is left of a slice in its 64 bits.
const maxCharge = 1 << 60

// Yield ends the guest's slice when that lasts longer than it should, so that Check is asked when the guest next looks
// at its fuel. What a host function does costs the guest no fuel: without this, a guest that asks for much work
// with few instructions would have the time of thousands of calls before it is asked for its own. The functions
// of [Config].Funcs end with it by themselves. A host function that lasts gives way in it, as guests do at the end of a slice,
// and gives up the seat (see share.go).
func (i *Instance) Yield(m *Meter) {
	if i.fuel != nil && time.Since(epoch)-m.since > 2*sliceTime {
		i.take(m)
		m.rise()
		m.yield(i, true)
	}
}

// refill is the guest's import: its slice is used up.
func refill(ctx context.Context, _ []uint64) {
	f := frameOf(ctx)
	i, m := f.inst, f.meter
	if i.fuel == nil {
		panic(Stop{fmt.Errorf("the module imports %s.%s but exports no global %q", fuelModule, fuelImport, fuelGlobal)})
	}
	i.take(m)
	// Not when they are equal: a slice that ends here must not stop a guest that a longer one would let go on.
	if m.used > m.Budget {
		err := ErrOutOfFuel
		if m.OutOfFuel != nil {
			err = m.OutOfFuel(m.used)
		}
		panic(Stop{err})
	}
	took := time.Since(epoch) - m.since
	m.computed += took
	switch target := min(sliceTime, m.yieldEvery); {
	case took < target/2:
		m.size = min(m.size*2, sliceMax)
	case took > 2*target: // at once: others may wait for each of the next slices
		m.size = max(int64(float64(m.size)*float64(target)/float64(took)), sliceMin)
	}
	// The interrupt, if Check makes one, runs guest code too: it must find fuel.
	i.give(m)
	if m.Check != nil {
		if err := m.Check(ctx, i); err != nil {
			panic(Stop{err})
		}
	}
	m.share(ctx)
	m.since = time.Since(epoch)
}

// maxArgs is how many arguments [Instance.Call] takes, and how long a function's results may be.
const maxArgs = 8

// function is an export with the stack on which calls pass values. wazero tells the types of functions too, but it
// then describes all of them, which for Python are 15 MB for as long as the module is loaded.
type function struct {
	fn      api.Function
	stack   [maxArgs]uint64
	machine reflect.Value // see machineStack
	busy    bool
}

// Call implements [Guest]. ctx must come from [Instance.Run]. An error is a [*Trap], or wraps what a host
// function stopped the run with. Missing arguments are zero; the result of a function that has none means nothing.
func (i *Instance) Call(ctx context.Context, export string, args ...uint64) (uint64, error) {
	f := i.funcs[export]
	if f == nil || f.busy { // a busy one is further down this stack, and its machine stack with it
		var err error
		if f, err = i.function(export); err != nil {
			return 0, err
		}
	}
	if len(args) > maxArgs {
		return 0, fmt.Errorf("call %s: %d arguments are too many", export, len(args))
	}
	clear(f.stack[copy(f.stack[:], args):])
	f.busy = true
	err := f.fn.CallWithStack(ctx, f.stack[:])
	f.busy = false
	if f.deep() && i.funcs[export] == f {
		delete(i.funcs, export)
	}
	if err != nil {
		return 0, trapOf(export, err)
	}
	if i.exc != nil && i.exc.Get() != 0 {
		i.exc.Set(0)
		return 0, &Trap{Reason: "uncaught wasm exception in " + export}
	}
	return f.stack[0], nil
}

func (i *Instance) function(export string) (*function, error) {
	fn := i.mod.ExportedFunction(export)
	if fn == nil {
		return nil, fmt.Errorf("call %s: the module exports no such function", export)
	}
	f := &function{fn: fn, machine: machineStack(fn)}
	if i.funcs[export] == nil {
		i.funcs[export] = f
	}
	return f, nil
}
