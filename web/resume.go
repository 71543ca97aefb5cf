package web

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// ResumeRequest is the body of POST /v1/sessions/{id}/resume: how a suspended turn goes on.
type ResumeRequest struct {
	// Results answer calls that are pending; each is given once.
	Results []ToolResult `json:"results,omitempty"`
	// Cancel, instead of results, interrupts the turn where it waits.
	Cancel bool `json:"cancel,omitempty"`
	// Collect and Detach are as for a turn.
	Collect []string `json:"collect,omitempty"`
	Detach  bool     `json:"detach,omitempty"`
}

// resumeTurn goes on with a suspended turn.
func (s *Server) resumeTurn(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	var req ResumeRequest
	if answered, err := s.readOnce(x, &req, false); answered || err != nil {
		return err
	}
	p, run := s.resumeProgram(x, sn, &req)
	if err := sn.acquire(x.r.Context(), run); err != nil {
		run.cancel(nil)
		return err
	}
	return s.perform(x, run, p)
}

// resumeProgram is what a request to resume becomes, as turnProgram.
func (s *Server) resumeProgram(x *exchange, sn *session, req *ResumeRequest) (program, *execution) {
	run := s.newExecution(x, sn.id, sn.language, &TurnFields{Code: new(string), Detach: req.Detach})
	run.network = sn.network
	r := engine.Resumption{ID: run.id, Cancel: req.Cancel}
	for _, result := range req.Results {
		r.Results = append(r.Results, result.forEngine())
	}
	return program{
		collect: req.Collect, timeout: sn.limits.Timeout,
		run: func(ctx context.Context, onEvent func(engine.Event)) (*engine.Result, *engine.Files, error) {
			for i := range req.Results {
				if err := req.Results[i].check(); err != nil {
					return nil, nil, err
				}
			}
			r.OnEvent = onEvent
			res, err := sn.eng.Resume(ctx, r)
			if errors.Is(err, engine.ErrClosed) {
				return nil, nil, expired(sn.id)
			}
			return res, sn.eng.Files(), err
		},
		over: func() { sn.release(run) },
	}, run
}

// forEngine is the result as the engine takes it.
func (r ToolResult) forEngine() hostfuncs.ToolResult {
	out := hostfuncs.ToolResult{CallID: r.CallID, Result: r.Result}
	if r.Error != nil {
		out.Error = r.Error.refusal()
	}
	return out
}
