// Package pool keeps things that are slow to make and quick to reset, ready to be taken.
//
// It knows nothing of WebAssembly. A slot is in one of three places:
//
//	        New                    Get                 Put
//	(none) -----> ready <-----------------> taken ----------> used
//	                ^                                           |
//	                +------------- Reset, by the worker --------+
//
// Get takes a ready slot, or resets a used one, or makes one; it never waits for another caller. How many
// are out at once is its callers' business. All methods may be called from several goroutines. One worker
// goroutine, owned by the pool and ended by Close, fills and resets in the background; no lock is held
// while New, Reset or Free runs.
package pool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is what Get returns after Close.
var ErrClosed = errors.New("pool: closed")

// Config says how slots are made. All three functions are needed and may be called concurrently.
type Config[T any] struct {
	New   func(context.Context) (T, error)
	Reset func(T) error // after an error the slot is freed
	Free  func(T)
	// MaxIdle is the number of slots kept, ready and used together, 1 or more.
	MaxIdle int
	// MinReady is the number of slots that the worker makes ahead of need, at most MaxIdle.
	MinReady int
}

// Stats counts since New.
type Stats struct {
	Hits   uint64 // Get found a ready slot
	Resets uint64 // slots reset
	Made   uint64 // slots made
	Failed uint64 // New or Reset failed
	Ready  int    // now
	Used   int    // now, waiting to be reset
}

// A Pool hands out slots of type T. Of those in one place the last to come is the first to go: its memory is most likely
// still in the caches of the processor.
type Pool[T any] struct {
	cfg    Config[T]
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	live   context.Context

	mu          sync.Mutex // guards the places
	ready, used []T
	closed      bool

	hits, resets, made, failed atomic.Uint64
}

// New starts a pool and its worker.
func New[T any](c Config[T]) *Pool[T] {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool[T]{cfg: c, wake: make(chan struct{}, 1), done: make(chan struct{}), live: ctx, cancel: cancel}
	go p.work()
	p.poke()
	return p
}

// Get takes a slot that is like new. The caller gives it back with Put, or frees it itself.
func (p *Pool[T]) Get(ctx context.Context) (T, error) {
	if t, ok := p.take(&p.ready); ok {
		p.hits.Add(1)
		p.poke()
		return t, nil
	}
	if p.live.Err() != nil {
		var none T
		return none, ErrClosed
	}
	if t, ok := p.take(&p.used); ok && p.reset(t) {
		return t, nil
	}
	return p.make(ctx)
}

// Put gives back a slot that may be reset. When enough are idle, it is freed.
func (p *Pool[T]) Put(t T) {
	if p.keep(&p.used, t) {
		p.poke()
	}
}

// take takes a slot from a place, if one is there.
func (p *Pool[T]) take(place *[]T) (T, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var none T
	last := len(*place) - 1
	if last < 0 {
		return none, false
	}
	t := (*place)[last]
	(*place)[last] = none
	*place = (*place)[:last]
	return t, true
}

// keep puts a slot in a place; when enough are idle, or the pool is closed, it frees it and says no.
func (p *Pool[T]) keep(place *[]T, t T) bool {
	p.mu.Lock()
	room := !p.closed && len(p.ready)+len(p.used) < p.cfg.MaxIdle
	if room {
		*place = append(*place, t)
	}
	p.mu.Unlock()
	if !room {
		p.cfg.Free(t)
	}
	return room
}

// Stats tells how the pool does.
func (p *Pool[T]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Hits: p.hits.Load(), Resets: p.resets.Load(), Made: p.made.Load(), Failed: p.failed.Load(),
		Ready: len(p.ready), Used: len(p.used),
	}
}

// Close ends the worker and frees the idle slots. Slots that are out are their takers' to Put, which
// frees them.
func (p *Pool[T]) Close() {
	p.cancel()
	<-p.done
	p.mu.Lock()
	idle := append(p.ready, p.used...)
	p.ready, p.used, p.closed = nil, nil, true
	p.mu.Unlock()
	for _, t := range idle {
		p.cfg.Free(t)
	}
}

func (p *Pool[T]) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Pool[T]) make(ctx context.Context) (T, error) {
	t, err := p.cfg.New(ctx)
	if err != nil {
		p.failed.Add(1)
		return t, err
	}
	p.made.Add(1)
	return t, nil
}

func (p *Pool[T]) reset(t T) bool {
	if err := p.cfg.Reset(t); err != nil {
		p.failed.Add(1)
		p.cfg.Free(t)
		return false
	}
	p.resets.Add(1)
	return true
}

// pause is how long the worker waits before it sets to work. Waking it costs as much as a quick reset. Callers who come
// one after the other reset slots themselves meanwhile, whose memory is in their processor's caches, not in the worker's.
const pause = time.Millisecond

// work resets what comes back and makes what is missing, until Close.
func (p *Pool[T]) work() {
	defer close(p.done)
	for {
		select {
		case <-p.live.Done():
			return
		case <-p.wake:
		}
		select {
		case <-p.live.Done():
			return
		case <-time.After(pause):
		}
		for p.live.Err() == nil && p.step() {
		}
	}
}

// step does one piece of work and says whether there may be more.
func (p *Pool[T]) step() bool {
	if t, ok := p.take(&p.used); ok {
		if p.reset(t) {
			p.keep(&p.ready, t)
		}
		return true
	}
	if p.Stats().Ready >= p.cfg.MinReady {
		return false
	}
	t, err := p.make(p.live)
	return err == nil && p.keep(&p.ready, t) // after an error the next Get tries again, and has someone to tell
}
