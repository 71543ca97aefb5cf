package vm

import (
	"errors"
	"strings"
)

// ErrOutOfFuel ends a run whose budget is used up, unless its Meter says otherwise.
var ErrOutOfFuel = errors.New("out of fuel")

// Error is the reason; a Stop is an error so that wazero wraps it as one.
func (s Stop) Error() string {
	if s.Err == nil {
		return "stopped"
	}
	return s.Err.Error()
}

// Unwrap gives the reason.
func (s Stop) Unwrap() error { return s.Err }

// A Trap is a guest stopped by the machine: unreachable, out of bounds, stack overflow, an exception that
// nothing caught, or a fault in a host function.
type Trap struct {
	// Reason is one line, such as "unreachable".
	Reason string
	// Stack are the wasm functions, innermost first, as far as the machine noted them.
	Stack []string
	// Fault are Go's words for a fault in a host function, which is a fault of this program: for its log, not for whoever
	// sent the guest.
	Fault string
}

func (t *Trap) Error() string { return "trap: " + t.Reason }

// StackOverflow says whether the guest used up the machine's stack.
func (t *Trap) StackOverflow() bool { return strings.Contains(t.Reason, "stack overflow") }

// trapOf sorts what wazero returned: the reason of a Stop (or of another host function's own panic with an
// error), or a trap.
func trapOf(export string, err error) error {
	text, stack, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n")
	fault := ""
	if inner, ok := strings.CutSuffix(text, " (recovered by wazero)"); ok {
		var stop Stop
		if errors.As(err, &stop) && stop.Err != nil {
			return stop.Err
		}
		if cause := errors.Unwrap(err); cause != nil && !isRuntimeError(cause) {
			return cause
		}
		text, fault = "fault in a host function called by "+export, inner
	}
	t := &Trap{Reason: strings.TrimPrefix(text, "wasm error: "), Fault: fault}
	wasmStack, _, _ := strings.Cut(stack, "\n\nGo runtime stack trace:\n")
	for line := range strings.Lines(wasmStack) {
		if line = strings.TrimSpace(line); line != "" {
			t.Stack = append(t.Stack, line)
		}
	}
	return t
}

// isRuntimeError tells a fault of our own code from an error that a host function meant to end the run with.
func isRuntimeError(err error) bool {
	var r interface{ RuntimeError() }
	return errors.As(err, &r)
}
