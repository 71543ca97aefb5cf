package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

var (
	// ErrSuspended is returned by a session whose last turn is suspended, to who asks for another turn.
	ErrSuspended = errors.New("the session is suspended: its last turn waits for the results of calls; resume it, or give it up by going back to an earlier turn")
	// ErrNoCall is returned for a result for which no call waits; each is given once.
	ErrNoCall = hostfuncs.ErrNoCall
)

// suspension is what a suspended turn needs to go on, besides memory, files and descriptors. It is immutable.
type suspension struct {
	Source string               `json:"source"`
	Name   string               `json:"name"`
	Driver json.RawMessage      `json:"driver"` // the driver's part
	Calls  []hostfuncs.LateCall `json:"calls"`
	Tally  map[string]int       `json:"tally"`  // of the calls of tools
	Limits limits.Limits        `json:"limits"` // of the turn; those of the sandbox are left out
	Spent  spent                `json:"spent"`
	// Again says that the state is that before the turn, which is to be run again. Nil: it goes on where it waits.
	Again *turnRecord `json:"again,omitempty"`
}

// spent is what the earlier parts of a turn have used of its limits. The time between the parts is not among it.
type spent struct {
	Wall      time.Duration `json:"wall"`
	Waited    time.Duration `json:"waited"`
	Fuel      uint64        `json:"fuel"`
	HostCalls uint64        `json:"host_calls"`
	Stdout    uint64        `json:"stdout"` // bytes, those that were dropped too
	Stderr    uint64        `json:"stderr"`
	Results   uint64        `json:"results"` // bytes that were kept
}

// pending are the calls for whose results the turn waits. There is none when nothing is suspended.
func (s *suspension) pending() []hostfuncs.PendingCall {
	if s == nil {
		return nil
	}
	calls := make([]hostfuncs.PendingCall, len(s.Calls))
	for i, c := range s.Calls {
		calls[i] = c.PendingCall
	}
	return calls
}

// Resumption is how a suspended turn goes on.
type Resumption struct {
	// ID names this part of the turn, as Turn.ID.
	ID string
	// Results answer pending calls, at least one. The turn goes on with them, and is suspended again if it still
	// waits for others.
	Results []hostfuncs.ToolResult
	// Cancel, instead of Results, interrupts the turn where it waits; its status is cancelled. As with Session.Interrupt the program
	// may clean up, and what the turn did stays.
	Cancel bool
	// Stdin, Stdout, Stderr and OnEvent are as those of a Turn, for this part.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	OnEvent        func(Event)
}

// Resume goes on with a turn whose status was suspended, in this process or another, by the results of calls that it
// waits for. The Result tells what this part of the turn printed, showed and changed; its usage is that of the
// whole turn, for which the turn's limits hold, and the time while it was suspended does not count.
//
// A turn that waits in a call that blocks (Options.Repeatable) was undone, and is run again from its beginning; what it asked of its host is
// answered as it was and not done again, and the Result is that of the whole turn. If it asks for something else than it did, that is an
// error that wraps [ErrInvalid], and it waits on.
//
// A result is given once: when Resume returns, state and store have gone on together; or, when the Result is rolled back
// or nothing ran, are as they were, with the same calls pending. It fails with [ErrNoCall] for a result that no call
// waits for, and when the session is not suspended.
func (s *Session) Resume(ctx context.Context, r Resumption) (*Result, error) {
	if err := s.use(ctx); err != nil {
		return nil, err
	}
	defer s.done()
	from := &resumption{suspension: s.now.suspended, results: r.Results, cancel: r.Cancel}
	if err := from.check(); err != nil {
		return nil, err
	}
	if r.Cancel && from.again() {
		return s.giveUp(r)
	}
	res, err := s.step(ctx, Turn{
		ID: r.ID, Code: from.Source, Name: from.Name, Limits: from.Limits,
		Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr, OnEvent: r.OnEvent,
	}, from)
	if d, ok := errors.AsType[*divergence](err); ok {
		return nil, invalid("%w", d)
	}
	return res, err
}

// resumption is a suspended turn that goes on.
type resumption struct {
	*suspension
	results []hostfuncs.ToolResult
	cancel  bool
}

// again says that a turn is run again; its random generators are then those that it had, in a copy too.
func (f *resumption) again() bool { return f != nil && f.Again != nil }

// resumer is the tape of a turn that is run again.
func (f *resumption) resumer() (*resumer, error) {
	return newResumer(&SuspendedRun{Calls: f.Calls, Tally: f.Tally, Asked: f.Again.Asked}, f.Again.Calls, f.results)
}

