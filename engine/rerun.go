package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/runtimes"
)

// SuspendedRun is where a recorded run waits for the results of calls.
type SuspendedRun struct {
	Calls []hostfuncs.LateCall `json:"calls"`
	Tally map[string]int       `json:"tally"` // of the calls of tools
	// Asked is what the program asked its host for last: the call itself, or to wait.
	Asked HostCall `json:"asked"`
}

// blocking is the call in which the program waits, or nil when it waits for others, which go on.
func (s *SuspendedRun) blocking() *hostfuncs.LateCall {
	if last := &s.Calls[len(s.Calls)-1]; last.Number == 0 {
		return last
	}
	return nil
}

// check finds what is wrong with what a receipt says.
func (s *SuspendedRun) check() error {
	if s == nil {
		return nil
	}
	if len(s.Calls) == 0 {
		return badReceipt("it waits for nothing")
	}
	ids, numbers := map[string]bool{}, map[uint32]bool{}
	for i, c := range s.Calls {
		if ids[c.ID] || numbers[c.Number] || c.Number == 0 && i < len(s.Calls)-1 {
			return badReceipt("pending call %d is there twice, or out of place", i)
		}
		ids[c.ID], numbers[c.Number] = true, true
	}
	return nil
}

// Resume goes on with a run that was recorded (Job.Receipt) and is suspended, by the results of calls that it waits for. What
// is on the machine's stack cannot be kept, so the run begins anew: with the clock and the seed that it had it takes the same
// way, what it asks of its host is answered from the receipt, and not done again, and from where it was
// suspended on it runs as it would have.
//
// Of j only ID, Stdout, Stderr, OnEvent, Network and Tools matter. The Result is that of the whole run, but that its ToolCalls
// and HTTPRequests are those made now; it has a receipt. A program that asks for something else than it did is an error that wraps
// [ErrReceipt]; a result for a call that does not wait is one that wraps [ErrNoCall]. A receipt can be resumed as often as
// somebody likes, each time from the same place: who keeps it sees to it that it is done once.
func (e *Engine) Resume(ctx context.Context, r *Receipt, j Job, results ...hostfuncs.ToolResult) (*Result, error) {
	if err := e.canRun(ctx, r); err != nil {
		return nil, err
	}
	if r.Suspended == nil {
		return nil, badReceipt("the run is not suspended: %w", ErrNoCall)
	}
	if err := hostfuncs.CheckResults(r.Suspended.Calls, results); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	answers, err := newResumer(r.Suspended, r.HostCalls, results)
	if err != nil {
		return nil, err
	}
	answers.played.tools = r.Job.Tools
	again := r.again(j)
	again.Network, again.Tools = j.Network, j.Tools
	res, err := e.run(ctx, again, answers)
	if d, ok := errors.AsType[*divergence](err); ok {
		return nil, badReceipt("%w", d)
	}
	if err != nil {
		return res, err
	}
	if err := answers.unfinished(res); err != nil {
		return nil, badReceipt("%w", err)
	}
	next := *r
	next.finish(&answers.recorder, res)
	return res, nil
}

// unfinished is an error if the run has ended, by its own doing, before it came to where it was suspended.
func (t *resumer) unfinished(res *Result) error {
	n := len(t.played.calls)
	if t.played.next == n || res.Status == StatusTimeout || res.Status == StatusCancelled {
		return nil
	}
	return &divergence{Difference{"host_calls", fmt.Sprint(n), fmt.Sprint(t.played.next)}}
}

// resumer is the tape of a run that was suspended: it answers from the record as far as that goes, and then writes on.
type resumer struct {
	recorder
	from    *SuspendedRun // nil: it begins
	played  player
	results []hostfuncs.ToolResult // of calls that go on
}

// newResumer is the tape by which a run goes on.
func newResumer(s *SuspendedRun, calls []HostCall, results []hostfuncs.ToolResult) (*resumer, error) {
	t := &resumer{from: s, results: results}
	t.calls = slices.Clone(calls)
	if call := s.blocking(); call != nil {
		i := slices.IndexFunc(results, func(t hostfuncs.ToolResult) bool { return t.CallID == call.ID })
		if i < 0 {
			return nil, invalid("the program waits in call %s: give its result", call.ID)
		}
		t.calls = append(t.calls, answered(s.Asked, call.Name, results[i]))
		t.results = slices.Delete(slices.Clone(results), i, i+1)
	}
	for _, c := range t.calls {
		t.bytes += c.size()
	}
	t.played.calls = t.calls
	return t, nil
}

// answered is a host call with the result of the tool that it called.
func answered(c HostCall, tool string, result hostfuncs.ToolResult) HostCall {
	c.Reply = Bytes(cmp.Or(string(result.Result), "null"))
	if result.Error != nil {
		c.Reply = nil
		if refusal, ok := errors.AsType[*hostfuncs.Refusal](result.Error); ok {
			c.Refusal = refusal
		} else {
			c.Refusal = &hostfuncs.Refusal{Name: "ToolError", Message: "the tool " + tool + " failed"}
		}
	}
	return c
}

func (t *resumer) splice(r *running, turn *runtimes.Turn) {
	t.recorder.splice(r, turn)
	if t.from == nil {
		return
	}
	turn.Tools = t.played.tools
	record := r.door.More
	r.door.More = func() {
		record()
		r.tools.Tally = maps.Clone(t.from.Tally)
		r.tools.Resume(slices.DeleteFunc(slices.Clone(t.from.Calls), func(c hostfuncs.LateCall) bool { return c.Number == 0 }), t.results)
		for _, op := range recorded {
			if live := r.door.Handlers[op]; live != nil || t.played.tools {
				r.door.Handlers[op] = t.after(r, op, live)
			}
		}
	}
}

// after answers from the record while there is some left, and then as live does.
func (t *resumer) after(r *running, op hostfuncs.Op, live hostfuncs.Handler) hostfuncs.Handler {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		switch {
		case t.played.next < len(t.played.calls):
			return t.played.answer(r, op, payload)
		case live == nil:
			return nil, hostfuncs.Refuse("PermissionError", "%s is not offered to this run any more", op)
		}
		return live(ctx, payload)
	}
}
