package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Tools answers the calls that one run makes of the tools of a [Registry]. Its methods are called by the run's
// goroutine.
type Tools struct {
	// Registry is what is offered. Nil: nothing.
	Registry *Registry
	// Calls are the run's.
	Calls *Calls
	// Record is told of each call when it is over. Nil: nobody is.
	Record func(ToolCall)
	// Log gets a record per call, with what a failed tool said, which the program does not see. Nil: none.
	Log *slog.Logger
	// Tally counts the calls that were made, by name, against the budgets. A run that goes on from another begins with its.
	Tally map[string]int
}

// Handlers are those of the tool ops; none when nothing is offered.
func (t *Tools) Handlers() map[Op]Handler {
	if t.Registry.Empty() {
		return nil
	}
	return map[Op]Handler{OpTool: t.handle, OpTools: t.declare}
}

// Bounds of a call, in bytes. Arguments that are read into values of any kind take several times their size, for which
// argumentWeight stands.
const (
	maxArguments   = 4 << 20
	argumentWeight = 8
	maxResult      = 8 << 20
)

// handle answers [OpTool]: {"name": tool, "arguments": {...}, "async": bool}. The reply is the result, JSON; when async, a
// byte: 0 and the id of the call, or 1 and the frame of a reply that is there already.
func (t *Tools) handle(ctx context.Context, payload []byte) ([]byte, error) {
	q, plain := t.plainRequest(payload)
	if !plain {
		var err error
		if q, err = decodeRequest(payload); err != nil {
			return nil, Refuse("ValueError", "tool frame: %v", err)
		}
	}
	begun := time.Now()
	tool, err := t.admit(q.name, q.arguments)
	if err != nil {
		return t.ended(q.name, begun, len(q.arguments), nil, err)
	}
	work := func(ctx context.Context) ([]byte, error) { return t.call(ctx, tool, q, begun) }
	end := func(reply []byte, err error) ([]byte, error) {
		return t.ended(q.name, begun, len(q.arguments), reply, err)
	}
	if tool.Quick {
		return t.Calls.Now(argumentWeight*len(payload), q.async, work, end)
	}
	return t.Calls.Do(ctx, argumentWeight*len(payload), q.async, work, end)
}

// decodeRequest reads any tool frame.
func decodeRequest(payload []byte) (toolRequest, error) {
	q := toolRequest{arguments: json.RawMessage("{}")}
	attached, err := DecodeFrame(payload, func(field string, value json.RawMessage) (bool, error) {
		switch field {
		case "name":
			var ok bool
			if q.name, ok = jsonString(value); !ok {
				return true, errors.New("not a string")
			}
		case "arguments":
			q.arguments = value
		case "async":
			q.async = string(value) == "true"
		default:
			return false, nil
		}
		return true, nil
	})
	if err == nil && len(attached) > 0 {
		err = fmt.Errorf("%d bytes are attached that nothing names", len(attached))
	}
	return q, err
}

// notCalled is an error of a call that was not made, by one of the rules of [ToolCall].
type notCalled struct {
	error
	rule string
}

func (e notCalled) Unwrap() error { return e.error }

// admit decides whether a call may be made, and counts it.
func (t *Tools) admit(name string, arguments json.RawMessage) (*tool, error) {
	tool := t.Registry.tools[name]
	if tool == nil {
		return nil, notCalled{Refuse("AttributeError", "there is no tool %.64q", name), RuleUnknown}
	}
	if t.Tally == nil {
		t.Tally = map[string]int{}
	}
	switch max := t.Registry.MaxCalls; {
	case max > 0 && t.made() >= max:
		return nil, notCalled{Refuse("ToolLimit", "this run may make %d calls of tools", max), RuleRunCalls}
	case tool.MaxCalls > 0 && t.Tally[name] >= tool.MaxCalls:
		return nil, notCalled{Refuse("ToolLimit", "this run may call %s %d times", name, tool.MaxCalls), RuleToolCalls}
	}
	if len(arguments) > maxArguments {
		return nil, notCalled{Refuse("ValueError", "%s: the arguments have %d bytes, more than %d", name, len(arguments), maxArguments), RuleSize}
	}
	t.Tally[name]++
	return tool, nil
}

// made is the number of calls that were made.
func (t *Tools) made() int {
	n := 0
	for _, calls := range t.Tally {
		n += calls
	}
	return n
}

