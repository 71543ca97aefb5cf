package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine/durable"
	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/runtimes"
)

// A store is a folder that keeps sessions while their process does not, and while they are idle. A session has two
// files, both in the format of snapshots:
//
//	ID.turn      the state after the last turn: who the session is, and the pages that its base does not have
//	ID.N.base    an earlier state in full
//
// A turn replaces ID.turn, by one rename; so at any moment the folder holds one state of a session, whole. When the
// difference from the base grows, a new base is written first, under the next number; ID.turn names its number and
// hash, and what it does not name is garbage.
type store struct {
	dir  string
	lock io.Closer

	// mu guards known, and is held while a session is brought back, so that it happens once.
	mu    sync.Mutex
	known map[string]*SessionInfo // sessions that are only here; nil until it was read
}

const (
	turnSuffix = ".turn"
	baseSuffix = ".base"
	lockFile   = ".lock"
)

// storeSlack is what may differ from a base, in bytes, before a new one is written, besides half of what it holds.
const storeSlack = 1 << 20

var sessionID = regexp.MustCompile(`^ses_[a-z0-9]{10,40}$`)

// openStore opens the folder, which is made if it is missing, for this process alone.
func openStore(dir string) (*store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the store: %w", err)
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err == nil {
		err = runtimes.CheckPrivate(info)
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	s := &store{dir: dir, known: map[string]*SessionInfo{}}
	if s.lock, err = runtimes.Lock(filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	if err := s.scan(); err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", dir, err), s.lock.Close())
	}
	return s, nil
}

// scan finds the sessions of an earlier process, and removes what it left half written.
func (s *store) scan() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), turnSuffix); ok && sessionID.MatchString(id) {
			s.known[id] = nil
		}
	}
	return durable.Clean(s.dir)
}

func (s *store) turnFile(id string) string { return filepath.Join(s.dir, id+turnSuffix) }
func (s *store) baseFile(id string, n int) string {
	return filepath.Join(s.dir, id+"."+strconv.Itoa(n)+baseSuffix)
}

// remove forgets a session.
func (s *store) remove(id string) error {
	err := os.Remove(s.turnFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.removeBases(id, -1))
}

// removeBases removes the bases of a session but one.
func (s *store) removeBases(id string, but int) error {
	bases, err := filepath.Glob(filepath.Join(s.dir, id+".*"+baseSuffix)) // the id has no pattern in it
	for _, b := range bases {
		if b != s.baseFile(id, but) {
			err = errors.Join(err, os.Remove(b))
		}
	}
	return err
}

// saved is a base of a session: a state that the store holds in full.
type saved struct {
	number int
	hash   []byte // of the file
	st     *state
}

func (b *saved) release() {
	if b != nil {
		b.st.release()
	}
}

// storedSession is what a store keeps of a session besides its state.
type storedSession struct {
	ID      string            `json:"id"`
	Created time.Time         `json:"created"`
	Used    time.Time         `json:"used"`
	Labels  map[string]string `json:"labels,omitempty"`
	Base    int               `json:"base"`
	Hash    []byte            `json:"hash"` // SHA-256 of the base's file
	// SameFiles says that the files are those of the base.
	SameFiles bool `json:"same_files,omitempty"`
}

// persist writes the session's state to the store. Preconditions: mu is held, and the session has files in memory.
func (s *Session) persist() error {
	st := s.eng.store
	if st == nil || s.transient {
		return nil
	}
	if err := s.write(st); err != nil {
		return fmt.Errorf("store the session: %w", err)
	}
	s.stored = true
	return nil
}

func (s *Session) write(to *store) error {
	key, err := s.eng.snapshotKey()
	if err != nil {
		return err
	}
	now, err := s.present()
	if err != nil {
		return err
	}
	defer now.release()
	if s.base == nil || now.vm.Memory.NewSince(s.base.st.vm.Memory) > s.base.st.vm.Memory.Bytes()/2+storeSlack {
		if err := s.rebase(to, key, now); err != nil {
			return err
		}
	}
	info := s.Info()
	h := headerOf(s.sb.lang.ID, s.sb.opts, now)
	h.Session = &storedSession{
		ID: s.id, Created: info.Created, Used: info.LastUsed, Labels: s.sb.opts.Labels, Base: s.base.number, Hash: s.base.hash,
		SameFiles: now.files.Same(s.base.st.files),
	}
	part := *now
	if h.Session.SameFiles {
		part.files = nil
	}
	err = durable.Write(to.turnFile(s.id), func(w io.Writer) error {
		_, err := h.write(w, key, &part, s.base.st.vm.Memory)
		return err
	})
	s.written = now.files
	return errors.Join(err, to.removeBases(s.id, s.base.number))
}

// rebase writes a state in full.
func (s *Session) rebase(to *store, key []byte, now *state) error {
	next := &saved{number: s.bases + 1, st: now.copy()}
	sum := sha256.New()
	err := durable.Write(to.baseFile(s.id, next.number), func(w io.Writer) error {
		_, err := headerOf(s.sb.lang.ID, s.sb.opts, now).write(io.MultiWriter(w, sum), key, now, nil)
		return err
	})
	if err != nil {
		next.release()
		return err
	}
	next.hash = sum.Sum(nil)
	s.base.release()
	s.base, s.bases = next, next.number
	return nil
}

// readTurn reads the file of a session and checks it.
func (s *store) readTurn(id string, key []byte) (*snapFile, error) {
	f, err := os.Open(s.turnFile(id))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	turn, err := readSnapshot(f, key)
	if err != nil {
		return nil, err
	}
	if turn.Session == nil || turn.Session.ID != id {
		return nil, badSnapshot("it is not the file of that session")
	}
	return turn, nil
}

