package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/cloche-dev/cloche/engine/durable"
)

// ErrSnapshot is wrapped by what is wrong with a snapshot: it was changed or cut, belongs to another deployment, another
// build of the interpreter or another language. Nothing of it was used then. It is [ErrInvalid] too.
var ErrSnapshot = fmt.Errorf("%w snapshot", ErrInvalid)

func badSnapshot(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrSnapshot, fmt.Errorf(format, args...))
}

// A Snapshot is a session's state between two turns: memory, files in memory, open descriptors and options. It is
// immutable, may be used from several goroutines, and shares what it holds with the session it was taken of. Random
// generators are renewed in every session that is restored from it, but for those that the program gave a
// seed of its own.
type Snapshot struct {
	eng  *Engine
	lang *loaded
	opts Options

	// mu guards st, which is nil when the snapshot was closed. Nobody has to close it.
	mu      sync.Mutex
	st      *state
	cleanup runtime.Cleanup
}

// SnapshotInfo describes a snapshot.
type SnapshotInfo struct {
	Language string `json:"language"`
	Turns    int    `json:"turns"`
	// MemoryBytes is what the snapshot holds beyond its image, whole pages, some of them perhaps shared with others.
	MemoryBytes uint64 `json:"memory_bytes"`
	// FileBytes is what its files in memory hold.
	FileBytes uint64 `json:"file_bytes"`
	// Suspended says that its last turn is not over: see Session.Resume.
	Suspended bool `json:"suspended,omitempty"`
}

// Snapshot takes the session's state. It fails with [ErrBusy] while a turn runs. The snapshot lives as long as it is
// used, or until its Close.
func (s *Session) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := s.use(ctx); err != nil {
		return nil, err
	}
	defer s.done()
	st, err := s.present()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return newSnapshot(s.eng, s.sb.lang, s.sb.opts, st), nil
}

// present is the state now, with files that the host has written since the last turn. The caller owns it.
func (s *Session) present() (*state, error) {
	st, err := s.sb.describe(s.now.vm.Retain())
	if err != nil {
		return nil, err
	}
	st.turns, st.copied, st.suspended = s.now.turns, true, s.now.suspended
	return st, nil
}

func newSnapshot(e *Engine, l *loaded, o Options, st *state) *Snapshot {
	o.Files = nil // they are in the state
	sn := &Snapshot{eng: e, lang: l, opts: o, st: st}
	sn.cleanup = runtime.AddCleanup(sn, (*state).release, st)
	return sn
}

// Close frees what the snapshot alone holds. It may be called more than once.
func (sn *Snapshot) Close() error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.st != nil {
		sn.cleanup.Stop()
		sn.st.release()
		sn.st = nil
	}
	return nil
}

// Info describes the snapshot.
func (sn *Snapshot) Info() SnapshotInfo {
	st, err := sn.state()
	if err != nil {
		return SnapshotInfo{}
	}
	defer st.release()
	info := SnapshotInfo{Language: sn.opts.language(), Turns: st.turns, MemoryBytes: st.vm.Memory.Bytes(), Suspended: st.suspended != nil}
	if st.files != nil {
		info.FileBytes = uint64(max(st.files.Usage().Bytes, 0))
	} else {
		info.FileBytes = uint64(len(st.exported))
	}
	return info
}

// state is the snapshot's, for another owner.
func (sn *Snapshot) state() (*state, error) {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.st == nil {
		return nil, fmt.Errorf("snapshot: %w", ErrClosed)
	}
	return sn.st.copy(), nil
}

// Options are those of the session that the snapshot was taken of, as far as they could be kept: a snapshot that was
// read has no Network, no Tools and no Shared.
func (sn *Snapshot) Options() Options { return sn.opts }

// Restore makes a session that goes on from a snapshot, under the snapshot's own options.
func (e *Engine) Restore(ctx context.Context, sn *Snapshot) (*Session, error) {
	return e.RestoreWith(ctx, sn, sn.opts)
}

// RestoreWith is Restore under other options. The language must be the snapshot's; Files are not written, and
// Mounts must be as many overlays as they were.
func (e *Engine) RestoreWith(ctx context.Context, sn *Snapshot, o Options) (*Session, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	lang, o, err := e.interpreter(ctx, o)
	if err != nil {
		return nil, err
	}
	if lang != sn.lang {
		return nil, badSnapshot("it is of %s, or of another engine", sn.opts.language())
	}
	st, err := sn.state()
	if err != nil {
		return nil, err
	}
	s, err := e.resume(lang, o, st, false)
	if err != nil {
		return nil, err
	}
	return s.begun(ctx)
}