// call makes a call that was asked for when begun.
func (t *Tools) call(ctx context.Context, tool *tool, q toolRequest, begun time.Time) ([]byte, error) {
	if tool.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, tool.Timeout, errToolTime)
		defer stop()
	}
	if err := tool.schema.check(q); err != nil {
		return nil, notCalled{Refuse("TypeError", "%s: %.500s", tool.Name, err), RuleSchema}
	}
	if gate := t.Registry.Gate; gate != nil {
		if err := gate(ctx, tool.Name, q.arguments); err != nil {
			return nil, notCalled{err, RuleGate}
		}
	}
	result, err := tool.answer(ctx, q)
	switch {
	case errors.Is(err, ErrLater):
		return nil, &later{LateCall{PendingCall: PendingCall{ID: newCallID(), Name: tool.Name, Arguments: q.arguments}, Begun: begun}}
	case err != nil && context.Cause(ctx) == errToolTime:
		return nil, errToolTime
	case err != nil:
		return nil, err
	case len(result) > maxResult:
		return nil, fmt.Errorf("its result has %d bytes, more than %d", len(result), maxResult)
	case len(result) == 0:
		return []byte("null"), nil
	case !tool.schema.typed && !json.Valid(result):
		return nil, errors.New("its result is not JSON")
	}
	return result, nil
}

// answer calls the tool. One whose time is bounded is left alone when that is over, whether it heeds its context or not.
func (t *tool) answer(ctx context.Context, q toolRequest) (json.RawMessage, error) {
	call := func() (json.RawMessage, error) {
		if t.typed != nil && q.members != nil {
			return t.typed(ctx, q.arguments, q.members)
		}
		return t.Call(ctx, q.arguments)
	}
	if t.Timeout == 0 {
		return call()
	}
	type answer struct {
		result json.RawMessage
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if fault := recover(); fault != nil {
				a.err = fmt.Errorf("fault: %v", fault)
			}
			done <- a
		}()
		a.result, a.err = call()
	}()
	select {
	case a := <-done:
		return a.result, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errToolTime = errors.New("the tool took longer than it may")

// ended records how a call went, and says what the program is to see.
func (t *Tools) ended(name string, begun time.Time, size int, result []byte, err error) ([]byte, error) {
	took := time.Since(begun)
	if err == nil {
		t.tell(ToolCall{Name: name, Outcome: OutcomeOK, RequestBytes: size, ReplyBytes: len(result)}, took, nil)
		return result, nil
	}
	var outcome string
	seen := err
	skipped, isSkipped := errors.AsType[notCalled](err)
	refusal, isRefusal := errors.AsType[*Refusal](err)
	switch {
	case errors.Is(err, context.Canceled) && !isSkipped:
		outcome, seen = OutcomeCancelled, Refuse("CancelledError", "the call was cancelled")
	case errors.Is(err, errToolTime):
		outcome, seen = OutcomeTimeout, Refuse("TimeoutError", "%s took longer than it may", name)
	case isSkipped:
		outcome, seen = OutcomeRefused, Refuse("PermissionError", "%.64s may not be called so", name)
	default:
		outcome, seen = OutcomeError, Refuse("ToolError", "the tool %s failed", name)
	}
	if isRefusal {
		seen = refusal
	}
	if isSkipped {
		err = skipped.error
	}
	t.tell(ToolCall{Name: cut(name, 64), Outcome: outcome, RequestBytes: size, ReplyBytes: len(result), Rule: skipped.rule}, took, err)
	return result, seen
}

// tell records a call that took that long, and failed by err if that is not nil.
func (t *Tools) tell(c ToolCall, took time.Duration, err error) {
	c.Milliseconds = milliseconds(took)
	if t.Record != nil {
		t.Record(c)
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
	}
	if t.Log == nil || !t.Log.Enabled(context.Background(), level) {
		return
	}
	attrs := []slog.Attr{slog.String("tool", c.Name), slog.String("outcome", c.Outcome), slog.Duration("took", took),
		slog.Int("request_bytes", c.RequestBytes), slog.Int("reply_bytes", c.ReplyBytes)}
	if c.Rule != "" {
		attrs = append(attrs, slog.String("rule", c.Rule))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	t.Log.LogAttrs(context.Background(), level, "tool call", attrs...)
}

// milliseconds are those of a record, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cut is s, or its first n bytes.
func cut(s string, n int) string { return s[:min(len(s), n)] }
