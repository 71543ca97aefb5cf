package rewrite

import (
	"fmt"
	"sync/atomic"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// Costs in units of fuel. An instruction costs 1; block, loop, else, end and nop, which do nothing, cost nothing,
// and so does the look at the pending exception that lowerExceptions puts after calls. Changing one of these numbers
// changes Version.
const (
	callCost     = 3   // of call
	indirectCost = 6   // of call_indirect and call_ref
	brTableCost  = 2   // of br_table
	growCost     = 512 // of memory.grow, per page

	// bytesPerFuel is how many bytes of a bulk memory instruction cost one unit, a power of two.
	bytesPerFuel = 2

	// tinyCost is the cost up to which a function without loops and calls is paid for by its callers: a direct call
	// costs the whole function more. Indirect callers pay nothing for it, indirectCost includes that.
	tinyCost = 12

	// ahead is how much of what may come next is charged in advance. Less is more exact and slower.
	ahead = 32

	// maxUnchecked bounds the cost of a function, with the functions it calls, during which fuel is not checked.
	maxUnchecked = 500_000

	// chunkBytes is the length above which a bulk memory instruction is run in pieces of that length.
	chunkBytes = 1 << 20

	// inlineBytes is the constant length up to which a bulk memory instruction stays as it is.
	inlineBytes = 1 << 10
)

// addFuel makes the module count the instructions that it executes, and call a host function when it has used up
// its slice. $fuel is a global that counts down.
//
// A function is cut into segments: stretches of instructions without a branch into or out of them. What a segment
// costs is taken from $fuel when it is entered. Loop headers and some function entries also check:
//
//	                            global.get $fuel   i64.const 7   i64.sub   global.set $fuel
//	loop                        loop
//	                              global.get $fuel   i64.const 5   i64.sub   global.set $fuel
//	                              global.get $fuel   i64.const 0   i64.ge_s
//	                              if
//	                              else
//	                                call $refill
//	                              end
//	  (4 instructions)            (4 instructions)
//	  br_if 0                     br_if 0
//	end                         end
//	(7 instructions)            (7 instructions)
//
// A segment that costs little is not charged where it begins but with a segment that every way to it has passed, up to
// [ahead] units for each place that charges, whether it is then reached or not. Above, what follows the loop is charged
// before it. So the count follows the path taken, with a tolerance; it depends on the code and its input only,
// not on the size of a slice, the machine or the time.
//
// Checks are at every loop header, since a loop is left or comes back to it, and at the entries that
// chooseEntries picks, so that no recursion and no tree of calls gets around them. What lies between two checks
// is bounded by the code, not by data, except when a deep recursion returns: then by the depth of the stack.
// The check's hot arm comes first because wazero's register allocator goes on from there: values stay in registers, and
// only the cold arm saves and restores them.
//
// Bulk instructions are charged by their length before they run, see fuelbulk.go.
//
// Exceptions must have been lowered: throw and try_table are refused. Function indices shift by one, for
// the imported refill function.
func addFuel(m *wasmbin.Module, names *funcNames) (PassReport, error) {
	report := PassReport{Pass: "fuel", CodeBefore: codeSize(m)}
	f := fueling{m: m, refill: uint32(m.Imported(wasmbin.KindFunc)), excTag: exportedGlobal(m, ExcTag)}
	f.calls = make([]callSummary, len(m.Funcs))
	err := eachFunc(m, func(i int) (err error) {
		f.calls[i], err = f.summarize(&m.Funcs[i])
		return err
	})
	if err != nil {
		return report, err
	}
	if f.entries, err = f.chooseEntries(); err != nil {
		return report, err
	}
	if f.global, err = addGlobal(m, wasmbin.I64, FuelGlobal); err != nil {
		return report, err
	}
	if err := f.addBulkHelpers(names); err != nil {
		return report, err
	}

	var charges, checks atomic.Int64
	bodies := make([][]byte, len(f.calls)) // of the helpers there are none
	err = eachFunc(m, func(i int) error {
		if i >= len(bodies) {
			return nil
		}
		w := fuelWriter{fueling: &f, plan: plan{fueling: &f}, checkEntry: f.entries[i], tiny: f.calls[i].tiny()}
		body, err := w.write(&m.Funcs[i])
		bodies[i] = body
		charges.Add(int64(w.charges))
		checks.Add(int64(w.checks))
		return err
	})
	if err != nil {
		return report, err
	}
	for i := range bodies {
		m.Funcs[i].Body = bodies[i]
	}
	importRefill(m, f.refill, names)

	entries := 0
	for _, checked := range f.entries {
		if checked {
			entries++
		}
	}
	report.Funcs, report.CodeAfter = len(bodies), codeSize(m)
	report.Detail = fmt.Sprintf("%d charges, %d checks, %d of them at function entries", charges.Load(), checks.Load(), entries)
	return report, nil
}

// fueling is what the work on all functions shares.
type fueling struct {
	m       *wasmbin.Module
	refill  uint32        // index that the refill function will have; functions from there on move up by one
	global  uint32        // $fuel
	excTag  uint32        // the pending exception's tag, or noIndex
	calls   []callSummary // of defined functions
	entries []bool        // of defined functions: fuel is checked when the function is entered
	helpers map[bulkOp]uint32
}

const noIndex = ^uint32(0)

// exportedGlobal finds a global by its export, noIndex when there is none.
func exportedGlobal(m *wasmbin.Module, name string) uint32 {
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindGlobal && e.Name == name {
			return e.Index
		}
	}
	return noIndex
}

