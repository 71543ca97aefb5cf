// Package runtimes says what an interpreter is: which pinned artifacts it is made of, how they are baked into
// a module and a memory image, and how a [Driver] runs a piece of source in an instance of it.
//
// A Driver holds no state of a run: everything that lasts is in the guest's memory, everything that belongs
// to one turn is in its [Turn]. One Driver therefore serves any number of instances at once.
package runtimes

import (
	"context"
	"encoding/json"

	"github.com/cloche-dev/cloche/engine/vm"
)

// WorkDir is the guest's working folder: relative paths start there.
const WorkDir = "/data"

// Driver runs one interpreter. Its methods may be called from several goroutines, each with its own Guest.
type Driver interface {
	// Language is the name used in jobs, results and on the command line: "python" or "javascript".
	Language() string

	// HostFuncs are the functions that the interpreter imports besides WASI and fuel.
	HostFuncs() []vm.HostFunc

	// Boot starts the interpreter in an instance whose memory holds only its data segments, and preloads
	// what every run should find ready. It runs once, when the image is baked. What it returns is kept
	// beside the image and given to each Turn (addresses of entry points and the like).
	Boot(ctx context.Context, g vm.Guest) (BootInfo, error)

	// Turn runs t.Source in g. The error is nil whenever the guest came back in order, whatever its
	// program did; a non-nil error means that the instance cannot be used again (trap, stop, exhausted limit).
	Turn(ctx context.Context, g vm.Guest, info BootInfo, t *Turn) (Outcome, error)

	// Interrupt asks the running program to stop at its next chance, by the language's own means. It is
	// called from inside a host function of the running guest (fuel refill, sleep), at the soft deadline.
	Interrupt(ctx context.Context, g vm.Guest, info BootInfo) error

	// Unnoticed says whether the program has yet to notice an Interrupt. It is asked when the guest begins to wait: the interrupt
	// may have come after the guest looked for one last, and would not end the wait then.
	Unnoticed(g vm.Guest, info BootInfo) bool

	// Autopsy has an instance, which was given memory and globals of another one that was stopped in a turn, say where that
	// was and what it holds. Anything may be broken in there: what was told before an error is there beside it. Each part is
	// JSON of at most MaxAutopsy bytes, an object with the fields "frames" or "globals", in the guest's words.
	Autopsy(ctx context.Context, g vm.Guest, info BootInfo) ([]json.RawMessage, error)
}

// MaxAutopsy bounds each part of what is told of a turn that was stopped.
const MaxAutopsy = 256 << 10

// FuelPerByte is what a byte that the host works through costs the guest: about what it computes in the same time.
const FuelPerByte = 4

// BootInfo is what a Driver remembers about its image, in its own JSON.
type BootInfo = json.RawMessage

// Door answers what the guest asks of the host (ops 0x10 and up; see package hostfuncs for the frames).
// A non-nil error ends the run; a refusal that the program may handle is part of the reply.
type Door func(ctx context.Context, request []byte) (reply []byte, err error)

// Turn is one piece of source with all that it is given.
type Turn struct {
	Source string
	// Name is the file name in tracebacks, such as "main.py" or "turn-3.py"; no path of the host.
	Name string
	// Session says that the program's names are kept for a later turn.
	Session bool
	// First is true for the first turn after the instance was made from its image: the driver renews
	// whatever must differ between copies (random seeds).
	First bool
	// Renew asks for the same in an instance that was copied from another, whose generators it has. It means
	// nothing when Seed is set.
	Renew bool
	// Seed fixes the guest's random generators when not nil.
	Seed *uint64
	// Args are the program's arguments, without its name. Env is added to the guest's environment.
	Args []string
	Env  map[string]string
	// Inputs are globals to set before the program runs, each a JSON value.
	Inputs map[string]json.RawMessage
	// Module says that JavaScript source is an ES module whatever it looks like, TypeScript that it has types to be taken off.
	Module, TypeScript bool
	// Paths are folders of modules besides the interpreter's own.
	Paths []string
	// Deny lists the names that the source may not use; see limits.Review. A source that does is not run.
	Deny []string
	// Entropy returns n fresh random bytes (seeded when Seed is set).
	Entropy func(n int) []byte
	// Door answers ops 0x10 and up.
	Door Door
	// Disk tells what the sandbox's files may take and what of that is free. Nil: it is not told.
	Disk func() Space
	// Tools says that the door has tools.
	Tools bool
	// Resume goes on with a suspended turn, whose Outcome.Suspended it is. Source and Name are that turn's; Args, Env, Inputs,
	// Paths and Deny mean nothing.
	Resume json.RawMessage
}

// Space is the room for files in a sandbox.
type Space struct {
	Bytes      uint64 `json:"bytes"`
	FreeBytes  uint64 `json:"free_bytes"`
	Inodes     uint64 `json:"inodes"`
	FreeInodes uint64 `json:"free_inodes"`
}

// Outcome is how a turn ended as the language sees it.
type Outcome struct {
	// ExitCode is the program's own: 0, that of sys.exit or process.exit, or 1 after an uncaught exception.
	ExitCode int
	// Error is set when an exception ended the program. SystemExit is no exception here.
	Error *GuestError
	// Refused says that the source uses what it may not, as Error tells, and was not run.
	Refused bool
	// Interrupted says that the exception which ended it was the one that Interrupt raised.
	Interrupted bool
	// OutOfMemory says that the program ended because the interpreter could not get memory.
	OutOfMemory bool
	// Unreported is what ended the program, in place of Error, if the guest was refused memory: the interpreter had none left
	// to tell. Nil: it could.
	Unreported *GuestError
	// State is what a session's turn did to its names, as the guest tells it: JSON of at most MaxState bytes, or nil.
	State json.RawMessage
	// Suspended says that the turn is not over: it waits for results that come later, and nothing of it is on the machine's
	// stack. It is what the driver needs to go on, besides memory, globals and descriptors. Nil: the turn is over.
	Suspended json.RawMessage
}

// MaxState bounds Outcome.State: a few hundred names with a line each.
const MaxState = 256 << 10

// GuestError is an uncaught exception. Its texts are the guest's and not to be trusted.
type GuestError struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Traceback string `json:"traceback,omitempty"`
	// Line is the innermost line of the user's own source, from 1; 0 when there is none.
	Line int `json:"line,omitempty"`
	// Hint is one sentence that a model can act on.
	Hint string `json:"hint,omitempty"`
}
