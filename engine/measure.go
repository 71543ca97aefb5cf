package engine

import (
	"context"
	"time"

	"github.com/cloche-dev/cloche/engine/pool"
)

// Acquire takes a warm instance of a language and gives it back unused, and says how long the taking took: what a
// sandbox costs besides its files and its program. It waits until one is ready, and does not count that.
func (e *Engine) Acquire(ctx context.Context, language string) (time.Duration, error) {
	l, err := e.language(language)
	if err != nil {
		return 0, err
	}
	loaded, err := l.load(ctx)
	if err != nil {
		return 0, err
	}
	for loaded.pool.Stats().Ready == 0 && ctx.Err() == nil {
		time.Sleep(20 * time.Microsecond)
	}
	begun := time.Now()
	inst, err := loaded.pool.Get(ctx)
	took := time.Since(begun)
	if err != nil {
		return 0, err
	}
	loaded.pool.Put(inst)
	return took, nil
}

// Rest gives back at once what idle sessions hold besides their states, as they do by themselves after
// Config.ParkAfter.
func (e *Engine) Rest() {
	for _, s := range e.live.all() {
		if s.mu.TryLock() {
			if !s.closed && !s.asleep {
				s.sb.park()
			}
			s.mu.Unlock()
		}
	}
}

// Pools tells how the warm instances of each interpreter do that is loaded, by its language: [Python] or [JavaScript].
func (e *Engine) Pools() map[string]pool.Stats {
	out := map[string]pool.Stats{}
	for name, l := range e.languages {
		if !l.mu.TryLock() {
			continue // it is being loaded
		}
		if l.loaded != nil {
			out[name] = l.loaded.pool.Stats()
		}
		l.mu.Unlock()
	}
	return out
}
