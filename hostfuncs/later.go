package hostfuncs

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrLater is what the Call of a tool returns whose result comes later, from whoever resumes the session: when a turn
// waits for nothing but such calls, it is suspended.
var ErrLater = errors.New("the result comes later")

// Later is the Call of a tool whose results all come later.
func Later(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, ErrLater }

// ErrNoCall is wrapped by the error about a result for which no call waits.
var ErrNoCall = errors.New("no such call waits for a result: it was answered before, given up, or never made")

// PendingCall is a call of a tool whose result comes later.
type PendingCall struct {
	// ID names the call. It has 130 random bits.
	ID        string          `json:"call_id"`
	Name      string          `json:"name"` // of the tool
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// LateCall is a pending call with what its run must know of it to go on.
type LateCall struct {
	PendingCall
	Number uint32    `json:"number"` // the program's name for it
	Begun  time.Time `json:"begun"`
}

// ToolResult answers a pending call: with Result, which is JSON and means null when it is empty, or with Error, as the Call of a [Tool] does.
type ToolResult struct {
	CallID string
	Result json.RawMessage
	Error  error
}

// CheckResults says what is wrong with results that are to answer some of the calls, each of which is answered once.
func CheckResults(calls []LateCall, results []ToolResult) error {
	answered := map[string]bool{}
	for _, r := range results {
		known := slices.ContainsFunc(calls, func(c LateCall) bool { return c.ID == r.CallID })
		var err error
		switch {
		case !known || answered[r.CallID]:
			err = ErrNoCall
		case r.Error != nil && len(r.Result) > 0:
			err = errors.New("it has a result and an error: give one of them")
		case len(r.Result) > maxResult:
			err = fmt.Errorf("its result has %d bytes, more than %d", len(r.Result), maxResult)
		case len(r.Result) > 0 && !json.Valid(r.Result):
			err = errors.New("its result is not JSON")
		}
		if err != nil {
			return fmt.Errorf("call %.64q: %w", r.CallID, err)
		}
		answered[r.CallID] = true
	}
	return nil
}

func newCallID() string { return "call_" + strings.ToLower(rand.Text()) }

// later is the error of a call that was made and whose result comes later.
type later struct{ call LateCall }

func (l *later) Error() string { return ErrLater.Error() }

// setAside keeps p for a result that comes later. Preconditions: mu is held.
func (c *Calls) setAside(p *call, l *later) {
	if err := c.tooMuch(l); err != nil {
		c.finish(p, nil, err)
		return
	}
	l.call.Number = p.id
	c.waitsLong(p, &l.call)
	c.tell()
}

// waitsLong notes that the result of p comes later; noLonger that it is there, or given up. Preconditions: mu is held.
func (c *Calls) waitsLong(p *call, l *LateCall) {
	p.late = l
	c.late++
	c.lateBytes += len(l.Arguments)
}

func (c *Calls) noLonger(p *call) {
	c.late--
	c.lateBytes -= len(p.late.Arguments)
	p.late = nil
}

// tooMuch says why a call cannot be kept until its result comes, or nothing. Preconditions: mu is held.
func (c *Calls) tooMuch(l *later) error {
	if c.lateBytes+len(l.call.Arguments) <= maxLate {
		return nil
	}
	return Refuse("HostCallLimit", "the result of %s comes later, and the arguments of all calls that wait for theirs may have %d bytes: "+
		"put what is long into a file", l.call.Name, maxLate)
}

// setAsideNow is setAside for a call that is not among the pending ones yet; its reply.
func (c *Calls) setAsideNow(size int, l *later, end ending) ([]byte, error) {
	p := &call{end: end, held: size, async: true, done: make(chan struct{}), stop: func() {}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.tooMuch(l); err != nil {
		return answered(end(nil, err))
	}
	if err := c.admit(p); err != nil {
		return nil, err
	}
	c.setAside(p, l)
	return pendingReply(p.id), nil
}

func pendingReply(id uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{asyncPending}, id)
}

// onlyLate answers a wait for calls whose results all come later: the program learns that it is suspended, or, where that
// cannot be, that they fail.
func (c *Calls) onlyLate(ctx context.Context, suspendable bool) ([]byte, error) {
	// Not when its time is over, or it is to be interrupted.
	if _, err := c.wait(ctx, nil, 0); errors.Is(err, ErrInterrupted) {
		return c.take()
	} else if err != nil {
		return nil, err
	}
	if suspendable && c.Suspendable != nil {
		if c.Suspendable() {
			c.suspended = true
			return nil, Refuse("Suspended", "the results come later")
		}
		if !c.spared { // it may have been interrupted on its way here, and see that only now
			c.spared = true
			return nil, nil
		}
	}
	if c.Repeatable != nil && c.Repeatable() {
		return nil, &Suspension{c.takeLate()}
	}
	c.mu.Lock()
	for _, p := range c.lateCalls() {
		name := p.late.Name
		c.noLonger(p)
		c.finish(p, nil, cannotWait(name))
	}
	c.mu.Unlock()
	return c.take()
}

func cannotWait(tool string) error {
	return Refuse("RuntimeError", "the result of %s comes later, and this program cannot be suspended until then: "+
		"await the tool in the code of a session's turn itself (in Python await tools.%s.aio(…), without asyncio.run)", tool, tool)
}

// lateCalls are those whose results come later, in the order in which they were made. Preconditions: mu is held.
func (c *Calls) lateCalls() []*call {
	var all []*call
	for _, p := range c.pending {
		if p.late != nil {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *call) int { return a.late.Begun.Compare(b.late.Begun) })
	return all
}

// Suspend takes the calls out whose results come later, if the program was told that it is suspended until then; else
// it gives none.
func (c *Calls) Suspend() []LateCall {
	if !c.suspended {
		return nil
	}
	return c.takeLate()
}

// A Suspension is the error by which a run ends that is to be run again with the results of Calls.
type Suspension struct {
	// Calls are those that are pending. One that the program waits for in the call itself has no Number, and is the last.
	Calls []LateCall
}

func (s *Suspension) Error() string { return "the run is suspended" }

// block answers a call that waits for a result that comes later: the run is stopped or, where that cannot be, the call
// fails.
func (c *Calls) block(l *later, end ending) ([]byte, error) {
	c.mu.Lock()
	alone := len(c.pending) == c.late // what goes on besides would be lost
	tooMuch := c.tooMuch(l)
	c.mu.Unlock()
	if tooMuch != nil {
		return end(nil, tooMuch)
	}
	if c.Repeatable == nil || !c.Repeatable() || !alone {
		return end(nil, cannotWait(l.call.Name))
	}
	return nil, &Suspension{append(c.takeLate(), l.call)}
}

// takeLate takes the calls out whose results come later.
func (c *Calls) takeLate() []LateCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []LateCall
	for _, p := range c.lateCalls() {
		out = append(out, *p.late)
		c.forget(p)
	}
	return out
}

// adopt takes over a call of a suspended run.
func (c *Calls) adopt(l LateCall, end ending) {
	p := &call{id: l.Number, end: end, held: argumentWeight * len(l.Arguments), async: true, done: make(chan struct{}), stop: func() {}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[p.id] = p
	c.held += p.held
	c.waitsLong(p, &l)
}

// answer gives a call that was adopted its result.
func (c *Calls) answer(number uint32, reply []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[number]
	c.noLonger(p)
	c.finish(p, reply, err)
}

// Resume takes over the calls of a suspended run. CheckResults found nothing wrong with the results, which the program is
// given in their order when it next waits.
func (t *Tools) Resume(calls []LateCall, results []ToolResult) {
	numbers := map[string]uint32{}
	for _, l := range calls {
		numbers[l.ID] = l.Number
		t.Calls.adopt(l, func(reply []byte, err error) ([]byte, error) {
			return t.ended(l.Name, l.Begun, len(l.Arguments), reply, err)
		})
	}
	for _, r := range results {
		reply := []byte(r.Result)
		if r.Error == nil && len(reply) == 0 {
			reply = []byte("null")
		}
		t.Calls.answer(numbers[r.CallID], reply, r.Error)
	}
}
