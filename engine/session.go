package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
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
	eng *Engine
	id  string

	// mu is held while a turn runs, and guards all below up to infoMu.
	mu     sync.Mutex
	sb     *sandbox
	now    *state    // after the last turn that was not rolled back
	past   []*moment // the history, oldest first
	held   uint64    // the sum of its Bytes
	closed bool
	why    error // it was closed, if nobody asked for that

	// In a store; see store.go. A session that is asleep has sb without instance and files, and no state.
	transient bool // it never is
	stored    bool
	asleep    bool
	base      *saved
	bases     int           // the number of the last base
	written   *vfs.Snapshot // the files as they are stored

	// filesMu is held for reading while the host uses the files, and for writing, besides mu, while they come and go.
	filesMu sync.RWMutex

	// infoMu is held for moments only, and guards what can be asked while a turn runs.
	infoMu sync.Mutex
	info   SessionInfo
	failed *failure      // of the last turn that was cut, if that was to be kept
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
	// Labels are those of its Options.
	Labels map[string]string `json:"labels,omitempty"`
	// Stored says that it is only in the store, from an earlier process.
	Stored bool `json:"stored,omitempty"`
	// PendingCalls are those for whose results the last turn waits, if it is suspended. See Session.Resume.
	PendingCalls []hostfuncs.PendingCall `json:"pending_calls,omitempty"`

	idle, lifetime time.Duration
}

// Open makes a session. Close it.
func (e *Engine) Open(ctx context.Context, o Options) (*Session, error) {
	sb, err := e.sandbox(ctx, o)
	if err != nil {
		return nil, err
	}
	sb.session = true
	st, err := sb.begin()
	if err != nil {
		return nil, errors.Join(err, sb.close())
	}
	s, err := e.session(sb, st, false)
	if err != nil {
		return nil, err
	}
	return s.begun(ctx)
}

