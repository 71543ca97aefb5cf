package wasi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrInterrupted is what [Clock.Sleep] returns when the run is to notice a signal that the guest has pending. The
// guest's call ends early: with EINTR, or as if the time had passed where its C library knows no EINTR (see
// poll_oneoff in docs/wasi.md).
var ErrInterrupted = errors.New("wasi: wait interrupted")

// Clock is a run's time, and the only way in which this package waits. Its methods are called by the run's
// goroutine alone.
type Clock interface {
	// Now is the wall time. Times before 1970 reach the guest as 1970.
	Now() time.Time
	// Monotonic is the time since an arbitrary start. It does not go back, within a run or from the making of an
	// image to the runs that start from it.
	Monotonic() time.Duration
	// Sleep waits for d, or until ctx is done, or until the run is to end or to be interrupted. It returns nil
	// when d has passed (at once for d <= 0), [ErrInterrupted] for an interrupt; any other error ends the run:
	// the guest's call does not return, and the error is found with errors.As or errors.Is in that of the
	// exported function.
	Sleep(ctx context.Context, d time.Duration) error
}

// Waiter is implemented by a Clock whose waits for input are not Sleeps: one whose time is not real. Wait returns
// nil when ready is closed, and the errors of Sleep. A Clock without it waits for input by a long Sleep under a
// context that is cancelled when input has come.
type Waiter interface {
	Wait(ctx context.Context, ready <-chan struct{}) error
}

// Checker is implemented by a Clock that can end a run otherwise than through the context: by a deadline of its
// own. Check is called between the pieces of long copies, with errors as of Sleep; [ErrInterrupted] is for the next
// wait to notice and changes nothing here.
type Checker interface {
	Check(ctx context.Context) error
}

