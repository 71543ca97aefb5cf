package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
)

// execution is one run: while it runs, who may stop it and what it has done so far; afterwards its answer.
type execution struct {
	id       string
	key      *Key
	session  string // id, or ""
	language string
	detached bool // it goes on when its client leaves
	started  time.Time
	log      *eventLog
	// What is put on record.
	code               string
	requestID, traceID string
	network            bool
	waited             time.Duration   // for a place to run
	ctx                context.Context // of the run
	cancel             context.CancelCauseFunc

	// mu guards calls: those of the client's tools that wait for an answer, by id.
	mu    sync.Mutex
	calls map[string]chan ToolResult

	done chan struct{} // closed when the fields below are set
	// answer is the Result as JSON; err is set instead when there is none.
	answer []byte
	err    error
	// autopsy is that of its Result. Without one wantsAutopsy says whether it was to be kept.
	autopsy      *engine.AutopsyRef
	wantsAutopsy bool
}

// Causes of a run's end, told apart in the log.
var (
	errClientLeft = errors.New("the client left")
	errCancelled  = errors.New("the run was cancelled by a request")
)

// executions are the runs that can be asked for: all that run, and those that ended lately.
type executions struct {
	// mu guards all below.
	mu    sync.Mutex
	all   map[string]*execution
	ended keeping[*execution]
}

func newExecutions(keep time.Duration, keepBytes int64) *executions {
	all := map[string]*execution{}
	return &executions{all: all, ended: newKeeping(keep, keepBytes, func(x *execution) { delete(all, x.id) })}
}

func (s *Server) newExecution(x *exchange, session, language string, f *TurnFields) *execution {
	ctx, cancel := context.WithCancelCause(s.ended)
	detached := f.Detach || x.named != nil || prefersAsync(x.r) && streamFormat(x.r) == formatNone
	return &execution{
		ctx: ctx, cancel: cancel, id: newID("run_"), key: x.key, session: session, language: language,
		code: *f.Code, requestID: x.id, traceID: x.traceID, detached: detached, started: time.Now(), log: newEventLog(), done: make(chan struct{}),
	}
}

func (r *executions) add(x *execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[x.id] = x
}

// finish makes the answer known, and forgets what is too old or too much.
func (r *executions) finish(x *execution) {
	close(x.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	size := int64(len(x.answer)) + int64(x.log.size()) + keptOverhead
	if r.all[x.id] == x {
		x = x.kept()
		r.all[x.id] = x
	}
	r.ended.add(x.key, x, size, time.Now())
}

// kept is what later requests can ask of a run that ended. Its contexts, which are most of its objects, are not, since
// tens of thousands are kept, and the garbage collector looks at each.
func (x *execution) kept() *execution {
	return &execution{
		id: x.id, key: x.key, session: x.session, language: x.language, detached: x.detached, started: x.started,
		autopsy: x.autopsy, wantsAutopsy: x.wantsAutopsy, log: x.log, done: x.done, answer: x.answer, err: x.err, cancel: func(error) {},
	}
}

// awaited says whether somebody may still come for a result: of a run that goes on, or that did not depend on its client.
func (r *executions) awaited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended.trim(time.Now())
	for _, x := range r.all {
		select {
		case <-x.done:
			if x.detached {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// keptOverhead is about what an execution takes besides its answer and its events.
const keptOverhead = 2 << 10

func (l *eventLog) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// find is an execution of the key.
func (r *executions) find(id string, k *Key) (*execution, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.all[id]
	if x == nil || x.key != k {
		return nil, notFound("execution", id)
	}
	return x, nil
}

// getExecution answers with the Result, or while the program runs with what there is to say.
func (s *Server) getExecution(x *exchange, c echo.Context) error {
	run, err := s.runs.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	select {
	case <-run.done:
		return s.answerAgain(x, run)
	default:
	}
	return x.reply(http.StatusOK, run.info())
}

// executionAutopsy says what a run that was stopped was doing. The request ends it.
func (s *Server) executionAutopsy(x *exchange, c echo.Context) error {
	run, err := s.runs.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	select {
	case <-run.done:
	default:
		return fail(http.StatusConflict, codeConflict, "the program still runs")
	}
	switch {
	case run.autopsy == nil && !run.wantsAutopsy:
		return fmt.Errorf("%w: none was asked for", engine.ErrNoAutopsy)
	case run.autopsy == nil:
		return fmt.Errorf("%w: the program was not stopped from outside, or there was no room for its memory", engine.ErrNoAutopsy)
	case time.Now().After(run.autopsy.Expires):
		return fmt.Errorf("%w any more: its time is over", engine.ErrNoAutopsy)
	}
	return s.autopsy(x, func(ctx context.Context) (*engine.Autopsy, error) { return s.cfg.Engine.Autopsy(ctx, run.autopsy.ID) })
}

// autopsy answers with what ask says, which computes as programs do, and so takes a place as they do.
func (s *Server) autopsy(x *exchange, ask func(context.Context) (*engine.Autopsy, error)) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.work.Done()
	if err := s.gate.enter(x.r.Context(), x.key); err != nil {
		return err
	}
	defer s.gate.leave(x.key)
	about, err := ask(x.r.Context())
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, about)
}

func (x *execution) info() Execution {
	return Execution{ID: x.id, Language: x.language, Status: "running", SessionID: x.session, StartedAt: x.started.UTC()}
}

// cancelExecution stops a run for good, and answers with its Result. What has ended stays as it is.
func (s *Server) cancelExecution(x *exchange, c echo.Context) error {
	run, err := s.runs.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	run.cancel(errCancelled)
	return s.await(x, run)
}

// await sends the Result of a run once it has ended, unless the client leaves first.
func (s *Server) await(x *exchange, run *execution) error {
	select {
	case <-run.done:
		return s.answerAgain(x, run)
	case <-x.r.Context().Done():
		return nil
	}
}

// answerAgain is answer for whoever comes for a Result that is kept.
func (s *Server) answerAgain(x *exchange, run *execution) error {
	if err := s.bodies.mayHold(x.key); err != nil {
		return err
	}
	return s.answer(x, run)
}

// answer sends the Result of a run that ended.
func (s *Server) answer(x *exchange, run *execution) error {
	if run.err != nil {
		return run.err
	}
	x.writeJSON(http.StatusOK, run.answer)
	return nil
}
