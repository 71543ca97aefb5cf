package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// executeTurn runs one program in a session.
func (s *Server) executeTurn(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	var req TurnRequest
	if answered, err := s.readOnce(x, &req, false); answered || err != nil {
		return err
	}
	p, run, err := s.turnProgram(x, sn, &req)
	if err != nil {
		return err
	}
	if err := sn.acquire(x.r.Context(), run); err != nil {
		run.cancel(nil)
		return err
	}
	return s.perform(x, run, p)
}

// turnProgram is what a request for a turn becomes. The session is to be acquired for the execution before it runs.
func (s *Server) turnProgram(x *exchange, sn *session, req *TurnRequest) (program, *execution, error) {
	var p program
	t, err := req.turn()
	if err != nil {
		return p, nil, err
	}
	language := sn.language
	if req.Language != "" && req.Language != language {
		if language == engine.Python || req.Language == engine.Python {
			return p, nil, invalidf("language is %s: the session's is %s", quoted(req.Language), language)
		}
		if language, err = languageOf(req.Language); err != nil {
			return p, nil, err
		}
	}
	if t.Limits, err = sn.turnLimits(req.Limits); err != nil {
		return p, nil, err
	}
	put, err := files(req.Files)
	if err != nil {
		return p, nil, err
	}
	run := s.newExecution(x, sn.id, language, &req.TurnFields)
	run.network = sn.network
	t.ID = run.id
	if t.Name == "" && language != sn.language {
		t.Name = fmt.Sprintf("turn%d%s", sn.eng.Info().Turns+1, map[string]string{engine.TypeScript: ".ts", engine.JavaScript: ".js"}[language])
	}
	p = program{turn: &t, collect: req.Collect, timeout: t.Limits.Or(sn.limits).Timeout}
	p.over = func() { sn.release(run) }
	p.run = func(ctx context.Context, onEvent func(engine.Event)) (*engine.Result, *engine.Files, error) {
		for _, f := range put {
			if err := sn.eng.Files().WriteFile(f.Path, f.Content); err != nil {
				return nil, nil, fileError(err)
			}
		}
		t.OnEvent = onEvent
		res, err := sn.eng.Run(ctx, t)
		if errors.Is(err, engine.ErrClosed) {
			return nil, nil, expired(sn.id)
		}
		return res, sn.eng.Files(), err
	}
	return p, run, nil
}

// turnLimits are what one turn may have. Memory and disk belong to the session.
func (sn *session) turnLimits(l *Limits) (limits.Limits, error) {
	asked, err := l.engineLimits()
	if err != nil {
		return asked, err
	}
	if asked.MemoryBytes != 0 && asked.MemoryBytes != sn.limits.MemoryBytes || asked.DiskBytes != 0 && asked.DiskBytes != sn.limits.DiskBytes {
		return asked, invalidf("limits.memory_bytes and limits.disk_bytes are the session's: they are given when it is made")
	}
	all, err := sn.key.Policy.narrow(asked, sn.limits)
	if err != nil {
		return asked, err
	}
	return limits.Limits{Timeout: all.Timeout, Fuel: all.Fuel, OutputBytes: all.OutputBytes}, nil
}

// interruptSession ends the turn that runs.
func (s *Server) interruptSession(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	if err := x.readNothing(); err != nil {
		return err
	}
	turn := sn.current()
	if turn == nil {
		return x.reply(http.StatusOK, Interrupted{})
	}
	return x.reply(http.StatusOK, Interrupted{Interrupted: sn.eng.Interrupt(), ExecutionID: turn.id})
}