var (
	hostStart = time.Now()
	// hostOffset is added to the time since the process started, so that the monotonic time of a run which
	// starts from an image made by an earlier process is not before the image's. Counted from a late year to
	// keep it exact when a guest holds seconds in a float64.
	hostOffset = max(0, hostStart.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
)

type hostClock struct{}

// HostClock returns the host's clock. Its Sleep ends with context.Cause when the context is done. It may be
// shared by any number of runs.
func HostClock() Clock { return hostClock{} }

func (hostClock) Now() time.Time           { return time.Now() }
func (hostClock) Monotonic() time.Duration { return hostOffset + time.Since(hostStart) }

func (hostClock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (hostClock) Wait(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// FixedClock is time that a run itself makes pass, so that the same program sees the same times whenever it runs:
// each reading adds a tick, and a Sleep adds its duration without waiting. Each run needs its own.
type FixedClock struct {
	start   time.Time
	tick    time.Duration
	elapsed time.Duration
}

// CheckStart reports a time that a guest's clock cannot tell: it counts nanoseconds from 1970 in 64 bits, and is to have years left.
func CheckStart(t time.Time) error {
	if y := t.UTC().Year(); y < 1970 || y > 2199 {
		return fmt.Errorf("clock is %s, must be in the years 1970 to 2199", t.UTC().Format(time.RFC3339))
	}
	return nil
}

// NewFixedClock returns a clock that stands at start. A tick of zero means one microsecond; without any, a guest
// that waits by looking at the time would never see it pass.
func NewFixedClock(start time.Time, tick time.Duration) *FixedClock {
	if tick <= 0 {
		tick = time.Microsecond
	}
	return &FixedClock{start: start, tick: tick}
}

// Now implements [Clock].
func (c *FixedClock) Now() time.Time {
	c.add(c.tick)
	return c.start.Add(c.elapsed)
}

// Monotonic implements [Clock].
func (c *FixedClock) Monotonic() time.Duration {
	c.add(c.tick)
	return c.elapsed
}

// Sleep implements [Clock]: time passes at once, unless ctx is done.
func (c *FixedClock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.add(d)
	return nil
}

// Wait implements [Waiter]. Waiting for input takes no time of this clock.
func (c *FixedClock) Wait(ctx context.Context, ready <-chan struct{}) error {
	return hostClock{}.Wait(ctx, ready)
}

// add stops at the end of what a Duration holds, 292 years on.
func (c *FixedClock) add(d time.Duration) {
	if d > 0 && c.elapsed <= math.MaxInt64-d {
		c.elapsed += d
	} else if d > 0 {
		c.elapsed = math.MaxInt64
	}
}

// check says whether a run may go on.
func check(ctx context.Context, c Clock) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if checker, ok := c.(Checker); ok {
		return checker.Check(ctx)
	}
	return nil
}

// stopIfOver ends the run when it may not go on.
func (s *State) stopIfOver(ctx context.Context) {
	if err := check(ctx, s.clock); err != nil && !errors.Is(err, ErrInterrupted) {
		panic(err)
	}
}

// errInput is the cause by which a Sleep is cut short when input has come.
var errInput = errors.New("wasi: input has come")

// waitForInput waits until ready is closed, without limit.
func waitForInput(ctx context.Context, c Clock, ready <-chan struct{}) error {
	if w, ok := c.(Waiter); ok {
		return w.Wait(ctx, ready)
	}
	for {
		came, err := sleepOrInput(ctx, c, math.MaxInt64, ready)
		if came || err != nil {
			return err
		}
	}
}

// sleepOrInput sleeps for d, or less when ready is closed: then came is true. The goroutine that watches ready
// has ended when it returns.
func sleepOrInput(ctx context.Context, c Clock, d time.Duration, ready <-chan struct{}) (came bool, err error) {
	sleep, cancel := context.WithCancelCause(ctx)
	watcher := make(chan struct{})
	go func() {
		defer close(watcher)
		select {
		case <-ready:
			cancel(errInput)
		case <-sleep.Done():
		}
	}()
	err = c.Sleep(sleep, d)
	cancel(nil)
	<-watcher
	if err != nil && !errors.Is(err, ErrInterrupted) && context.Cause(sleep) == errInput {
		return true, nil
	}
	return false, err
}

// The clocks of preview1.
const (
	clockRealtime  = 0
	clockMonotonic = 1
	clockProcess   = 2
	clockThread    = 3
)

// time reads a clock in nanoseconds. The clocks of CPU time count the time since the run started: a guest is one
// thread, and a host that told it how much of a CPU it got would tell it about its neighbours.
func (s *State) time(id uint32) (ns uint64, errno Errno) {
	switch id {
	case clockRealtime:
		return unixNano(s.clock.Now()), ErrnoSuccess
	case clockMonotonic:
		return uint64(max(0, s.clock.Monotonic())), ErrnoSuccess
	case clockProcess, clockThread:
		return uint64(max(0, s.clock.Monotonic()-s.started)), ErrnoSuccess
	default:
		return 0, ErrnoInval
	}
}

// unixNano is t as preview1's timestamp. What it cannot hold becomes its nearest value.
func unixNano(t time.Time) uint64 {
	const last = math.MaxInt64 / int64(time.Second)
	switch sec := t.Unix(); {
	case sec < 0:
		return 0
	case sec >= last:
		return math.MaxInt64
	default:
		return uint64(t.UnixNano())
	}
}

// clockResGet implements clock_res_get: id, result offset of a timestamp, which is one nanosecond for each clock.
//   - EINVAL: no such clock
func clockResGet(_ context.Context, _ *State, m guestMemory, p []uint64) Errno {
	if uint32(p[0]) > clockThread {
		return ErrnoInval
	}
	return m.putUint64(uint32(p[1]), 1)
}

// clockTimeGet implements clock_time_get: id, precision (not used), result offset of a timestamp.
//   - EINVAL: no such clock
func clockTimeGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	ns, errno := s.time(uint32(p[0]))
	if errno != ErrnoSuccess {
		return errno
	}
	return m.putUint64(uint32(p[2]), ns)
}
