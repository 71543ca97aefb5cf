package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
)

// execute runs one program in a fresh sandbox.
func (s *Server) execute(x *exchange, _ echo.Context) error {
	var req ExecuteRequest
	if answered, err := s.readOnce(x, &req, false); answered || err != nil {
		return err
	}
	var err error
	if req.Language, err = s.languageFor(req.Language, req.Snapshot, x.key); err != nil {
		return err
	}
	o, err := req.options(req.Language, x.key)
	if err != nil {
		return err
	}
	t, err := req.turn()
	if err != nil {
		return err
	}
	if o.Tools, err = x.key.tools(req.Tools, req.Mailbox); err != nil {
		return err
	}
	for i, spec := range req.Tools {
		if spec.Deferred {
			return invalidf("tools[%d] is deferred, and only the turns of a session can be suspended: make a session", i)
		}
	}
	if len(req.Tools) > 0 && streamFormat(x.r) == formatNone && !prefersAsync(x.r) {
		return invalidf("tools need a stream, by which their calls come: send Accept: text/event-stream or application/x-ndjson, or Prefer: respond-async")
	}
	if req.AutopsyS != nil && *req.AutopsyS != 0 && req.Snapshot != "" {
		return invalidf("a run that goes on from a snapshot cannot be asked what it was doing: make a session that does")
	}
	if req.Receipt && req.Snapshot != "" {
		return invalidf("a run that goes on from a snapshot has no receipt")
	}
	run := s.newExecution(x, "", o.Language, &req.TurnFields)
	run.network, run.wantsAutopsy = o.Network != nil, o.Autopsy > 0
	if req.Snapshot != "" {
		return s.perform(x, run, s.fromSnapshot(run, &req, o, t))
	}
	return s.perform(x, run, program{
		collect: req.Collect, timeout: o.Limits.Timeout,
		run: func(ctx context.Context, onEvent func(engine.Event)) (*engine.Result, *engine.Files, error) {
			res, err := s.cfg.Engine.Run(ctx, engine.Job{
				ID: run.id, Language: o.Language, Code: t.Code, Name: t.Name, Args: t.Args, Env: o.Env, Stdin: t.Stdin,
				Inputs: t.Inputs, Files: o.Files, Mounts: o.Mounts, Shared: o.Shared, Limits: o.Limits, Seed: o.Seed, OnEvent: onEvent,
				Network: o.Network, Tools: o.Tools, Packages: o.Packages, Review: o.Review, Template: o.Template, Receipt: req.Receipt,
				Autopsy: o.Autopsy, Owner: o.Owner,
			})
			if err != nil {
				return nil, nil, err
			}
			return res, res.Files(), nil
		},
	})
}

// fromSnapshot runs one program in a sandbox that goes on from a snapshot, and is not kept.
func (s *Server) fromSnapshot(run *execution, req *ExecuteRequest, o engine.Options, t engine.Turn) program {
	var eng *engine.Session
	o.Autopsy = 0 // it would end with the session
	return program{
		collect: req.Collect, timeout: o.Limits.Timeout,
		run: func(ctx context.Context, onEvent func(engine.Event)) (_ *engine.Result, _ *engine.Files, err error) {
			if eng, err = s.open(ctx, run.key, req.Snapshot, o); err != nil {
				return nil, nil, err
			}
			t.ID, t.OnEvent = run.id, onEvent
			res, err := eng.Run(ctx, t)
			return res, eng.Files(), err
		},
		over: func() {
			if eng != nil {
				s.closeEngine(run.id, eng)
			}
		},
	}
}

// program is what perform runs.
type program struct {
	collect []string
	timeout time.Duration
	turn    *engine.Turn // of a session; may be changed before it runs
	run     func(ctx context.Context, onEvent func(engine.Event)) (*engine.Result, *engine.Files, error)
	// over is called when the program has ended, before its answer is sent. Nil: nothing is to be done.
	over func()
}

// perform waits for a place, runs p, and answers in the form that the client asked for: one Result, a stream of events, or
// at once with where the Result will be.
func (s *Server) perform(x *exchange, run *execution, p program) error {
	if err := s.start(x.r.Context(), run, p); err != nil {
		return err
	}
	x.named.settle(run.id, "")
	format := streamFormat(x.r)
	if format == formatNone && prefersAsync(x.r) { // so it is detached
		go s.drive(run, p)
		x.Header().Set("Location", "/v1/executions/"+run.id)
		x.Header().Set("Preference-Applied", "respond-async")
		return x.reply(http.StatusAccepted, run.info())
	}
	if !run.detached {
		stop := context.AfterFunc(x.r.Context(), func() { run.cancel(errClientLeft) })
		defer stop()
	}
	if format == formatNone {
		s.drive(run, p)
		return s.answer(x, run)
	}
	go s.drive(run, p)
	return s.stream(x, run, format, 0, true)
}

