package engine

import (
	"errors"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi"
)

// A Trap is a guest stopped by the machine.
type Trap = vm.Trap

// cameBack fills in how a turn ended whose interpreter is in order.
func (r *Result) cameBack(out runtimes.Outcome, d *deadline, memory *limits.ExceededError) {
	r.ExitCode = out.ExitCode
	if out.Error != nil {
		e := Error(*out.Error)
		r.Error = &e
	}
	switch {
	case out.Suspended != nil:
		r.Status = StatusSuspended // also when its time was over a moment later
	case d.byCaller && d.interrupted:
		r.Status, r.ExitCode = StatusCancelled, ExitCancelled
		if r.Error == nil {
			r.Error = &Error{Name: "Cancelled", Value: errInterrupted.Error()}
		}
	case d.interrupted:
		// Whatever it did with the interrupt: its time was over.
		r.limit(StatusTimeout, ExitTimeout, d.error(time.Now()))
	case out.OutOfMemory:
		guest := r.Error
		r.limit(StatusOutOfMemory, ExitOutOfMemory, memory)
		if guest != nil {
			r.Error.Name, r.Error.Value = out.Error.Name, out.Error.Value // the language's own words for it
			r.Error.Hint = memory.Error() + "; " + r.Error.Hint
		}
	case out.Refused:
		r.Status = StatusRefused
	case out.ExitCode != 0 || out.Error != nil:
		r.Status = StatusError
	default:
		r.Status = StatusOK
	}
}

// cutShort fills in how a turn ended that did not come back. The error is not nil when that was no doing of
// the guest's.
func (r *Result) cutShort(err error, denied bool, memory *limits.ExceededError) error {
	if isCancelled(err) {
		r.Status, r.ExitCode = StatusCancelled, ExitCancelled
		r.Error = &Error{Name: "Cancelled", Value: err.Error()}
		return nil
	}
	if _, ok := errors.AsType[*hostfuncs.Suspension](err); ok {
		r.Status = StatusSuspended
		return nil
	}
	if exceeded, ok := errors.AsType[*limits.ExceededError](err); ok {
		if exceeded.Resource == limits.Fuel {
			r.limit(StatusOutOfFuel, ExitTimeout, exceeded)
		} else {
			r.limit(StatusTimeout, ExitTimeout, exceeded)
		}
		return nil
	}
	if exit, ok := errors.AsType[*wasi.ExitError](err); ok {
		r.Status, r.ExitCode = StatusOK, int(exit.Code)
		if exit.Code != 0 {
			r.Status = StatusError
		}
		return nil
	}
	trap, ok := errors.AsType[*vm.Trap](err)
	switch {
	case !ok:
		return err
	case denied:
		// Code that gets no memory and has no way to say so ends in an abort.
		r.limit(StatusOutOfMemory, ExitOutOfMemory, memory)
	default:
		r.Status, r.ExitCode, r.trap = StatusTrapped, ExitTrapped, trap
		r.Error = &Error{Name: "Trap", Value: trap.Reason, Hint: "the interpreter itself failed while running this program"}
		if trap.StackOverflow() {
			r.Error.Hint = "the program recurses too deeply for the sandbox's stack"
		}
	}
	return nil
}

var limitHints = map[limits.Resource]string{
	limits.WallTime: "the program ran longer than its time limit: do less work, or ask for a longer timeout",
	limits.Fuel:     "the program executed more instructions than its fuel limit: do less work, or ask for more fuel",
	limits.Memory:   "the program needs more memory than its limit: work on less data at a time, or ask for more memory",
}

// limit notes that a limit ended the run. A traceback that the guest gave stays: it says where.
func (r *Result) limit(status Status, exit int, e *limits.ExceededError) {
	r.Status, r.ExitCode, r.exceeded = status, exit, e
	if r.Error == nil {
		r.Error = &Error{}
	}
	r.Error.Name, r.Error.Value, r.Error.Hint = "LimitExceeded", e.Error(), limitHints[e.Resource]
}
