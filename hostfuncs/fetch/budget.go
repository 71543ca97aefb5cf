package fetch

import (
	"context"
	"sync"
	"time"
)

// budget is what a run has left of its limits. It may be used from several goroutines.
type budget struct {
	limits Limits
	slots  chan struct{} // requests on their way

	mu    sync.Mutex
	bytes uint64
	next  time.Time // when the next request may be sent
}

func newBudget(l Limits) *budget {
	return &budget{limits: l, slots: make(chan struct{}, l.Concurrent)}
}

// take counts bytes of bodies.
func (b *budget) take(n uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes += n; b.bytes > b.limits.TotalBytes {
		return refused("ConnectionError", "%s", tooLarge("the bodies of this run's requests have", b.limits.TotalBytes))
	}
	return nil
}

// enter waits until one more request may be sent. leave must follow when there is no error.
func (b *budget) enter(ctx context.Context) error {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := b.pace(ctx); err != nil {
		b.leave()
		return err
	}
	return nil
}

func (b *budget) leave() { <-b.slots }

// pace waits as the rate asks: on average PerSecond a second, and that many at once after a second of silence.
func (b *budget) pace(ctx context.Context) error {
	each := time.Second / time.Duration(b.limits.PerSecond)
	b.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-time.Second); b.next.Before(earliest) {
		b.next = earliest
	}
	b.next = b.next.Add(each)
	wait := b.next.Sub(now)
	b.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
