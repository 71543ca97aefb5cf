package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/mailbox"
	"github.com/cloche-dev/cloche/limits"
)

// ToolSpec is a function of the client's that programs may call. The call comes to the client as an event, and its
// result goes back by POST /v1/executions/{id}/tool_results or over the WebSocket.
type ToolSpec struct {
	// Name is an identifier, or two with a dot between them.
	Name string `json:"name"`
	// Description is for whoever writes the program.
	Description string `json:"description,omitempty"`
	// InputSchema is the JSON schema of the arguments, which are one object.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	// TimeoutMS is how long one call may take.
	TimeoutMS *uint64 `json:"timeout_ms,omitempty"`
	// Deferred says that results come by POST /v1/sessions/{id}/resume, once a turn waits for nothing else and is suspended.
	Deferred bool `json:"deferred,omitempty"`
}

// ToolResult answers a call of a tool: with a result, or with an error.
type ToolResult struct {
	CallID string          `json:"call_id"`
	Result json.RawMessage `json:"result,omitempty"`
	// Error is an exception that the program sees. What it says is for the program to read.
	Error *ToolError `json:"error,omitempty"`
}

// check says what is wrong with r by itself.
func (r *ToolResult) check() error {
	switch {
	case r.Error != nil && len(r.Result) > 0:
		return invalidf("call %.64q: it has a result and an error: give one of them", r.CallID)
	case r.Error == nil && len(r.Result) == 0:
		return invalidf("call %.64q: it has neither a result nor an error; a result may be null", r.CallID)
	}
	return nil
}

// ToolError is why a call of a tool failed.
type ToolError struct {
	// Name is the exception's, such as ValueError.
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
}

// toolCall is the event that asks the client for a result.
type toolCall struct {
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Outcome   string          `json:"outcome"` // pending
}

// refusal is the error as the program sees it.
func (e *ToolError) refusal() error {
	return &hostfuncs.Refusal{Name: cmp.Or(e.Name, "ToolError"), Message: e.Message}
}

type executionContext struct{}

func withExecution(ctx context.Context, run *execution) context.Context {
	return context.WithValue(ctx, executionContext{}, run)
}

// tools are what a program of the key may call: the server's tools, the client's, and the channels that the request asks for.
func (k *Key) tools(specs []ToolSpec, channels map[string]limits.ChannelMode) (*hostfuncs.Registry, error) {
	r, err := k.offered.Select(nil)
	if err != nil {
		return nil, err
	}
	if err := addClient(r, specs); err != nil {
		return nil, err
	}
	if len(channels) == 0 {
		if r.Empty() {
			return nil, nil
		}
		return r, nil
	}
	switch err := k.mailbox.Offer(r, channels); {
	case errors.Is(err, mailbox.ErrUnknown), errors.Is(err, mailbox.ErrForbidden):
		return nil, fail(http.StatusForbidden, codeForbidden, "mailbox: %v", err)
	case err != nil:
		return nil, invalidf("mailbox: %v", err)
	}
	return r, nil
}

// addClient offers the client's tools. A call goes to the client of the run that makes it.
func addClient(r *hostfuncs.Registry, specs []ToolSpec) error {
	for i, spec := range specs {
		tool := hostfuncs.Tool{Name: spec.Name, Description: spec.Description, Input: spec.InputSchema}
		if spec.TimeoutMS != nil {
			const most = 24 * 60 * 60 * 1000
			if *spec.TimeoutMS == 0 || *spec.TimeoutMS > most {
				return invalidf("tools[%d].timeout_ms is %d, must be from 1 to %d", i, *spec.TimeoutMS, most)
			}
			tool.Timeout = time.Duration(*spec.TimeoutMS) * time.Millisecond
		}
		if spec.Deferred {
			tool.Call = hostfuncs.Later
		} else {
			tool.Call = callClient(spec.Name)
		}
		if err := r.Add(tool); err != nil {
			return invalidf("tools[%d]: %v", i, err)
		}
	}
	return nil
}

// callClient asks the client of the run that makes the call.
func callClient(name string) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		run, ok := ctx.Value(executionContext{}).(*execution)
		if !ok {
			return nil, hostfuncs.Refuse("ToolError", "nobody is there to answer")
		}
		return run.call(ctx, name, arguments)
	}
}

// call asks the client, and waits for its answer.
func (x *execution) call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	id := newID("call_")
	answer := make(chan ToolResult, 1)
	x.mu.Lock()
	if x.calls == nil {
		x.calls = map[string]chan ToolResult{}
	}
	x.calls[id] = answer
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.calls, id)
	}()
	x.log.add(event{kind: "tool_call", data: fields(toolCall{id, name, arguments, "pending"})}, ctx.Done(), time.Now().Add(time.Hour))
	select {
	case a := <-answer:
		if a.Error != nil {
			return nil, a.Error.refusal()
		}
		return a.Result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answerCall gives a call its result. Each is answered once.
func (x *execution) answerCall(r ToolResult) error {
	if err := r.check(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	answer := x.calls[r.CallID]
	if answer == nil {
		return notFound("call that waits for a result:", r.CallID)
	}
	delete(x.calls, r.CallID)
	answer <- r
	return nil
}

// toolResult answers POST /v1/executions/{id}/tool_results.
func (s *Server) toolResult(x *exchange, c echo.Context) error {
	run, err := s.runs.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	var req ToolResult
	if _, err := x.readJSON(&req, false); err != nil {
		return err
	}
	if err := run.answerCall(req); err != nil {
		return err
	}
	x.WriteHeader(http.StatusNoContent)
	return nil
}
