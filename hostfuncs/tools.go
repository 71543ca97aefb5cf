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
	var name string
	var arguments json.RawMessage
	async := false
	attached, err := DecodeFrame(payload, func(field string, value json.RawMessage) (bool, error) {
		switch field {
		case "name":
			var ok bool
			if name, ok = jsonString(value); !ok {
				return true, errors.New("not a string")
			}
		case "arguments":
			arguments = value
		case "async":
			async = string(value) == "true"
		default:
			return false, nil
		}
		return true, nil
	})
	if err == nil && len(attached) > 0 {
		err = fmt.Errorf("%d bytes are attached that nothing names", len(attached))
	}
	if err != nil {
		return nil, Refuse("ValueError", "tool frame: %v", err)
	}
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	begun := time.Now()
	tool, err := t.admit(name, arguments)
	if err != nil {
		return t.ended(name, begun, len(arguments), nil, err)
	}
	work := func(ctx context.Context) ([]byte, error) { return t.call(ctx, tool, arguments, begun) }
	end := func(reply []byte, err error) ([]byte, error) { return t.ended(name, begun, len(arguments), reply, err) }
	if tool.Quick {
		return t.Calls.Now(argumentWeight*len(payload), async, work, end)
	}
	return t.Calls.Do(ctx, argumentWeight*len(payload), async, work, end)
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
func (t *Tools) call(ctx context.Context, tool *tool, arguments json.RawMessage, begun time.Time) ([]byte, error) {
	if tool.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, tool.Timeout, errToolTime)
		defer stop()
	}
	if err := tool.schema.check(arguments); err != nil {
		return nil, notCalled{Refuse("TypeError", "%s: %.500s", tool.Name, err), RuleSchema}
	}
	if gate := t.Registry.Gate; gate != nil {
		if err := gate(ctx, tool.Name, arguments); err != nil {
			return nil, notCalled{err, RuleGate}
		}
	}
	result, err := tool.answer(ctx, arguments)
	switch {
	case errors.Is(err, ErrLater):
		return nil, &later{LateCall{PendingCall: PendingCall{ID: newCallID(), Name: tool.Name, Arguments: arguments}, Begun: begun}}
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
func (t *tool) answer(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	if t.Timeout == 0 {
		return t.Call(ctx, arguments)
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
		a.result, a.err = t.Call(ctx, arguments)
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
	outcome, seen := OutcomeOK, err
	skipped, isSkipped := errors.AsType[notCalled](err)
	refusal, isRefusal := errors.AsType[*Refusal](err)
	switch {
	case err == nil:
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
	if t.Record != nil {
		t.Record(ToolCall{
			Name: cut(name, 64), Outcome: outcome, Milliseconds: milliseconds(took), RequestBytes: size, ReplyBytes: len(result), Rule: skipped.rule,
		})
	}
	if t.Log != nil {
		attrs := []slog.Attr{slog.String("tool", cut(name, 64)), slog.String("outcome", outcome), slog.Duration("took", took),
			slog.Int("request_bytes", size), slog.Int("reply_bytes", len(result))}
		if isSkipped {
			attrs = append(attrs, slog.String("rule", skipped.rule))
		}
		level := slog.LevelInfo
		if err != nil {
			level = slog.LevelWarn
			if isSkipped {
				err = skipped.error
			}
			attrs = append(attrs, slog.String("error", err.Error()))
		}
		t.Log.LogAttrs(context.Background(), level, "tool call", attrs...)
	}
	return result, seen
}

// milliseconds are those of a record, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cut is s, or its first n bytes.
func cut(s string, n int) string { return s[:min(len(s), n)] }