// begun stores a session that was just made.
func (s *Session) begun(ctx context.Context) (*Session, error) {
	if s.eng.store == nil {
		return s, nil
	}
	err := s.use(ctx)
	if err == nil {
		err = s.persist()
		s.done()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin is freeze for a sandbox that has not run.
func (s *sandbox) begin() (*state, error) { return s.describe(s.inst.Begin()) }

// session makes a session of a sandbox and its state, which it owns then. One that was not asked for by name is
// transient: it is listed and stored nowhere.
func (e *Engine) session(sb *sandbox, st *state, transient bool) (*Session, error) {
	now := time.Now()
	s := &Session{eng: e, id: newID("ses_"), sb: sb, now: st, transient: transient}
	s.info = SessionInfo{
		ID: s.id, Language: sb.opts.language(), Created: now, LastUsed: now, Turns: st.turns, Labels: sb.opts.Labels,
		PendingCalls: st.suspended.pending(), idle: sb.opts.IdleTimeout, lifetime: sb.opts.MaxLifetime,
	}
	s.remember(&HistoryEntry{Turn: st.turns, Time: now})
	if err := e.live.add(s); err != nil {
		return nil, errors.Join(err, s.end(nil))
	}
	return s, nil
}

// ID names the session. It has 130 random bits.
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

// Run runs one turn. It fails with [ErrBusy] while another one runs, with [ErrSuspended] when the last one is suspended, and
// with [ErrClosed] after Close.
func (s *Session) Run(ctx context.Context, t Turn) (*Result, error) {
	if err := s.use(ctx); err != nil {
		return nil, err
	}
	defer s.done()
	if s.now.suspended != nil {
		return nil, ErrSuspended
	}
	return s.step(ctx, t, nil)
}

// step goes from the session's state to the next, or stays there: by a turn, or by the rest of a suspended one.
func (s *Session) step(ctx context.Context, t Turn, from *resumption) (*Result, error) {
	if err := s.sb.wake(ctx, s.now); err != nil {
		return nil, err
	}
	files := s.sb.tree.Snapshot() // the host may have written some since the last turn
	if err := s.sb.state.Checkpoint(); err != nil {
		return nil, err
	}
	res, err := s.sb.run(ctx, t, from)
	if s.sb.failed != nil {
		s.blame(s.sb.failed)
	}
	if err == nil && s.undoes(res, from) && s.sb.inst != nil {
		s.sb.vacate() // it came back in order
	}
	if s.sb.inst != nil {
		s.sb.copied = from.again() && s.now.copied
		next, errFreeze := s.sb.freeze()
		if errFreeze == nil {
			next.suspended = s.now.suspended // if nothing ran
			s.advance(next)
			if res != nil {
				next.suspended = res.suspended
				res.Usage.PrivateBytes = next.vm.Memory.Bytes()
			}
			s.remember(entryOf(res, next))
			err = errors.Join(err, s.persist())
			return res, errors.Join(err, s.sb.state.Commit())
		}
		err = errors.Join(err, fmt.Errorf("keep the state after the turn, which is undone: %w", errFreeze))
		s.sb.discard()
	}
	if rollback := s.sb.tree.Restore(files); rollback != nil {
		return res, errors.Join(err, s.end(fmt.Errorf("roll back the session, which is over: %w", rollback)))
	}
	s.sb.state.Rollback()
	s.sb.turns = s.now.turns
	if res != nil {
		res.RolledBack, res.FilesChanged, res.MoreFilesChanged, res.State = true, nil, false, nil
		switch {
		case res.suspended != nil && res.suspended.Again != nil:
			err = errors.Join(err, s.hold(res.suspended, files))
		case from != nil:
			res.PendingCalls = from.pending()
		}
	}
	return res, err
}

// undoes says whether a turn is undone although it came back in order. That a turn is to be cancelled is no failure.
func (s *Session) undoes(res *Result, from *resumption) bool {
	return s.sb.opts.OnError == OnErrorRollback && res.Status != StatusOK && res.Status != StatusSuspended && (from == nil || !from.cancel)
}

// advance makes next, which the session owns then, its state.
func (s *Session) advance(next *state) {
	s.now.release()
	s.now = next
}

// Reset makes the session what it was when it was opened: no names, the files that it was given, as a new interpreter.
// Mounted folders of the host stay as they are.
func (s *Session) Reset(ctx context.Context) error {
	if err := s.use(ctx); err != nil {
		return err
	}
	defer s.done()
	st, err := s.anew(ctx)
	if err != nil {
		return s.end(fmt.Errorf("reset the session, which is over: %w", err))
	}
	s.advance(st)
	s.forget(0)
	s.remember(&HistoryEntry{Time: time.Now()})
	s.base.release()
	s.base = nil
	return s.persist()
}

// anew gives the sandbox new files and a new instance.
func (s *Session) anew(ctx context.Context) (*state, error) {
	s.filesMu.Lock()
	defer s.filesMu.Unlock()
	err := s.sb.release()
	s.sb.turns, s.sb.made, s.sb.copied = 0, 0, s.sb.lang.template
	if err == nil && !s.sb.seated {
		if err = s.eng.enter(ctx); err == nil {
			s.sb.seated = true
		}
	}
	if err == nil {
		err = s.sb.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.sb.begin()
}

// end closes a session that cannot go on, and returns why.
func (s *Session) end(why error) error {
	s.closed = true
	if !s.asleep {
		s.filesMu.Lock()
		why = errors.Join(why, s.drop())
		s.filesMu.Unlock()
	}
	s.eng.live.remove(s.id)
	s.blame(nil)
	if s.stored {
		why = errors.Join(why, s.eng.store.remove(s.id))
	}
	return why
}

// use takes the session for one caller, who calls done.
func (s *Session) use(ctx context.Context) error {
	if !s.mu.TryLock() && !s.awaitKeeper() {
		return ErrBusy
	}
	err := error(nil)
	switch {
	case s.why != nil:
		err = fmt.Errorf("session: %w", s.why)
	case s.closed:
		err = fmt.Errorf("session: %w", ErrClosed)
	case s.asleep:
		if err = s.load(ctx); err != nil {
			err = fmt.Errorf("bring the session back from the store: %w", err)
		}
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	s.ask = make(chan struct{})
	s.sb.asked = s.ask
	s.info.Busy, s.info.LastUsed = true, time.Now()
	return nil
}

// awaitKeeper takes mu from the keeper, who holds it for moments, but not from a turn.
func (s *Session) awaitKeeper() bool {
	for !s.Info().Busy {
		if s.mu.TryLock() {
			return true
		}
		time.Sleep(50 * time.Microsecond)
	}
	return s.mu.TryLock()
}

func (s *Session) done() {
	s.infoMu.Lock()
	s.ask = nil
	s.info.Busy, s.info.LastUsed, s.info.Turns = false, time.Now(), s.sb.turns
	if s.now != nil {
		s.info.PendingCalls = s.now.suspended.pending()
	}
	s.infoMu.Unlock()
	s.mu.Unlock()
}

// Files are the session's files as they are now. They must not be used while a turn runs, nor after Close. If the
// session is in the store and cannot be read, which its next turn reports, they are none.
func (s *Session) Files() *Files {
	f := &Files{of: s}
	f.hold()()
	return f
}

// holdFiles gives the files, with filesMu held for reading.
func (s *Session) holdFiles() *vfs.Namespace {
	s.infoMu.Lock()
	s.info.LastUsed = time.Now()
	s.infoMu.Unlock()
	s.filesMu.RLock()
	if s.asleep {
		s.filesMu.RUnlock()
		s.mu.Lock()
		if s.asleep && !s.closed {
			if err := s.load(context.Background()); err != nil {
				s.eng.cfg.Logger.Error("the files of a stored session", "session", s.id, "error", err)
			}
		}
		s.mu.Unlock()
		s.filesMu.RLock()
	}
	if s.asleep {
		return s.sb.lang.Template.New(vfs.Options{Bytes: 1, Inodes: 1})
	}
	return s.sb.tree.Namespace
}

// Close waits for a turn that runs (cancel its context to make it quick) and frees the sandbox. It may be
// called more than once.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	return s.end(nil)
}
