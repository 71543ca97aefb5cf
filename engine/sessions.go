package engine

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// ErrNoSession is returned for an ID that no session has.
	ErrNoSession = errors.New("there is no such session")
	// ErrExpired is returned by a session that was ended because its time was over. It is ErrClosed too.
	ErrExpired = fmt.Errorf("%w: its time is over", ErrClosed)
	// ErrTooMany is returned when there are as many sessions as there may be.
	ErrTooMany = errors.New("too many sessions")
)

// sessions are those that are open in an engine, and the keeper who looks after them. A session that nobody uses
// goes down by itself:
//
//	live ---- Config.ParkAfter ----> parked ---- Config.HibernateAfter ----> asleep     (with a store)
//	has an instance                  its state in memory                     its state in the store
//	  ^_______________________________________|______________________________________|      the next turn
//
// and is ended when its IdleTimeout or MaxLifetime is over, with the turn that runs then: gently first.
type sessions struct {
	eng *Engine

	// mu guards all below. It is taken after that of a session, if both are.
	mu     sync.Mutex
	open   map[string]*Session
	stop   chan struct{} // closed to end the keeper; nil while there is none
	done   chan struct{}
	closed bool
	// hurry asks the keeper to give back what idle sessions hold of the places for sandboxes.
	hurry chan struct{}
}

func (l *sessions) add(s *Session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return fmt.Errorf("engine: %w", ErrClosed)
	case len(l.open) >= l.eng.cfg.MaxSessions:
		return fmt.Errorf("%w: there are %d", ErrTooMany, len(l.open))
	}
	l.open[s.id] = s
	if l.stop == nil {
		l.stop, l.done = make(chan struct{}), make(chan struct{})
		go l.keep(l.stop, l.done)
	}
	return nil
}

func (l *sessions) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

func (l *sessions) find(id string) *Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.open[id]; s != nil && !s.transient {
		return s
	}
	return nil
}

// list are the open sessions but those of a comparison.
func (l *sessions) list() []*Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Session, 0, len(l.open))
	for _, s := range l.open {
		if !s.transient {
			out = append(out, s)
		}
	}
	return out
}

func (l *sessions) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *sessions) all() []*Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Session, 0, len(l.open))
	for _, s := range l.open {
		out = append(out, s)
	}
	return out
}

// close ends the keeper, and every session: those that a store keeps are there for the next process.
func (l *sessions) close() error {
	l.mu.Lock()
	l.closed = true
	stop, done := l.stop, l.done
	l.stop = nil
	l.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
	var errs []error
	for _, s := range l.all() {
		s.mu.Lock() // waits for a turn
		if !s.closed {
			errs = append(errs, s.leave())
		}
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

// keep looks after the sessions until it is told to stop.
func (l *sessions) keep(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(l.eng.cfg.keeperTick())
	defer tick.Stop()
	for {
		hurried := false
		select {
		case <-stop:
			return
		case <-tick.C:
		case <-l.hurry:
			hurried = true
		}
		now := time.Now()
		for _, s := range l.all() {
			s.lookAfter(now, hurried)
		}
	}
}

// keeperTick is how often sessions are looked after.
func (c Config) keeperTick() time.Duration {
	return min(max(min(c.ParkAfter, c.HibernateAfter)/2, time.Millisecond), 250*time.Millisecond)
}

// over is why a session has to end, or nil.
func (i SessionInfo) over(now time.Time) error {
	if i.idle > 0 && !i.Busy && len(i.PendingCalls) == 0 && now.Sub(i.LastUsed) >= i.idle {
		return ErrExpired
	}
	if i.lifetime > 0 && now.Sub(i.Created) >= i.lifetime {
		return ErrExpired
	}
	return nil
}

// lookAfter does for an idle session what is due.
func (s *Session) lookAfter(now time.Time, hurried bool) {
	info := s.Info()
	over := info.over(now)
	if over != nil && info.Busy {
		s.Interrupt() // then by force, after the grace
		return
	}
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	idle := now.Sub(s.Info().LastUsed)
	cfg := s.eng.cfg
	var err error
	switch {
	case s.closed:
	case over != nil:
		s.why = over
		err = s.end(nil)
	case s.asleep:
	case s.eng.store != nil && !s.transient && idle >= cfg.HibernateAfter:
		err = s.sleep()
	case s.sb.seated && (hurried || idle >= cfg.ParkAfter):
		s.sb.park()
	}
	if err != nil {
		cfg.Logger.Warn("a session that nobody uses", "session", s.id, "error", err)
	}
}

// sleep leaves the session to the store. Preconditions: mu is held.
func (s *Session) sleep() error {
	if s.eng.live.isClosed() {
		s.filesMu.Lock()
	} else if !s.filesMu.TryLock() {
		return nil // they are in use
	}
	defer s.filesMu.Unlock()
	if time.Since(s.Info().LastUsed) < s.eng.cfg.HibernateAfter && !s.eng.live.isClosed() {
		return nil // they were used meanwhile
	}
	if !s.stored || !s.sb.tree.Snapshot().Same(s.written) {
		if err := s.persist(); err != nil {
			return err
		}
	}
	return s.drop()
}

// leave is what becomes of the session when its engine is closed. Preconditions: mu is held.
func (s *Session) leave() error {
	if s.asleep {
		s.closed = true
		s.eng.live.remove(s.id)
		return nil
	}
	if s.eng.store == nil || s.transient {
		return s.end(nil)
	}
	err := s.sleep()
	s.closed = true
	s.eng.live.remove(s.id)
	return err
}

// drop frees what the session holds in memory. Preconditions: mu is held.
func (s *Session) drop() error {
	s.asleep = true
	s.forget(0)
	s.advance(nil)
	s.base.release()
	s.base, s.written = nil, nil
	err := s.sb.close()
	s.sb.tree = nil
	return err
}
