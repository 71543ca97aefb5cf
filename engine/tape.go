package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/runtimes"
)

// HostCall is one thing that a program asked of tools or network, or its waiting for them, and what it was answered.
type HostCall struct {
	Op    string `json:"op"` // see docs/door.md
	Asked Digest `json:"asked"`
	// Reply is the answer's payload, unless there is a Refusal.
	Reply   Bytes              `json:"reply,omitempty"`
	Refusal *hostfuncs.Refusal `json:"refusal,omitempty"`
	// Passed is the time of the program's clock that went by meanwhile, in nanoseconds.
	Passed time.Duration `json:"passed,omitempty"`
}

// callOverhead is about how many bytes a HostCall takes besides its texts. Programs may wait and cancel as often as they like.
const callOverhead = 256

// size is about how many bytes the call takes.
func (c *HostCall) size() int {
	n := callOverhead + len(c.Asked.Head) + len(c.Reply)
	if c.Refusal != nil {
		n += len(c.Refusal.Name) + len(c.Refusal.Message)
	}
	return n
}

// A tape is put between a turn and what its door offers besides showing values: it writes down what the host answers, or
// answers in its place.
type tape interface {
	splice(*running, *runtimes.Turn)
}

// recorded are the ops that a tape has.
var recorded = []hostfuncs.Op{
	hostfuncs.OpTool, hostfuncs.OpTools, hostfuncs.OpFetch, hostfuncs.OpRead, hostfuncs.OpWait, hostfuncs.OpCancel,
}

func isRecorded(op string) bool {
	return slices.ContainsFunc(recorded, func(known hostfuncs.Op) bool { return known.String() == op })
}

// recorder is the tape that writes.
type recorder struct {
	calls []HostCall
	bytes int      // of all calls, those that there was no room for included
	waits HostCall // what the program asked for when it was suspended
}

func (t *recorder) splice(r *running, _ *runtimes.Turn) {
	connect := r.door.More
	r.door.More = func() {
		connect()
		r.calls.Repeatable = func() bool { return t.bytes <= maxReceiptAnswers && !r.deadline.interrupted }
		for _, op := range recorded {
			if h := r.door.Handlers[op]; h != nil {
				r.door.Handlers[op] = t.record(r, op, h)
			}
		}
	}
}

func (t *recorder) record(r *running, op hostfuncs.Op, h hostfuncs.Handler) hostfuncs.Handler {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		c, before := HostCall{Op: op.String(), Asked: digest(payload)}, r.passed
		reply, err := h(ctx, payload)
		refusal, refused := err.(*hostfuncs.Refusal)
		if _, ok := err.(*hostfuncs.Suspension); ok {
			t.waits = c
		}
		if err != nil && !refused {
			return nil, err // the run is over, and not by its own doing
		}
		c.Reply, c.Refusal, c.Passed = reply, refusal, r.passed-before
		if t.bytes += c.size(); t.bytes <= maxReceiptAnswers {
			t.calls = append(t.calls, c)
		}
		return reply, err
	}
}

// unrepeatable is why a run that was recorded cannot be replayed, or "".
func (t *recorder) unrepeatable(res *Result) string {
	switch {
	case res.Status == StatusSuspended:
		return "it is not over: it waits for results, with which it can be resumed"
	case res.Status == StatusTimeout:
		return "the wall clock ended it, at a moment that depends on the machine"
	case res.Status == StatusCancelled:
		return "it was cancelled from outside"
	case t.bytes > maxReceiptAnswers:
		return fmt.Sprintf("what it asked its host and was answered has %d bytes, a receipt holds %d", t.bytes, maxReceiptAnswers)
	}
	return ""
}

// player is the tape that answers.
type player struct {
	calls []HostCall
	tools bool
	next  int
}

func (t *player) splice(r *running, turn *runtimes.Turn) {
	turn.Tools = t.tools
	r.door.More = func() {
		r.door.Handlers = map[hostfuncs.Op]hostfuncs.Handler{}
		for _, op := range recorded {
			if t.tools || op != hostfuncs.OpTool && op != hostfuncs.OpTools {
				r.door.Handlers[op] = func(_ context.Context, payload []byte) ([]byte, error) { return t.answer(r, op, payload) }
			}
		}
	}
}

// divergence ends a replay that asks its host for something else than the run did.
type divergence struct{ Difference }

func (d *divergence) Error() string {
	return fmt.Sprintf("the program took another way than it did: %s: expected %s, got %s", d.Field, d.Expected, d.Got)
}

func (t *player) answer(r *running, op hostfuncs.Op, payload []byte) ([]byte, error) {
	asked := HostCall{Op: op.String(), Asked: digest(payload)}
	field := fmt.Sprintf("host_calls[%d]", t.next)
	if t.next >= len(t.calls) {
		return nil, &divergence{Difference{field, "none", brief(asked)}}
	}
	c := t.calls[t.next]
	if found := compare(field, HostCall{Op: c.Op, Asked: c.Asked}, asked); len(found) > 0 {
		return nil, &divergence{found[0]}
	}
	t.next++
	r.pass(c.Passed)
	if c.Refusal != nil {
		return nil, c.Refusal
	}
	return c.Reply, nil
}