// resume makes a session that goes on from a state, which it owns then.
func (e *Engine) resume(l *loaded, o Options, st *state, transient bool) (*Session, error) {
	sb, err := e.settle(l, o, st)
	if err != nil {
		return nil, err
	}
	return e.session(sb, st, transient)
}

// settle makes a sandbox without an instance that goes on from a state. After an error the state is released.
func (e *Engine) settle(l *loaded, o Options, st *state) (*sandbox, error) {
	o.Files = nil
	if err := o.fits(o.Limits.Or(e.cfg.Limits), st.vm.Memory.Size()); err != nil {
		st.release()
		return nil, err
	}
	sb, err := e.revive(l, o, st)
	if err != nil {
		st.release()
		return nil, err
	}
	st.files, st.exported = sb.tree.Snapshot(), nil
	return sb, nil
}

// Fork makes n sessions that go on from this one's state, each by itself. They share with it what none of them
// changes. It fails with [ErrBusy] while a turn runs. A store has them from their first turn on.
func (s *Session) Fork(ctx context.Context, n int) ([]*Session, error) {
	return s.fork(ctx, n, false)
}

func (s *Session) fork(ctx context.Context, n int, transient bool) ([]*Session, error) {
	if err := s.use(ctx); err != nil {
		return nil, err
	}
	defer s.done()
	st, err := s.present()
	if err != nil {
		return nil, fmt.Errorf("fork: %w", err)
	}
	defer st.release()
	return s.branch(ctx, st, n, transient)
}

// maxForks bounds the sessions that one call makes.
const maxForks = 10_000

func (s *Session) branch(ctx context.Context, st *state, n int, transient bool) (forks []*Session, err error) {
	if n < 1 || n > maxForks {
		return nil, invalid("%d forks: between 1 and %d can be made at once", n, maxForks)
	}
	defer func() {
		if err != nil {
			for _, f := range forks {
				err = errors.Join(err, f.Close())
			}
			forks = nil
		}
	}()
	for range n {
		if ctx.Err() != nil {
			return forks, fmt.Errorf("fork: %w", context.Cause(ctx))
		}
		f, err := s.eng.resume(s.sb.lang, s.sb.opts, st.copy(), transient)
		if err != nil {
			return forks, fmt.Errorf("fork: %w", err)
		}
		forks = append(forks, f)
	}
	return forks, nil
}

// WriteTo writes the snapshot as a file that [Engine.ReadSnapshot] takes in a process with the same key and the same
// build of the interpreter. It implements io.WriterTo.
func (sn *Snapshot) WriteTo(w io.Writer) (int64, error) {
	st, err := sn.state()
	if err != nil {
		return 0, err
	}
	defer st.release()
	key, err := sn.eng.snapshotKey()
	if err != nil {
		return 0, err
	}
	n, err := writeSnapshot(w, key, sn.lang.ID, sn.opts, st)
	if err != nil {
		return n, fmt.Errorf("write a snapshot: %w", err)
	}
	return n, nil
}

// WriteFile writes the snapshot to a file that only its owner can read. It is there as a whole or not at all,
// whatever happens meanwhile: it is written under another name, made permanent and renamed.
func (sn *Snapshot) WriteFile(name string) error {
	err := durable.Write(name, func(w io.Writer) error {
		_, err := sn.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("write a snapshot file: %w", err)
	}
	return nil
}

// ReadSnapshot reads what WriteTo wrote, and nothing after it may follow. It is checked in full before any of it is
// used; an error that wraps [ErrSnapshot] says what is wrong with it.
func (e *Engine) ReadSnapshot(r io.Reader) (*Snapshot, error) {
	key, err := e.snapshotKey()
	if err != nil {
		return nil, err
	}
	f, err := readSnapshot(r, key)
	if err != nil {
		return nil, err
	}
	o := f.Options.options()
	lang, _, err := e.interpreter(context.Background(), o)
	if err != nil {
		return nil, err
	}
	st, err := f.open(lang)
	if err != nil {
		return nil, err
	}
	return newSnapshot(e, lang, o, st), nil
}
