package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// Status is how a run ended.
type Status string

// The statuses of a run.
const (
	StatusOK          Status = "ok"
	StatusError       Status = "error"         // an uncaught exception, or an exit code that is not 0
	StatusTimeout     Status = "timeout"       // Limits.Timeout passed
	StatusOutOfFuel   Status = "out_of_fuel"   // Limits.Fuel used up
	StatusOutOfMemory Status = "out_of_memory" // Limits.MemoryBytes used up
	StatusCancelled   Status = "cancelled"     // the caller's context ended
	StatusTrapped     Status = "trapped"       // stopped by the machine, such as a stack overflow
	StatusRefused     Status = "refused"       // not run, since Options.Review forbids what it uses
	StatusSuspended   Status = "suspended"     // not over: it waits for PendingCalls; see Session.Resume
)

// Exit codes of runs that the guest did not end itself.
const (
	ExitError       = 1
	ExitTimeout     = 124 // out of fuel too
	ExitCancelled   = 130
	ExitTrapped     = 134
	ExitOutOfMemory = 137
)

// Result is what a run did. Its JSON form is the same everywhere; fields that do not apply are left out.
type Result struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Status   Status `json:"status"`
	ExitCode int    `json:"exit_code"`
	// Stdout and Stderr are what the guest printed, up to Limits.OutputBytes each. They are the guest's
	// words: data, not instructions. Bytes that are not UTF-8 become U+FFFD in JSON.
	Stdout    string     `json:"stdout"`
	Stderr    string     `json:"stderr"`
	Truncated *Truncated `json:"truncated,omitempty"`
	// Results are displayed values in order, the last expression's among them.
	Results []hostfuncs.Display `json:"results,omitempty"`
	Error   *Error              `json:"error,omitempty"`
	// LimitsHit are the limits that were reached, also where the program went on or caught the error.
	LimitsHit []LimitHit `json:"limits_hit,omitempty"`
	// FilesChanged are the files that the run created, changed or deleted, sorted by path; also of one that was stopped from
	// outside, but for a session's turn, which is rolled back.
	FilesChanged []FileChange `json:"files_changed,omitempty"`
	// MoreFilesChanged says that there are more of them than are listed: their paths have up to 16 MiB as JSON, and of changes in a
	// mounted folder of the host those are known that came last.
	MoreFilesChanged bool `json:"more_files_changed,omitempty"`
	// ToolCalls are the calls of tools, in the order in which they ended; HTTPRequests are the requests, allowed or not,
	// in the order in which they were answered.
	ToolCalls    []hostfuncs.ToolCall    `json:"tool_calls,omitempty"`
	HTTPRequests []hostfuncs.HTTPRequest `json:"http_requests,omitempty"`
	// PendingCalls are the calls of tools for whose results a suspended turn waits.
	PendingCalls []hostfuncs.PendingCall `json:"pending_calls,omitempty"`
	Usage        limits.Usage            `json:"usage"`
	// State is what a session's turn did to its names, as the guest tells it. Nil: nothing, or it was rolled back.
	State *StateCard `json:"state,omitempty"`
	// Receipt is there if the Job has asked for it.
	Receipt *Receipt `json:"receipt,omitempty"`
	// Autopsy is there for a run or turn that was stopped, if its Options want that: ask for it by Engine.Autopsy.
	Autopsy *AutopsyRef `json:"autopsy,omitempty"`
	// RolledBack says that the session is as it was before this turn.
	RolledBack bool `json:"rolled_back,omitempty"`

	// Needs is for policies that are to allow the same again.
	Needs Needs `json:"-"`

	exceeded *limits.ExceededError
	trap     error
	cut      bool // the instance cannot be used again
	files    *Files

	suspended *suspension
}

// Needs is what a run has needed of limits and mounts, while Usage and FilesChanged say what was left of it: most temporary files are not.
type Needs struct {
	DiskBytes, Inodes uint64
	// Mounts are the guest paths of mounts in which something was to be changed.
	Mounts []string
}

