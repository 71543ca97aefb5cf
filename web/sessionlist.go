package web

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine"
)

// sessions are those that live, and the names of those that expired lately.
type sessions struct {
	s *Server

	// mu guards all below.
	mu      sync.Mutex
	all     map[string]*session
	opening map[*Key]int // being made, or live
	total   int
	expired map[string]*Key
	order   []string // of expired, oldest first
	stop    chan struct{}
	stopped sync.WaitGroup
}

const (
	// maxExpired is how many expired names are remembered, so that their clients hear why they are gone.
	maxExpired  = 4096
	maxIdle     = 24 * time.Hour
	maxLifetime = 30 * 24 * time.Hour
	// fileWait is how long a file operation waits for another one of the same session.
	fileWait = 10 * time.Second
)

func newSessions(s *Server) *sessions {
	r := &sessions{s: s, all: map[string]*session{}, opening: map[*Key]int{}, expired: map[string]*Key{}, stop: make(chan struct{})}
	r.stopped.Go(r.reap)
	return r
}

// enter takes one of the places for sessions; leave gives it back.
func (r *sessions) enter(k *Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.opening[k] >= k.Policy.MaxSessions:
		return tooMany("this key has %d sessions, and may not have more: delete one", r.opening[k])
	case r.total >= r.s.cfg.MaxSessions:
		return tooMany("the server has %d sessions, and takes no more", r.total)
	}
	r.opening[k]++
	r.total++
	return nil
}

func (r *sessions) leave(k *Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone(k)
}

func (r *sessions) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// gone counts a session that is no more. Preconditions: mu is held.
func (r *sessions) gone(k *Key) {
	r.total--
	if r.opening[k]--; r.opening[k] == 0 {
		delete(r.opening, k)
	}
}

func (r *sessions) add(sn *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[sn.id] = sn
}

// find is a session of the key. Those of others do not exist.
func (r *sessions) find(id string, k *Key) (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sn := r.all[id]; sn != nil && sn.key == k {
		return sn, nil
	}
	if r.expired[id] == k && k != nil {
		return nil, expired(id)
	}
	return nil, notFound("session", id)
}

func expired(id string) error {
	return fail(http.StatusGone, codeExpired, "the session %s has expired", quoted(id))
}

func (r *sessions) of(k *Key) []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*session
	for _, sn := range r.all {
		if sn.key == k {
			out = append(out, sn)
		}
	}
	slices.SortFunc(out, func(a, b *session) int { return a.created.Compare(b.created) })
	return out
}

// remove takes a session out, once. It is false when somebody else did.
func (r *sessions) remove(sn *session, expire bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[sn.id] != sn {
		return false
	}
	delete(r.all, sn.id)
	r.gone(sn.key)
	if expire {
		r.expired[sn.id] = sn.key
		if r.order = append(r.order, sn.id); len(r.order) > maxExpired {
			delete(r.expired, r.order[0])
			r.order = r.order[1:]
		}
	}
	return true
}

// reap ends sessions whose time is over, until stop.
func (r *sessions) reap() {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case now := <-tick.C:
			r.mu.Lock()
			list := slices.Collect(maps.Values(r.all))
			r.mu.Unlock()
			for _, sn := range list {
				r.expire(sn, now)
			}
		}
	}
}

const reapEvery = 200 * time.Millisecond

// expire ends a session if its time is over and nobody uses it.
func (r *sessions) expire(sn *session, now time.Time) {
	sn.mu.Lock()
	over := sn.users == 0 && !now.Before(sn.expires())
	if over {
		sn.closed = true
	}
	sn.mu.Unlock()
	if over && r.remove(sn, true) {
		r.s.log(slog.LevelInfo, "resource", "session expired", slog.String("session", sn.id), slog.String("key", sn.key.Name))
		r.s.closeSession(sn)
	}
}

func (s *Server) closeSession(sn *session) { s.closeEngine(sn.id, sn.eng) }

func (s *Server) closeEngine(id string, eng *engine.Session) {
	if err := eng.Close(); err != nil {
		s.log(slog.LevelError, "error", "close session", slog.String("session", id), slog.String("error", err.Error()))
	}
}

// close ends all sessions. No request uses one any longer.
func (r *sessions) close() error {
	r.mu.Lock()
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	list := slices.Collect(maps.Values(r.all))
	r.mu.Unlock()
	r.stopped.Wait()
	var errs []error
	for _, sn := range list {
		if r.remove(sn, false) && !r.s.cfg.Stored {
			errs = append(errs, sn.eng.Close())
		}
	}
	return errors.Join(errs...)
}
