package web

import (
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// SnapshotRequest is the body of POST /v1/sessions/{id}/snapshots, which may be empty.
type SnapshotRequest struct {
	// Metadata is the client's own.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// SnapshotInfo is what a snapshot is.
type SnapshotInfo struct {
	ID          string            `json:"id"`
	Language    string            `json:"language"`
	CreatedAt   time.Time         `json:"created_at"`
	SessionID   string            `json:"session_id,omitempty"` // it was taken of; not of one that was imported
	Turns       int               `json:"turns"`
	MemoryBytes uint64            `json:"memory_bytes"`
	FileBytes   uint64            `json:"file_bytes"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// SnapshotList answers GET /v1/snapshots, oldest first.
type SnapshotList struct {
	Snapshots []SnapshotInfo `json:"snapshots"`
}

// ForkRequest is the body of POST /v1/sessions/{id}/fork.
type ForkRequest struct {
	// Count is how many sessions are made, 1 if it is left out.
	Count *uint64 `json:"count,omitempty"`
	// Turn is how many turns the state is made of that they go on from; the present state if it is left out.
	Turn *int `json:"turn,omitempty"`
}

// RollbackRequest is the body of POST /v1/sessions/{id}/rollback.
type RollbackRequest struct {
	// To is the number of turns that the session is made of afterwards: 0 is how it was opened.
	To *int `json:"to"`
}

// HistoryList answers GET /v1/sessions/{id}/history: the states that the session can go back to, oldest first.
type HistoryList struct {
	History []engine.HistoryEntry `json:"history"`
}

// snapshot is one of the engine's with its owner.
type snapshot struct {
	info SnapshotInfo
	key  *Key
	file string // it is kept in, "" for none

	mu  sync.Mutex       // guards eng
	eng *engine.Snapshot // nil until one of an earlier process is asked for
}

// snapshots are those that can be restored.
type snapshots struct {
	dir string // for their files, "" for none

	mu    sync.Mutex
	all   map[string]*snapshot
	held  map[*Key]int    // there, or being made
	bytes map[*Key]uint64 // that those which are there hold
	// moving are the keys that send or fetch one. One that is sent is held in memory whole, so each key does so with one at a time.
	moving map[*Key]bool
}

// maxSnapshots is how many a key may have, and maxForks how many sessions one request makes.
const (
	maxSnapshots = 64
	maxForks     = 100
)

func newSnapshots() *snapshots {
	return &snapshots{all: map[string]*snapshot{}, held: map[*Key]int{}, bytes: map[*Key]uint64{}, moving: map[*Key]bool{}}
}

// enter takes one of the key's places; leave gives it back.
func (r *snapshots) enter(k *Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[k] >= maxSnapshots {
		return tooMany("this key has %d snapshots, and may not have more: delete one", r.held[k])
	}
	r.held[k]++
	return nil
}

func (r *snapshots) leave(k *Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[k]--; r.held[k] == 0 {
		delete(r.held, k)
	}
}

// weight is what a snapshot holds, though it may share some of that with others.
func (i SnapshotInfo) weight() uint64 { return i.MemoryBytes + i.FileBytes }

// snapshotBytes is what the snapshots of a key may hold together: as much as its sessions may. Nobody could tell otherwise what a
// server takes, since a session can be deleted and its snapshot stays.
func (k *Key) snapshotBytes() uint64 {
	return uint64(k.Policy.MaxSessions) * (k.Policy.Max.MemoryBytes + k.Policy.Max.DiskBytes)
}

// take counts what a new snapshot of the key holds; giveBack takes that off again.
func (r *snapshots) take(k *Key, i SnapshotInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if has := r.bytes[k]; has+i.weight() > k.snapshotBytes() {
		return tooMany("this key's snapshots hold %s, and with another %s more than they may, which is what its sessions may: delete one",
			limits.ApproxSize(has), limits.ApproxSize(i.weight()))
	}
	r.bytes[k] += i.weight()
	return nil
}

func (r *snapshots) giveBack(k *Key, i SnapshotInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes[k] -= i.weight(); r.bytes[k] == 0 {
		delete(r.bytes, k)
	}
}

// move notes that the key sends or fetches one, and fails while it does so with another. Who moves says moved.
func (r *snapshots) move(k *Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moving[k] {
		return tooMany("this key is sending or fetching another snapshot")
	}
	r.moving[k] = true
	return nil
}

func (r *snapshots) moved(k *Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.moving, k)
}

func (r *snapshots) add(k *Key, session string, sn *engine.Snapshot, metadata map[string]string) (SnapshotInfo, error) {
	i := sn.Info()
	s := &snapshot{key: k, eng: sn, info: SnapshotInfo{
		ID: newID("snap_"), Language: i.Language, CreatedAt: time.Now().UTC(), SessionID: session, Turns: i.Turns,
		MemoryBytes: i.MemoryBytes, FileBytes: i.FileBytes, Metadata: metadata,
	}}
	if err := r.take(k, s.info); err != nil {
		return s.info, err
	}
	if err := r.write(s); err != nil {
		r.giveBack(k, s.info)
		return s.info, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[s.info.ID] = s
	return s.info, nil
}

func (r *snapshots) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

func (r *snapshots) find(id string, k *Key) (*snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.all[id]; s != nil && s.key == k {
		return s, nil
	}
	return nil, notFound("snapshot", id)
}

func (r *snapshots) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.all {
		errs = append(errs, s.close())
	}
	clear(r.all)
	clear(r.held)
	clear(r.bytes)
	return errors.Join(errs...)
}

// close frees what the snapshot holds in memory.
func (sn *snapshot) close() error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.eng == nil {
		return nil
	}
	return sn.eng.Close()
}

func (s *Server) createSnapshot(x *exchange, c echo.Context) error {
	var req SnapshotRequest
	if _, err := x.readJSON(&req, true); err != nil {
		return err
	}
	if err := checkMetadata(req.Metadata); err != nil {
		return err
	}
	return s.withFiles(x, c, func(sn *session, _ *engine.Files) error {
		return s.keep(x, sn.id, req.Metadata, func() (*engine.Snapshot, error) { return sn.eng.Snapshot(x.r.Context()) })
	})
}

// keep makes a snapshot and answers with what it is.
func (s *Server) keep(x *exchange, session string, metadata map[string]string, take func() (*engine.Snapshot, error)) error {
	if err := s.snapshots.enter(x.key); err != nil {
		return err
	}
	sn, err := take()
	if err != nil {
		s.snapshots.leave(x.key)
		return err
	}
	info, err := s.snapshots.add(x.key, session, sn, metadata)
	if err != nil {
		s.snapshots.leave(x.key)
		return errors.Join(err, sn.Close())
	}
	x.Header().Set("Location", "/v1/snapshots/"+info.ID)
	return x.reply(http.StatusCreated, info)
}

func (s *Server) listSnapshots(x *exchange, _ echo.Context) error {
	var list []SnapshotInfo
	s.snapshots.mu.Lock()
	for _, sn := range s.snapshots.all {
		if sn.key == x.key {
			list = append(list, sn.info)
		}
	}
	s.snapshots.mu.Unlock()
	slices.SortFunc(list, func(a, b SnapshotInfo) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return replyList(x, http.StatusOK, `{"snapshots":[`, slices.Values(list))
}

func (s *Server) getSnapshot(x *exchange, c echo.Context) error {
	sn, err := s.snapshots.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, sn.info)
}

func (s *Server) deleteSnapshot(x *exchange, c echo.Context) error {
	sn, err := s.snapshots.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	s.snapshots.mu.Lock()
	mine := s.snapshots.all[sn.info.ID] == sn
	delete(s.snapshots.all, sn.info.ID)
	s.snapshots.mu.Unlock()
	if !mine {
		return notFound("snapshot", sn.info.ID)
	}
	s.snapshots.leave(x.key)
	s.snapshots.giveBack(x.key, sn.info)
	if err := errors.Join(s.snapshots.forget(sn), sn.close()); err != nil {
		return err
	}
	x.WriteHeader(http.StatusNoContent)
	return nil
}

// exportSnapshot answers with a file that this deployment, and no other, takes back.
func (s *Server) exportSnapshot(x *exchange, c echo.Context) error {
	sn, err := s.snapshots.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	if err := s.snapshots.move(x.key); err != nil {
		return err
	}
	defer s.snapshots.moved(x.key)
	eng, err := sn.engine(s.cfg.Engine)
	if err != nil {
		return err
	}
	h := x.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": sn.info.ID + snapshotSuffix}))
	if _, err := eng.WriteTo(slowly{x}); err != nil {
		if x.status != 0 {
			panic(http.ErrAbortHandler) // it must not seem whole
		}
		return err
	}
	_ = x.control.SetWriteDeadline(time.Time{})
	return nil
}

// maxImport bounds a snapshot file. One is read as a whole before any of it is used.
const maxImport = 1 << 30

// importBytes is the size of a file that the key may send: somewhat more than what a session of its can hold.
func (k *Key) importBytes() int64 {
	const head = 16 << 20 // who has thousands of files open, with long names
	holds := k.Policy.Max.MemoryBytes + k.Policy.Max.DiskBytes
	return int64(min(maxImport, holds+holds/64+head))
}

func (s *Server) importSnapshot(x *exchange, _ echo.Context) error {
	if e := checkEncoding(x.r); e != nil {
		return e
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.work.Done()
	if err := s.snapshots.move(x.key); err != nil {
		return err
	}
	defer s.snapshots.moved(x.key)
	body, err := x.upload(x.key.importBytes(), "a snapshot of this key may have")
	if err != nil {
		return err
	}
	defer body.Close()
	return s.keep(x, "", nil, func() (*engine.Snapshot, error) {
		sn, err := s.cfg.Engine.ReadSnapshot(body)
		if err != nil && body.err != nil {
			err = body.err
		}
		return sn, err
	})
}

// open makes an engine session: a new one, or one that goes on from a snapshot, under the options o. The files are
// written either way.
func (s *Server) open(ctx context.Context, k *Key, id string, o engine.Options) (*engine.Session, error) {
	if id == "" {
		return s.cfg.Engine.Open(ctx, o)
	}
	sn, err := s.snapshots.find(id, k)
	if err != nil {
		return nil, err
	}
	put := o.Files
	o.Files = nil
	from, err := sn.engine(s.cfg.Engine)
	if err != nil {
		return nil, err
	}
	eng, err := s.cfg.Engine.RestoreWith(ctx, from, o)
	if err != nil {
		return nil, err
	}
	for _, f := range put {
		if err := eng.Files().WriteFile(f.Path, f.Content); err != nil {
			return nil, errors.Join(fileError(err), eng.Close())
		}
	}
	return eng, nil
}

// languageFor is the language of a request: that of its snapshot where it does not say.
func (s *Server) languageFor(language, snapshot string, k *Key) (string, error) {
	if snapshot == "" || language != "" {
		return language, nil
	}
	sn, err := s.snapshots.find(snapshot, k)
	if err != nil {
		return "", err
	}
	return sn.info.Language, nil
}

// forkSession makes sessions that go on from where this one is.
func (s *Server) forkSession(x *exchange, c echo.Context) error {
	var req ForkRequest
	if _, err := x.readJSON(&req, true); err != nil {
		return err
	}
	n := uint64(1)
	if req.Count != nil {
		n = *req.Count
	}
	if n < 1 || n > maxForks {
		return invalidf("count is %d, must be from 1 to %d", n, maxForks)
	}
	var made []*session
	err := s.withFiles(x, c, func(sn *session, _ *engine.Files) error {
		entered := 0
		for ; entered < int(n); entered++ {
			if err := s.sessions.enter(x.key); err != nil {
				s.leave(x.key, entered)
				return err
			}
		}
		var forks []*engine.Session
		var err error
		if req.Turn != nil {
			forks, err = sn.eng.ForkAt(x.r.Context(), *req.Turn, int(n))
		} else {
			forks, err = sn.eng.Fork(x.r.Context(), int(n))
		}
		if err != nil {
			s.leave(x.key, entered)
			return err
		}
		for _, eng := range forks {
			fork := sn.fork(eng)
			s.sessions.add(fork)
			made = append(made, fork)
		}
		s.log(slog.LevelInfo, "operation", "fork", slog.String("session", sn.id), slog.Int("count", int(n)))
		return nil
	})
	if err != nil {
		return err
	}
	return replySessions(x, http.StatusCreated, made)
}

// rollbackSession makes a session what it was after an earlier turn.
func (s *Server) rollbackSession(x *exchange, c echo.Context) error {
	var req RollbackRequest
	if _, err := x.readJSON(&req, false); err != nil {
		return err
	}
	if req.To == nil {
		return invalidf("to is missing: how many turns the session is to be made of, 0 for how it was opened")
	}
	return s.withFiles(x, c, func(sn *session, _ *engine.Files) error {
		if err := sn.eng.Rollback(x.r.Context(), *req.To); err != nil {
			return err
		}
		return x.reply(http.StatusOK, sn.info())
	})
}

func (s *Server) sessionHistory(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	list := HistoryList{History: sn.eng.History()}
	if list.History == nil {
		list.History = []engine.HistoryEntry{}
	}
	return x.reply(http.StatusOK, list)
}

// sessionAutopsy says what the last turn that was stopped was doing. The request ends it.
func (s *Server) sessionAutopsy(x *exchange, c echo.Context) error {
	sn, err := s.sessions.find(c.Param("id"), x.key)
	if err != nil {
		return err
	}
	return s.autopsy(x, sn.eng.Autopsy)
}

func (s *Server) leave(k *Key, n int) {
	for range n {
		s.sessions.leave(k)
	}
}

// fork is a session like sn over another one of the engine.
func (sn *session) fork(eng *engine.Session) *session {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	now := time.Now()
	return &session{
		id: eng.ID(), key: sn.key, language: sn.language, limits: sn.limits, network: sn.network, created: now, eng: eng,
		use: make(chan struct{}, 1), used: now, idle: sn.idle, lifetime: sn.lifetime, metadata: sn.metadata,
	}
}