// start waits for a place to run, and notes the run. Who leaves meanwhile, which is when ctx ends, has none.
func (s *Server) start(ctx context.Context, run *execution, p program) error {
	err := s.admit(ctx, run)
	if err != nil {
		run.cancel(nil)
		if p.over != nil {
			p.over()
		}
		return err
	}
	run.waited = time.Since(run.started)
	s.runs.add(run)
	return nil
}

func (s *Server) admit(ctx context.Context, run *execution) error {
	if err := s.bodies.mayHold(run.key); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	if s.gate.tryEnter(run.key) {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { run.cancel(errClientLeft) })
	err := s.gate.enter(run.ctx, run.key)
	if err == nil && !stop() {
		s.gate.leave(run.key)
		err = errClientLeft
	}
	if err != nil {
		s.work.Done()
	}
	return err
}

// drive runs the program to its end and makes the answer known.
func (s *Server) drive(run *execution, p program) {
	ctx := run.ctx
	var res *engine.Result
	defer func() {
		if r := recover(); r != nil {
			run.err = fmt.Errorf("panic: %v", r)
			s.log(slog.LevelError, "error", "panic", slog.String("run", run.id), slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
		}
		run.cancel(nil)
		s.recordRun(run, res)
		run.code = ""
		s.gate.leave(run.key)
		if p.over != nil {
			p.over()
		}
		run.log.add(run.last(), nil, time.Time{})
		run.log.end()
		s.runs.finish(run)
		s.work.Done()
	}()
	run.log.add(event{kind: "start", data: fields(startEvent{run.id, run.language, run.session})}, nil, time.Time{})
	until := time.Now().Add(p.timeout)
	var files *engine.Files
	var err error
	ctx = withExecution(ctx, run)
	res, files, err = p.run(ctx, func(e engine.Event) { run.log.add(eventOf(e), ctx.Done(), until) })
	if err == nil {
		if res.Error != nil {
			run.log.add(event{kind: "error", data: fields(res.Error)}, nil, time.Time{})
		}
		run.answer, err = answerOf(res, files, p.collect)
		run.autopsy = res.Autopsy
	}
	run.err = err
}

type startEvent struct {
	ExecutionID string `json:"execution_id"`
	Language    string `json:"language"`
	SessionID   string `json:"session_id,omitempty"`
}

// last is the event at the end of a run.
func (x *execution) last() event {
	if x.err == nil {
		return event{kind: "end", result: x.answer}
	}
	e, _ := asAPIError(x.err)
	return event{kind: "end", data: fields(ErrorBody{e.info()})}
}

// answerOf is the Result as JSON, with the files that were asked for.
func answerOf(res *engine.Result, files *engine.Files, collect []string) ([]byte, error) {
	if len(collect) == 0 {
		return res.MarshalJSON()
	}
	collected, err := collectFiles(files, collect)
	if err != nil {
		return nil, err
	}
	return res.JSONWith("files", collected)
}

// prefersAsync says whether the client wants to hear at once where the Result will be (RFC 7240).
func prefersAsync(r *http.Request) bool {
	for _, p := range r.Header["Prefer"] {
		for one := range strings.SplitSeq(p, ",") {
			if name, _, _ := strings.Cut(strings.TrimSpace(one), ";"); strings.EqualFold(name, "respond-async") {
				return true
			}
		}
	}
	return false
}

// reply answers with v as JSON.
func (x *exchange) reply(status int, v any) error {
	b, err := json.Marshal(v)
	if err == nil && len(b) >= longAnswer && x.r.Method == http.MethodGet { // else it tells of what was done
		err = x.s.bodies.mayHold(x.key)
	}
	if err != nil {
		return err
	}
	x.writeJSON(status, b)
	return nil
}

// replyList answers with a JSON object that ends with a list, of which before is all that comes before the list's elements. They are made one
// after the other as the client takes them: together they may be many megabytes, and their readers many.
func replyList[T any](x *exchange, status int, before string, elements iter.Seq[T]) error {
	x.Header()["Content-Type"] = jsonType
	x.WriteHeader(status)
	w := bufio.NewWriterSize(slowly{x}, maxBuffered)
	_, _ = w.WriteString(before) // its errors come again at the end
	first := true
	for e := range elements {
		b, err := json.Marshal(e)
		if err != nil {
			panic(err) // the types are ours
		}
		if !first {
			_ = w.WriteByte(',')
		}
		first = false
		if _, err := w.Write(b); err != nil {
			return nil // the client has left
		}
	}
	_, _ = w.WriteString("]}\n")
	_ = w.Flush()
	return nil
}
