package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"

	"github.com/cloche-dev/cloche/engine/vm"
)

// deadline is the time of one turn: when it is interrupted, when it is stopped, and how much of it was spent
// waiting. It is the clock that the guest sees, and what its fuel slices ask whether it may go on.
//
//	start ---- computing, waiting ---- soft ---- grace ---- hard
//	                                   |                    the run ends with an ExceededError
//	                                   the program is interrupted once, by its language's means
type deadline struct {
	wall      func() time.Time
	start     time.Time
	timeout   time.Duration
	soft      time.Time
	hard      time.Time
	interrupt func(context.Context) error

	interrupted bool
	waited      time.Duration
}

func newDeadline(wall func() time.Time, l limits.Limits, interrupt func(context.Context) error) *deadline {
	now := time.Now()
	return &deadline{
		wall: wall, start: now, timeout: l.Timeout,
		soft: now.Add(l.Timeout), hard: now.Add(l.Timeout + l.Grace), interrupt: interrupt,
	}
}

// check is the Meter's: may the guest go on computing?
func (d *deadline) check(ctx context.Context, _ vm.Guest) error {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	now := time.Now()
	if !now.Before(d.hard) {
		return d.exceeded(now)
	}
	if !d.interrupted && !now.Before(d.soft) {
		d.interrupted = true
		return d.interrupt(ctx)
	}
	return nil
}

func (d *deadline) exceeded(now time.Time) error {
	return &limits.ExceededError{Resource: limits.WallTime, Limit: uint64(d.timeout), Used: uint64(now.Sub(d.start))}
}

// Now implements [wasi.Clock].
func (d *deadline) Now() time.Time { return d.wall() }

// Monotonic implements [wasi.Clock].
func (d *deadline) Monotonic() time.Duration { return time.Since(processStart) }

var processStart = time.Now()

// Sleep implements [wasi.Clock]: it ends early when the turn is interrupted or over.
func (d *deadline) Sleep(ctx context.Context, length time.Duration) error {
	begin := time.Now()
	defer func() { d.waited += time.Since(begin) }()
	next := d.soft
	if d.interrupted {
		next = d.hard
	}
	untilNext := max(next.Sub(begin), 0)
	timer := time.NewTimer(min(length, untilNext))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return cancelled(ctx)
	case now := <-timer.C:
		switch {
		case length <= untilNext:
			return nil
		case d.interrupted:
			return d.exceeded(now)
		}
		d.interrupted = true
		if err := d.interrupt(ctx); err != nil {
			return err
		}
		return wasi.ErrInterrupted
	}
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