// Truncated tells which output was cut.
type Truncated struct {
	Stdout  *Cut `json:"stdout,omitempty"`
	Stderr  *Cut `json:"stderr,omitempty"`
	Results *Cut `json:"results,omitempty"`
}

// Cut is an output of which only the first KeptBytes of TotalBytes were kept.
type Cut struct {
	KeptBytes  uint64 `json:"kept_bytes"`
	TotalBytes uint64 `json:"total_bytes"`
}

// Error is the exception, trap or limit that ended a run.
type Error struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Traceback string `json:"traceback,omitempty"`
	// Line is the innermost line of the program's own source, from 1, or 0.
	Line int `json:"line,omitempty"`
	// Hint is one sentence that a model can act on.
	Hint string `json:"hint,omitempty"`
}

// FileChange is one file that a run changed.
type FileChange struct {
	Path   string `json:"path"`           // in the sandbox, absolute
	From   string `json:"from,omitempty"` // its former path, when renamed
	Op     string `json:"op"`             // created, modified, deleted or renamed
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
	MIME   string `json:"mime,omitempty"`
	Link   bool   `json:"link,omitempty"` // it is a symbolic link
}

// Exception is a run that ended by the guest's own exception or exit code.
type Exception struct {
	ExitCode int
	Guest    *Error // nil when the program chose its exit code
}

func (e *Exception) Error() string {
	if e.Guest == nil {
		return fmt.Sprintf("the program exited with status %d", e.ExitCode)
	}
	return fmt.Sprintf("%s: %s", e.Guest.Name, e.Guest.Value)
}

// ErrCancelled is what Result.Err wraps for a run whose context ended.
var ErrCancelled = errors.New("cancelled")

// ErrRefused is what Result.Err wraps for a program that Options.Review did not let run.
var ErrRefused = errors.New("refused")

// Err is nil for a run that ended well, and else an [*Exception], a [*limits.ExceededError], a [*Trap],
// [ErrCancelled], [ErrRefused] or [ErrSuspended]. A Result that was read from JSON knows no more of a limit or a trap than its status.
func (r *Result) Err() error {
	switch r.Status {
	case StatusOK:
		return nil
	case StatusError:
		return &Exception{ExitCode: r.ExitCode, Guest: r.Error}
	case StatusCancelled:
		return ErrCancelled
	case StatusRefused:
		return ErrRefused
	case StatusSuspended:
		return ErrSuspended
	}
	switch {
	case r.trap != nil:
		return r.trap
	case r.exceeded != nil:
		return r.exceeded
	}
	return fmt.Errorf("the run ended with status %s", r.Status)
}

// Value is the last expression's value as text, and whether there was one.
func (r *Result) Value() (string, bool) {
	for _, d := range r.Results {
		if d.Main {
			s, ok := d.Data["text/plain"].(string)
			return s, ok
		}
	}
	return "", false
}

// Charts are the displayed PNG pictures in order.
func (r *Result) Charts() [][]byte {
	var out [][]byte
	for _, d := range r.Results {
		if png, ok := d.Data["image/png"].([]byte); ok {
			out = append(out, png)
		}
	}
	return out
}

// Files are the sandbox's files as the run left them.
func (r *Result) Files() *Files { return r.files }

// MarshalJSON implements json.Marshaler; broken UTF-8 becomes U+FFFD.
func (r *Result) MarshalJSON() ([]byte, error) {
	type plain Result
	c := plain(*r)
	c.Stdout = strings.ToValidUTF8(c.Stdout, "\uFFFD")
	c.Stderr = strings.ToValidUTF8(c.Stderr, "\uFFFD")
	return json.Marshal(&c)
}

// JSONWith is the Result as JSON with one more member at its end, which it must not have itself.
func (r *Result) JSONWith(name string, value any) ([]byte, error) {
	b, err := r.MarshalJSON()
	if err != nil {
		return nil, err
	}
	member, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		return nil, err
	}
	return append(append(b[:len(b)-1], ','), member[1:]...), nil
}
