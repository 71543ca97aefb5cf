package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"
)

// deadline is the time of one turn: when it is interrupted, when it is stopped, and how much of it was spent
// waiting. The guest's fuel slices ask it whether it may go on.
//
//	start ---- computing, waiting ---- soft ---- grace ---- hard
//	                                   |                    the run ends with an ExceededError
//	                                   the program is interrupted once, by its language's means
type deadline struct {
	start     time.Time
	timeout   time.Duration
	soft      time.Time
	hard      time.Time
	interrupt func(context.Context) error

	// yield lets check be asked soon. Nil: there is nothing that asks it.
	yield func()

	// unnoticed says whether the program has yet to notice the interrupt. Nil: that cannot be told.
	unnoticed func() bool

	// asked is closed when the caller asks for the interrupt. Nil: nobody can. grace is what the program has from then.
	asked <-chan struct{}
	grace time.Duration

	interrupted bool
	heard       bool // a wait has ended for that, or found that it was noticed
	byCaller    bool // interrupted because it was asked for
	waited      time.Duration
}

func newDeadline(l limits.Limits, interrupt func(context.Context) error) *deadline {
	now := time.Now()
	return &deadline{
		start: now, timeout: l.Timeout,
		soft: now.Add(l.Timeout), hard: now.Add(l.Timeout + l.Grace), grace: l.Grace, interrupt: interrupt,
	}
}

// check is the Meter's: may the guest go on computing?
func (d *deadline) check(ctx context.Context, _ vm.Guest) error {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	d.heed()
	now := time.Now()
	if !now.Before(d.hard) {
		return d.over()
	}
	if !d.interrupted && !now.Before(d.soft) {
		d.interrupted = true
		return d.interrupt(ctx)
	}
	return nil
}

// heed makes the turn's time end now, if the caller asked for that.
func (d *deadline) heed() {
	if d.interrupted {
		return
	}
	select {
	case <-d.asked:
		now := time.Now()
		d.byCaller, d.soft = true, now
		if hard := now.Add(d.grace); hard.Before(d.hard) {
			d.hard = hard
		}
	default:
	}
}

var errInterrupted = errors.New("the turn was interrupted")

// over is the error of a turn whose time has passed.
func (d *deadline) over() error {
	if d.byCaller {
		return &cancelledError{errInterrupted}
	}
	return d.error(time.Now())
}

func (d *deadline) error(now time.Time) *limits.ExceededError {
	return &limits.ExceededError{Resource: limits.WallTime, Limit: uint64(d.timeout), Used: uint64(now.Sub(d.start))}
}

// turnClock is the guest's clock: it reads what the sandbox was given, and waits as the turn may.
type turnClock struct {
	wasi.Clock
	turn *deadline
}

// Sleep implements [wasi.Clock]. On a clock of the sandbox's own, sleeping takes no time.
func (c *turnClock) Sleep(ctx context.Context, length time.Duration) error {
	if own, ok := c.Clock.(*wasi.FixedClock); ok {
		return errors.Join(c.Check(ctx), own.Sleep(ctx, length))
	}
	return c.turn.sleep(ctx, length)
}

// Check implements [wasi.Checker]: a long copy ends when the turn is over, and many short ones let the turn look at
// its time.
func (c *turnClock) Check(ctx context.Context) error {
	if c.turn.yield != nil {
		c.turn.yield()
	}
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	if time.Now().After(c.turn.hard) {
		return c.turn.over()
	}
	return nil
}

// sleep waits, but no longer than until the turn is interrupted or over.
func (d *deadline) sleep(ctx context.Context, length time.Duration) error {
	_, err := d.await(ctx, nil, length)
	return err
}

// await waits for done, but no longer than atMost (negative: without that bound) and than until the turn is interrupted
// or over. It says whether done was closed.
func (d *deadline) await(ctx context.Context, done <-chan struct{}, atMost time.Duration) (bool, error) {
	vm.Waiting(ctx)
	d.heed()
	begin := time.Now()
	defer func() { d.waited += time.Since(begin) }()
	next := d.soft
	if d.interrupted {
		next = d.hard
		if !d.heard {
			if d.heard = true; d.unnoticed != nil && d.unnoticed() {
				return false, wasi.ErrInterrupted
			}
		}
	}
	untilNext := max(next.Sub(begin), 0)
	length := untilNext
	bounded := atMost >= 0 && atMost < untilNext // what is due now comes first
	if bounded {
		length = atMost
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	asked := d.asked
	if d.interrupted {
		asked = nil
	}
	select {
	case <-ctx.Done():
		return false, cancelled(ctx)
	case <-done:
		return true, nil
	case <-asked:
		d.heed()
	case <-timer.C:
		switch {
		case bounded:
			return false, nil
		case d.interrupted:
			return false, d.over()
		}
	}
	d.interrupted, d.heard = true, true
	if err := d.interrupt(ctx); err != nil {
		return false, err
	}
	return false, wasi.ErrInterrupted
}

// cancelledError is the caller's context ending a run.
type cancelledError struct{ cause error }

func (e *cancelledError) Error() string { return "cancelled: " + e.cause.Error() }
func (e *cancelledError) Unwrap() error { return e.cause }

func cancelled(ctx context.Context) error { return &cancelledError{context.Cause(ctx)} }

// isCancelled says whether a run was ended by its context.
func isCancelled(err error) bool {
	var c *cancelledError
	return errors.As(err, &c)
}