// read gives the state of a stored session and its base. The caller owns both.
func (s *store) read(turn *snapFile, key []byte, l *loaded) (*state, *saved, error) {
	file, err := os.Open(s.baseFile(turn.Session.ID, turn.Session.Base))
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	sum := sha256.New()
	f, err := readSnapshot(io.TeeReader(file, sum), key)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(sum.Sum(nil), turn.Session.Hash) {
		return nil, nil, badSnapshot("its base is another")
	}
	base, err := f.open(l)
	if err != nil {
		return nil, nil, err
	}
	st, err := turn.open(l)
	if err != nil {
		base.release()
		return nil, nil, err
	}
	whole, err := memimage.Merge(base.vm.Memory, st.vm.Memory)
	st.vm.Memory.Release()
	if err != nil {
		base.release()
		return nil, nil, badSnapshot("%w", err)
	}
	st.vm.Memory = whole
	if turn.Session.SameFiles {
		st.exported = base.exported
	}
	return st, &saved{number: turn.Session.Base, hash: turn.Session.Hash, st: base}, nil
}

// load brings the state of a stored session back into it. Preconditions: mu is held.
func (s *Session) load(ctx context.Context, adjust ...func(*Options)) error {
	key, err := s.eng.snapshotKey()
	if err != nil {
		return err
	}
	turn, err := s.eng.store.readTurn(s.id, key)
	if err != nil {
		return err
	}
	o := turn.Options.options()
	lang, _, err := s.eng.interpreter(ctx, o)
	if err != nil {
		return err
	}
	st, base, err := s.eng.store.read(turn, key, lang)
	if err != nil {
		return err
	}
	o.Labels = turn.Session.Labels
	if s.sb != nil {
		o = s.sb.opts // with what cannot be stored
	}
	for _, change := range adjust {
		change(&o)
	}
	sb, err := s.eng.settle(lang, o, st)
	if err != nil {
		base.release()
		return err
	}
	s.filesMu.Lock()
	s.sb, s.now, s.asleep, s.stored, s.written, s.bases = sb, st, false, true, st.files, base.number
	s.filesMu.Unlock()
	if turn.Session.SameFiles {
		base.st.files, base.st.exported = st.files, nil
		s.base = base
	} else {
		base.release() // the next write begins a new one
	}
	s.infoMu.Lock()
	s.info.Language, s.info.Turns, s.info.Labels, s.info.PendingCalls = o.language(), st.turns, o.Labels, st.suspended.pending()
	s.infoMu.Unlock()
	s.remember(&HistoryEntry{Turn: st.turns, Time: s.info.LastUsed})
	return nil
}

// Sessions describes the sessions that there are, by age: those that are open in this process, and those that the
// store has from an earlier one. Of the latter, those that cannot be used any more (made with another build of the
// interpreter or another key) are left out, and those whose time is over are removed.
func (e *Engine) Sessions() []SessionInfo {
	var out []SessionInfo
	for _, s := range e.live.list() {
		out = append(out, s.Info())
	}
	if e.store != nil {
		out = append(out, e.store.list(e)...)
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return a.Created.Compare(b.Created) })
	return out
}

// list describes the sessions that are only in the store.
func (s *store) list(e *Engine) []SessionInfo {
	key, err := e.snapshotKey()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []SessionInfo
	for id, info := range s.known {
		if info == nil {
			turn, err := s.readTurn(id, key)
			if err != nil {
				e.cfg.Logger.Warn("a stored session cannot be read", "session", id, "error", err)
				continue
			}
			info = turn.info()
			s.known[id] = info
		}
		if why := info.over(time.Now()); why != nil {
			delete(s.known, id)
			if err := s.remove(id); err != nil {
				e.cfg.Logger.Warn("a stored session whose time is over cannot be removed", "session", id, "error", err)
			}
			continue
		}
		out = append(out, *info)
	}
	return out
}

func (f *snapFile) info() *SessionInfo {
	o := f.Options.options()
	return &SessionInfo{
		ID: f.Session.ID, Language: o.language(), Created: f.Session.Created, LastUsed: f.Session.Used, Turns: f.Turns,
		Labels: f.Session.Labels, Stored: true, PendingCalls: f.Suspended.pending(), idle: o.IdleTimeout, lifetime: o.MaxLifetime,
	}
}

// Session finds a session by its ID: one that is open, or one that the store has, which is brought back. Of the
// options of such a one, Network, Tools and Shared could not be stored: adjust sets them. It fails with
// [ErrNoSession] when there is none.
func (e *Engine) Session(ctx context.Context, id string, adjust ...func(*Options)) (*Session, error) {
	if s := e.live.find(id); s != nil {
		return s, nil
	}
	if e.store == nil || !sessionID.MatchString(id) {
		return nil, fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if s := e.live.find(id); s != nil {
		return s, nil
	}
	if _, ok := e.store.known[id]; !ok {
		return nil, fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	key, err := e.snapshotKey()
	if err != nil {
		return nil, err
	}
	turn, err := e.store.readTurn(id, key)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	s := &Session{eng: e, id: id, info: *turn.info()}
	s.info.Stored = false
	if why := s.info.over(time.Now()); why != nil {
		delete(e.store.known, id)
		return nil, errors.Join(fmt.Errorf("session %s: %w", id, why), e.store.remove(id))
	}
	if err := s.load(ctx, adjust...); err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	if err := e.live.add(s); err != nil {
		return nil, errors.Join(err, s.drop())
	}
	delete(e.store.known, id)
	return s, nil
}
