package web

import (
	"context"
	"time"

	"github.com/cloche-dev/cloche/engine"
)

// Programs are those of a key that come by other ways than requests of the API, such as MCP: the key's policy holds for all together.
type Programs struct {
	s   *Server
	key *Key
}

type programsContext struct{}

// ProgramsFrom is where the programs of the request whose context ctx is begin, or nil.
func ProgramsFrom(ctx context.Context) *Programs {
	p, _ := ctx.Value(programsContext{}).(*Programs)
	return p
}

// Begin waits for a place to run. The result gives it back, and puts on record what came of the program, or by what nothing did.
func (p *Programs) Begin(ctx context.Context, language, code string) (end func(*engine.Result, error), err error) {
	if err := p.s.bodies.mayHold(p.key); err != nil {
		return nil, err
	}
	if err := p.s.begin(); err != nil {
		return nil, err
	}
	run := &execution{id: newID("run_"), key: p.key, language: language, code: code, network: p.key.Policy.Network != nil, started: time.Now()}
	if err := p.s.gate.enter(ctx, p.key); err != nil {
		p.s.work.Done()
		return nil, err
	}
	run.waited = time.Since(run.started)
	return func(res *engine.Result, err error) {
		if res != nil {
			run.id = res.ID
		}
		run.err = err
		p.s.recordRun(run, res)
		p.s.gate.leave(p.key)
		p.s.work.Done()
	}, nil
}

// Open takes one of the key's places for sessions. The result gives it back.
func (p *Programs) Open() (leave func(), err error) {
	if err := p.s.sessions.enter(p.key); err != nil {
		return nil, err
	}
	return func() { p.s.sessions.leave(p.key) }, nil
}
