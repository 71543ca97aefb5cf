package web

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// gate lets programs run: so many at once, so many of each key, and those that wait in a fair order. Keys take
// turns, so that one with a thousand requests waiting does not keep another's single one from running.
type gate struct {
	max  int
	wait time.Duration

	// mu guards all below. It is held for moments.
	mu      sync.Mutex
	running int
	lanes   map[*Key]*lane
	turn    []*lane // those with somebody waiting, in the order in which they are served
}

// lane is one key's part of the gate.
type lane struct {
	key     *Key
	running int
	waiting []*waiter
	queued  bool // it is in the gate's turn
}

// waiter is one request that waits. Its channel is closed when it may run.
type waiter struct{ ready chan struct{} }

// maxWaiting is how many requests of one key may wait. Each costs a goroutine and its body.
const maxWaiting = 1024

func newGate(max int, wait time.Duration) *gate {
	return &gate{max: max, wait: wait, lanes: map[*Key]*lane{}}
}

// tryEnter enters if that needs no waiting. Who entered leaves.
func (g *gate) tryEnter(k *Key) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.take(g.lane(k))
}

// lane is the key's. Preconditions: mu is held.
func (g *gate) lane(k *Key) *lane {
	l := g.lanes[k]
	if l == nil {
		l = &lane{key: k}
		g.lanes[k] = l
	}
	return l
}

// take takes a place for l if there is one and nobody of l waits for it. Preconditions: mu is held.
func (g *gate) take(l *lane) bool {
	if len(l.waiting) > 0 || g.running >= g.max || l.running >= l.key.Policy.MaxRuns {
		return false
	}
	g.running++
	l.running++
	return true
}

// enter waits until a program of the key may run. Who entered leaves.
func (g *gate) enter(ctx context.Context, k *Key) error {
	g.mu.Lock()
	l := g.lane(k)
	if g.take(l) {
		g.mu.Unlock()
		return nil
	}
	if len(l.waiting) >= maxWaiting {
		g.mu.Unlock()
		return tooMany("%d requests of this key wait already", maxWaiting)
	}
	w := &waiter{ready: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	if !l.queued {
		l.queued = true
		g.turn = append(g.turn, l)
	}
	g.mu.Unlock()

	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	var err error
	select {
	case <-w.ready:
		return nil
	case <-timer.C:
		err = tooMany("no place to run became free in %v", g.wait)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !l.forget(w) { // it was let in meanwhile
		g.free(l)
	}
	return err
}

func tooMany(format string, args ...any) *apiError {
	e := fail(http.StatusTooManyRequests, codeTooMany, format, args...)
	e.retryAfter = time.Second
	return e
}

// leave gives a place back.
func (g *gate) leave(k *Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free(g.lanes[k])
}

// free gives a place of l to the next that waits. Preconditions: mu is held.
func (g *gate) free(l *lane) {
	g.running--
	l.running--
	if l.running == 0 && len(l.waiting) == 0 {
		delete(g.lanes, l.key)
	}
	for i := 0; i < len(g.turn) && g.running < g.max; {
		next := g.turn[i]
		switch {
		case len(next.waiting) == 0: // all of them gave up
			next.queued = false
			g.turn = append(g.turn[:i], g.turn[i+1:]...)
			continue
		case next.running >= next.key.Policy.MaxRuns:
			i++
			continue
		}
		w := next.waiting[0]
		next.waiting = next.waiting[1:]
		g.turn = append(g.turn[:i], g.turn[i+1:]...)
		if next.queued = len(next.waiting) > 0; next.queued {
			g.turn = append(g.turn, next)
		}
		g.running++
		next.running++
		close(w.ready)
		i = 0
	}
}

// forget takes a waiter out. It is false when it does not wait any longer. Preconditions: the gate's mu is held.
func (l *lane) forget(w *waiter) bool {
	for i, o := range l.waiting {
		if o == w {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// load is how many programs run, and how many requests wait.
func (g *gate) load() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.lanes {
		waiting += len(l.waiting)
	}
	return g.running, waiting
}