// tinyCall is what a direct call costs in addition because it calls a tiny function.
func (f *fueling) tinyCall(callee uint32) int {
	if i := int64(callee) - int64(f.refill); i >= 0 && i < int64(len(f.calls)) && f.calls[i].tiny() {
		return f.calls[i].cost
	}
	return 0
}

// charge takes a constant from $fuel.
func (f *fueling) charge(out *code, cost int) {
	out.index(wasmbin.OpGlobalGet, f.global)
	out.i64(int64(cost))
	out.op(wasmbin.OpI64Sub)
	out.index(wasmbin.OpGlobalSet, f.global)
}

// check calls refill when $fuel is negative.
func (f *fueling) check(out *code) {
	out.index(wasmbin.OpGlobalGet, f.global)
	out.i64(0)
	out.op(wasmbin.OpI64GeS)
	out.block(wasmbin.OpIf, wasmbin.EmptyBlock)
	out.op(wasmbin.OpElse)
	out.index(wasmbin.OpCall, f.refill)
	out.op(wasmbin.OpEnd)
}

// fuelWriter rewrites one function.
type fuelWriter struct {
	*fueling
	plan
	editor
	checkEntry bool
	tiny       bool
	charges    int
	checks     int
}

func (w *fuelWriter) write(fn *wasmbin.Func) ([]byte, error) {
	locals, expr, err := wasmbin.SplitBody(fn.Body)
	if err != nil {
		return nil, err
	}
	if err := w.cut(expr); err != nil {
		return nil, err
	}
	w.assign()
	if w.tiny {
		w.segments[0].charge = 0
	}
	w.start(expr, locals)
	next := 0
	var last wasmbin.Instr
	r := wasmbin.NewInstrReader(expr)
	for in := (wasmbin.Instr{}); r.Next(&in); {
		for ; next < len(w.segments) && w.segments[next].start <= in.Start; next++ {
			w.enter(next)
		}
		w.instr(&in, &last)
		last.Op, last.Value = in.Op, in.Value
	}
	w.flushTo(len(expr))
	return w.out, r.Err()
}

// enter writes what happens at the beginning of a segment.
func (w *fuelWriter) enter(i int) {
	s := &w.segments[i]
	check := s.loop || i == 0 && w.checkEntry
	if s.charge == 0 && !check {
		return
	}
	w.flushTo(s.start)
	if s.charge > 0 {
		w.fueling.charge(&w.out, s.charge)
		w.charges++
	}
	if check {
		w.check(&w.out)
		w.checks++
	}
}

// instr replaces instructions that name a function, and bulk instructions that have a helper.
func (w *fuelWriter) instr(in, last *wasmbin.Instr) {
	switch in.Op {
	case wasmbin.OpCall, wasmbin.OpReturnCall, wasmbin.OpRefFunc:
		if in.Index >= w.refill {
			w.flush(in)
			w.out.index(in.Op, in.Index+1)
		}
	default:
		if op, ok := bulkOf(in, last); ok {
			w.flush(in)
			w.out.index(wasmbin.OpCall, w.helpers[op])
		}
	}
}
