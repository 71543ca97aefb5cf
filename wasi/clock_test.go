package wasi

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

func TestClockTimeGet(t *testing.T) {
	start := time.Date(2024, 2, 3, 4, 5, 6, 7, time.UTC)
	g := newGuest(t, Config{Clock: NewFixedClock(start, time.Millisecond)})
	for _, tt := range []struct {
		name  string
		clock uint64
		want  uint64
	}{
		// New read the clock once, and each reading is one tick.
		{"realtime", clockRealtime, uint64(start.UnixNano()) + 2e6},
		{"monotonic", clockMonotonic, 3e6},
		{"process", clockProcess, 3e6},
		{"thread", clockThread, 4e6},
	} {
		g.want(ErrnoSuccess, "clock_time_get", tt.clock, 0, resultOff)
		if got := g.u64(resultOff); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	g.want(ErrnoInval, "clock_time_get", 4, 0, resultOff)
	g.want(ErrnoFault, "clock_time_get", clockRealtime, 0, 4*65536-7)
}

func TestClockResolution(t *testing.T) {
	g := newGuest(t, Config{})
	for id := range uint64(4) {
		g.want(ErrnoSuccess, "clock_res_get", id, resultOff)
		if got := g.u64(resultOff); got != 1 {
			t.Errorf("clock %d: resolution %d, want 1", id, got)
		}
	}
	g.want(ErrnoInval, "clock_res_get", 4, resultOff)
}

func TestUnixNano(t *testing.T) {
	for _, tt := range []struct {
		in   time.Time
		want uint64
	}{
		{time.Unix(0, 0), 0},
		{time.Unix(-1, 0), 0},
		{time.Time{}, 0},
		{time.Unix(1, 5), 1_000_000_005},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1<<63 - 1},
	} {
		if got := unixNano(tt.in); got != tt.want {
			t.Errorf("unixNano(%v) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestFixedClockSleepTakesNoTime(t *testing.T) {
	c := NewFixedClock(time.Unix(0, 0), 0)
	began := time.Now()
	if err := c.Sleep(context.Background(), 1000*time.Hour); err != nil {
		t.Fatal(err)
	}
	if time.Since(began) > time.Minute {
		t.Error("a fixed clock waited")
	}
	if got := c.Monotonic(); got != 1000*time.Hour+time.Microsecond {
		t.Errorf("after the sleep it is %v", got)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(io.ErrClosedPipe)
	if err := c.Sleep(ctx, 1); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("sleep under a cancelled context: %v", err)
	}
	for range 3 {
		c.add(1<<63 - 1)
	}
	if got := c.Monotonic(); got != 1<<63-1 {
		t.Errorf("the end of time is %v", got)
	}
}

// slowSleeper is a Clock without Wait: input must end its Sleep.
type slowSleeper struct{ Clock }

func TestSleepOrInput(t *testing.T) {
	ready := make(chan struct{})
	time.AfterFunc(10*time.Millisecond, func() { close(ready) })
	came, err := sleepOrInput(context.Background(), HostClock(), time.Minute, ready)
	if !came || err != nil {
		t.Errorf("input came: %v, %v", came, err)
	}
	if err := waitForInput(context.Background(), slowSleeper{HostClock()}, ready); err != nil {
		t.Errorf("waitForInput: %v", err)
	}
	came, err = sleepOrInput(context.Background(), HostClock(), time.Millisecond, make(chan struct{}))
	if came || err != nil {
		t.Errorf("time passed: %v, %v", came, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(io.ErrClosedPipe)
	came, err = sleepOrInput(ctx, HostClock(), time.Minute, make(chan struct{}))
	if came || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("cancelled: %v, %v", came, err)
	}
}
