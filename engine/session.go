package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// ErrBusy is returned by a session that is running a turn.
var ErrBusy = errors.New("the session is busy with a turn")

// A Session is a sandbox that keeps its variables and files from turn to turn.
//
// A turn that fails by an exception leaves what it did, as in a notebook. A turn that had to be stopped from
// outside (time after the interrupt was ignored, fuel, memory, a trap, cancellation) is rolled back: the session
// is as it was before it, files in memory included, and goes on. With [OnErrorRollback] every turn that does not end
// well is.
//
// A Session may be used from several goroutines; one turn runs at a time.
type Session struct {
	id      string
	created time.Time

	// mu is held while a turn runs, and guards all below up to infoMu.
	mu     sync.Mutex
	sb     *sandbox
	closed bool

	// infoMu is held for moments only, and guards what can be asked while a turn runs.
	infoMu sync.Mutex
	info   SessionInfo
	ask    chan struct{} // of the turn that runs; nil between turns, and once it was closed
}

// SessionInfo describes a session at one moment.
type SessionInfo struct {
	ID       string    `json:"id"`
	Language string    `json:"language"`
	Created  time.Time `json:"created"`
	// LastUsed is when the last turn ended or, while one runs, began.
	LastUsed time.Time `json:"last_used"`
	// Turns is the number of turns that the present state is made of: a turn that was rolled back does not count.
	Turns int `json:"turns"`
	// Busy says that a turn runs.
	Busy bool `json:"busy"`
}

// Open makes a session. Close it.
func (e *Engine) Open(ctx context.Context, o Options) (*Session, error) {
	sb, err := e.sandbox(ctx, o)
	if err != nil {
		return nil, err
	}
	sb.session = true
	now := time.Now()
	s := &Session{id: newID("ses_"), created: now, sb: sb}
	s.info = SessionInfo{ID: s.id, Language: cmp.Or(o.Language, Python), Created: now, LastUsed: now}
	return s, nil
}

// ID names the session. It has 128 random bits.
func (s *Session) ID() string { return s.id }

// Info describes the session. It does not wait for a turn that runs.
func (s *Session) Info() SessionInfo {
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	return s.info
}

// Interrupt asks the turn that runs to end, by the language's own means, and says whether there was one to ask.
// The turn's program may clean up within its Limits.Grace, and is stopped then; its status is cancelled. It does not
// wait for that. It may be called from any goroutine.
func (s *Session) Interrupt() bool {
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	if s.ask != nil {
		close(s.ask)
		s.ask = nil
		return true
	}
	return s.info.Busy // it was asked already
}

// Run runs one turn. It fails with [ErrBusy] while another one runs, and with [ErrClosed] after Close.
func (s *Session) Run(ctx context.Context, t Turn) (*Result, error) {
	if err := s.use(); err != nil {
		return nil, err
	}
	defer s.done()
	before, err := s.sb.save()
	if err != nil {
		return nil, err
	}
	res, err := s.sb.run(ctx, t)
	if err == nil && res.Status != StatusOK && s.sb.opts.OnError == OnErrorRollback && s.sb.inst != nil {
		s.sb.lang.pool.Put(s.sb.inst) // it came back in order
		s.sb.inst = nil
	}
	if s.sb.inst != nil {
		return res, errors.Join(err, s.sb.state.Commit())
	}
	// Not with ctx: a turn that was cancelled must be rolled back too.
	if rollback := s.sb.rollback(context.WithoutCancel(ctx), before); rollback != nil {
		return res, errors.Join(err, s.end(fmt.Errorf("roll back the session, which is over: %w", rollback)))
	}
	if res != nil {
		res.RolledBack, res.FilesChanged = true, nil
	}
	return res, err
}

// Reset makes the session what it was when it was opened: no names, the files that it was given, as a new interpreter.
// Mounted folders of the host stay as they are.
func (s *Session) Reset(ctx context.Context) error {
	if err := s.use(); err != nil {
		return err
	}
	defer s.done()
	if err := s.sb.restart(ctx); err != nil {
		return s.end(fmt.Errorf("reset the session, which is over: %w", err))
	}
	return nil
}

// end closes a session that cannot go on, and returns why.
func (s *Session) end(why error) error {
	s.closed = true
	return errors.Join(why, s.sb.close())
}

// use takes the session for one caller, who calls done.
func (s *Session) use() error {
	if !s.mu.TryLock() {
		return ErrBusy
	}
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("session: %w", ErrClosed)
	}
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	s.ask = make(chan struct{})
	s.sb.asked = s.ask
	s.info.Busy, s.info.LastUsed = true, time.Now()
	return nil
}

func (s *Session) done() {
	s.infoMu.Lock()
	s.ask = nil
	s.info.Busy, s.info.LastUsed, s.info.Turns = false, time.Now(), s.sb.turns
	s.infoMu.Unlock()
	s.mu.Unlock()
}

// Files are the session's files as they are now. They must not be used while a turn runs, nor after Close.
func (s *Session) Files() *Files { return s.sb.tree.files() }

// Close waits for a turn that runs (cancel its context to make it quick) and frees the sandbox. It may be
// called more than once.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.sb.close()
}

// checkpoint is all that a turn can change in a sandbox, but for the descriptors, which the WASI state keeps.
type checkpoint struct {
	vm    vm.Checkpoint
	files *vfs.Snapshot
	turns int
}

func (s *sandbox) save() (checkpoint, error) {
	c := checkpoint{files: s.tree.Snapshot(), turns: s.turns}
	var err error
	c.vm, err = s.inst.Save()
	return c, errors.Join(err, s.state.Checkpoint())
}

// rollback brings the sandbox, whose instance is gone, to a checkpoint.
func (s *sandbox) rollback(ctx context.Context, c checkpoint) error {
	if err := s.tree.Restore(c.files); err != nil {
		return err
	}
	s.state.Rollback()
	inst, err := s.lang.pool.Get(ctx)
	if err != nil {
		return err
	}
	inst.Linear().SetLimit(wholePages(s.limits.MemoryBytes))
	if err := inst.Load(c.vm); err != nil {
		return errors.Join(err, inst.Close(ctx))
	}
	s.inst, s.turns = inst, c.turns
	return nil
}

// restart gives the sandbox a new instance and the files that it was asked for with.
func (s *sandbox) restart(ctx context.Context) error {
	err := s.release()
	s.turns, s.begun = 0, time.Now()
	return errors.Join(err, s.start(ctx))
}
