package wasi

import (
	"context"
	"fmt"
	"runtime"
)

// ExitError is what a call ends with when the guest called proc_exit, or proc_raise with a signal that ends it.
// Find it with errors.As in the error of the exported function that was called.
type ExitError struct {
	// Code is what the guest gave. Only the low 8 bits are a process's exit status on POSIX.
	Code uint32
}

func (e *ExitError) Error() string { return fmt.Sprintf("guest exited with code %d", e.Code) }

func (s *State) exit(code uint32) {
	s.exitCode, s.exited = code, true
	panic(&ExitError{Code: code})
}

// procExit implements proc_exit: code. It does not return.
func procExit(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	s.exit(uint32(p[0]))
	return ErrnoSuccess
}

// Signals of preview1 that matter to proc_raise.
const (
	signalNone  = 0
	signalChld  = 16
	signalCont  = 17
	signalStop  = 18
	signalTtou  = 21
	signalUrg   = 22
	signalWinch = 27
	signalSys   = 30
)

// procRaise implements proc_raise: sig. A guest has no handlers that the host knows of, so a signal does what it
// does by default on POSIX: it is ignored, or ends the run as a shell reports it, with 128 plus its number.
//   - EINVAL: no such signal
//   - ENOTSUP: a signal that stops a process (there is nobody to continue it)
func procRaise(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	switch sig := uint32(p[0]); {
	case sig > signalSys:
		return ErrnoInval
	case sig == signalNone, sig == signalChld, sig == signalCont, sig == signalUrg, sig == signalWinch:
		return ErrnoSuccess
	case sig >= signalStop && sig <= signalTtou:
		return ErrnoNotsup
	default:
		s.exit(128 + sig)
		return ErrnoSuccess
	}
}

// schedYield implements sched_yield. It also is a place where a run that is over ends.
func schedYield(ctx context.Context, s *State, _ guestMemory, _ []uint64) Errno {
	s.stopIfOver(ctx)
	runtime.Gosched()
	return ErrnoSuccess
}
