package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// ErrBusy is returned by a session that is running a turn.
var ErrBusy = errors.New("the session is busy with a turn")

// A Session is a sandbox that keeps its variables and files from turn to turn.
//
// A turn that fails by an exception leaves what it did, as in a notebook. A turn that had to be stopped from
// outside (time after the interrupt was ignored, fuel, memory, a trap, cancellation) is rolled back: the session
// is as it was before it, files in memory included, and goes on.
//
// A Session may be used from several goroutines; one turn runs at a time.
type Session struct {
	id string

	// mu is held while a turn runs, and guards all below.
	mu     sync.Mutex
	sb     *sandbox
	closed bool
}

// Open makes a session. Close it.
func (e *Engine) Open(ctx context.Context, o Options) (*Session, error) {
	sb, err := e.sandbox(ctx, o)
	if err != nil {
		return nil, err
	}
	sb.session = true
	return &Session{id: newID("ses_"), sb: sb}, nil
}

// ID names the session. It has 128 random bits.
func (s *Session) ID() string { return s.id }

// Run runs one turn. It fails with [ErrBusy] while another one runs, and with [ErrClosed] after Close.
func (s *Session) Run(ctx context.Context, t Turn) (*Result, error) {
	if err := s.use(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	before, err := s.sb.save()
	if err != nil {
		return nil, err
	}
	res, err := s.sb.run(ctx, t)
	if s.sb.inst != nil {
		err = errors.Join(err, s.sb.state.Commit())
	} else {
		// Not with ctx: a turn that was cancelled must be rolled back too.
		if rollback := s.sb.rollback(context.WithoutCancel(ctx), before); rollback != nil {
			s.closed = true
			return res, errors.Join(err, fmt.Errorf("roll back the session, which is over: %w", rollback), s.sb.close())
		}
		if res != nil {
			res.RolledBack = true
		}
	}
	return res, err
}

// use takes the session for one caller, who unlocks mu.
func (s *Session) use() error {
	if !s.mu.TryLock() {
		return ErrBusy
	}
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("session: %w", ErrClosed)
	}
	return nil
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