func (f *resumption) check() error {
	switch {
	case f.suspension == nil:
		return fmt.Errorf("the session is not suspended: %w", ErrNoCall)
	case f.cancel && len(f.results) > 0:
		return invalid("results for a turn that is to be cancelled")
	case !f.cancel && len(f.results) == 0:
		return invalid("no results to resume with")
	}
	if err := hostfuncs.CheckResults(f.Calls, f.results); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if f.again() && !f.cancel {
		_, err := f.resumer()
		return err
	}
	return nil
}

// giveUp drops a turn that was undone already.
func (s *Session) giveUp(r Resumption) (*Result, error) {
	err := s.hold(nil, s.sb.tree.Snapshot())
	return &Result{
		ID: cmp.Or(r.ID, newID("run_")), Language: s.sb.opts.language(), Status: StatusCancelled, ExitCode: ExitCancelled,
		Error: &Error{Name: "Cancelled", Value: errInterrupted.Error()}, RolledBack: true,
	}, err
}

// hold makes the present state, with these files, one before a turn that is to be run again; or, with nil, before no such.
func (s *Session) hold(t *suspension, files *vfs.Snapshot) error {
	st := *s.now
	st.vm, st.files, st.suspended = s.now.vm.Retain(), files, t
	s.advance(&st)
	return s.persist()
}

// comeBack readies what a suspended turn goes on with, and records how a turn goes that may have to be run again.
func (s *sandbox) comeBack(r *running, turn *runtimes.Turn, t *Turn, from *resumption) error {
	if from != nil && !from.again() {
		r.goOn(from, turn)
		return nil
	}
	if from == nil && !(s.opts.Repeatable && s.session) {
		return nil
	}
	tape, err := s.newTurnTape(turn, from)
	if err != nil {
		return err
	}
	tape.attach(r)
	r.random, t.Stdin = readerFunc(tape.entropy), tape.input(t.Stdin)
	return nil
}

// goOn makes a turn that is about to run the rest of a suspended one.
func (r *running) goOn(from *resumption, t *runtimes.Turn) {
	r.from, r.before, t.Resume = from, from.Spent, from.Driver
	r.deadline.goOn(r.before)
	r.meter.Budget -= min(r.meter.Budget, r.before.Fuel)
	r.stdout.limit -= min(r.stdout.limit, r.before.Stdout)
	r.stderr.limit -= min(r.stderr.limit, r.before.Stderr)
	r.shown.limit -= min(r.shown.limit, r.before.Results)
	r.door.Made = r.before.HostCalls
}

// goOn moves the turn's times as if it had begun earlier.
func (d *deadline) goOn(before spent) {
	d.start, d.soft, d.hard = d.start.Add(-before.Wall), d.soft.Add(-before.Wall), d.hard.Add(-before.Wall)
	d.waited = before.Waited
}

// closed is a channel that is closed.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// atWait is told that a turn waits for calls: there is where one is interrupted that is to be cancelled.
func (r *running) atWait() {
	if r.from != nil && r.from.cancel {
		r.deadline.asked = closed
	}
}

// suspend takes over the calls of a turn that says it is suspended, or that was stopped to be run again. One that says so and
// that nobody told is broken.
func (r *running) suspend(out runtimes.Outcome, err error) runtimes.Outcome {
	if stopped, ok := errors.AsType[*hostfuncs.Suspension](err); ok {
		r.late = stopped.Calls
	}
	if out.Suspended == nil {
		return out
	}
	if r.calls != nil {
		r.late = r.calls.Suspend()
	}
	if len(r.late) == 0 {
		out.Suspended, out.ExitCode = nil, ExitError
		out.Error = &runtimes.GuestError{Name: "SystemError", Value: "the program says that it is suspended, and waits for nothing"}
	}
	return out
}

// suspension is that of a turn whose result was recorded.
func (r *running) suspension(res *Result, t *runtimes.Turn, driver json.RawMessage) *suspension {
	l := r.limits
	var again *turnRecord
	if tape, ok := r.tape.(*turnTape); ok && driver == nil {
		again = tape.wait()
	}
	return &suspension{
		Again: again, Source: t.Source, Name: t.Name, Driver: driver, Calls: r.late, Tally: maps.Clone(r.tools.Tally),
		Limits: limits.Limits{Fuel: l.Fuel, Timeout: l.Timeout, Grace: l.Grace, OutputBytes: l.OutputBytes, ResultBytes: l.ResultBytes, HostCalls: l.HostCalls},
		Spent: spent{
			Wall: res.Usage.Wall, Waited: r.deadline.waited, Fuel: res.Usage.Fuel, HostCalls: r.door.Made,
			Stdout: r.before.Stdout + r.stdout.total, Stderr: r.before.Stderr + r.stderr.total, Results: r.before.Results + r.shown.kept,
		},
	}
}
