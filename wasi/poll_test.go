package wasi

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// sub is a subscription as a test writes it.
type sub struct {
	userdata uint64
	kind     byte
	id       uint32
	timeout  time.Duration
	flags    uint16
}

func clockSub(userdata uint64, clock uint32, d time.Duration, flags uint16) sub {
	return sub{userdata, eventClock, clock, d, flags}
}

func fdSub(userdata uint64, kind byte, fd uint32) sub { return sub{userdata, kind, fd, 0, 0} }

const (
	subsOff   = 8192
	eventsOff = 16384
	maxSubs   = 8
)

// poll calls poll_oneoff and returns the events.
func (g *guest) poll(subs ...sub) ([]event, Errno) {
	g.t.Helper()
	mem := g.all()
	for i := range (maxSubs + 1) * eventBytes {
		mem[eventsOff+i] = '?'
	}
	for i, s := range subs {
		b := mem[subsOff+i*subscriptionBytes:][:subscriptionBytes]
		put64(b, 0, s.userdata)
		b[8] = s.kind
		put32(b, 16, s.id)
		put64(b, 24, uint64(s.timeout))
		b[40], b[41] = byte(s.flags), byte(s.flags>>8)
	}
	errno := g.call("poll_oneoff", subsOff, eventsOff, uint64(len(subs)), resultOff)
	if errno != ErrnoSuccess {
		return nil, errno
	}
	n := g.u32(resultOff)
	var events []event
	for i := range n {
		off := eventsOff + i*eventBytes
		e := event{userdata: g.u64(off), kind: mem[off+10], nbytes: g.u64(off + 16)}
		e.errno = Errno(mem[off+8]) | Errno(mem[off+9])<<8
		events = append(events, e)
	}
	if mem[eventsOff+n*eventBytes] != '?' {
		g.t.Error("wrote past the events")
	}
	return events, errno
}

// wantEvents polls and compares.
func (g *guest) wantEvents(want []event, subs ...sub) {
	g.t.Helper()
	got, errno := g.poll(subs...)
	if errno != ErrnoSuccess || len(got) != len(want) {
		g.t.Fatalf("events %v, %v, want %v", got, errno, want)
	}
	for i := range got {
		if got[i] != want[i] {
			g.t.Errorf("event %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

// scriptedClock answers each Sleep by its script, and remembers how long it was to take.
type scriptedClock struct {
	FixedClock
	answer func(ctx context.Context, d time.Duration) error
	slept  []time.Duration
}

func (c *scriptedClock) Sleep(ctx context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	return c.answer(ctx, d)
}

func TestPollClocks(t *testing.T) {
	c := &scriptedClock{answer: func(context.Context, time.Duration) error { return nil }}
	c.start, c.tick = time.Unix(1000, 0), time.Nanosecond
	g := newGuest(t, Config{Clock: c})
	const second = time.Second

	g.wantEvents([]event{{userdata: 7}}, clockSub(7, clockMonotonic, second, 0))
	g.wantEvents([]event{{userdata: 2}}, clockSub(1, clockMonotonic, 2*second, 0), clockSub(2, clockRealtime, second, 0))
	g.wantEvents([]event{{userdata: 1}, {userdata: 2}}, clockSub(1, clockMonotonic, second, 0), clockSub(2, clockProcess, second, 0))
	if want := []time.Duration{second, second, second}; len(c.slept) != 3 || c.slept[0] != want[0] || c.slept[1] != want[1] {
		t.Errorf("slept %v, want %v", c.slept, want)
	}

	// An absolute time: what is past has come, what is to come is slept until.
	c.slept = nil
	g.wantEvents([]event{{userdata: 3}}, clockSub(3, clockRealtime, 999*second, subclockAbstime))
	g.wantEvents([]event{{userdata: 4}}, clockSub(4, clockRealtime, 1010*second, subclockAbstime))
	if len(c.slept) != 1 || c.slept[0] < 9*second || c.slept[0] > 10*second {
		t.Errorf("slept %v for ten seconds", c.slept)
	}

	// A zero timeout returns at once, alone or beside a longer one.
	c.slept = nil
	g.wantEvents([]event{{userdata: 5}}, clockSub(5, clockMonotonic, 0, 0), clockSub(6, clockMonotonic, second, 0))
	// The longest timeout is cut to what a Duration holds.
	g.wantEvents([]event{{userdata: 8}}, clockSub(8, clockMonotonic, -1, 0))
	if len(c.slept) != 1 || c.slept[0] < 1<<62 {
		t.Errorf("slept %v", c.slept)
	}

	g.wantEvents([]event{{userdata: 9, errno: ErrnoInval}}, clockSub(9, 4, second, 0))
	g.wantEvents([]event{{userdata: 9, errno: ErrnoInval}}, clockSub(9, clockMonotonic, second, 2))
}

func TestPollRefuses(t *testing.T) {
	g := newGuest(t, Config{})
	end := uint64(g.mod.Memory().Size())
	g.want(ErrnoInval, "poll_oneoff", subsOff, eventsOff, 0, resultOff)
	g.want(ErrnoInval, "poll_oneoff", subsOff, eventsOff, maxSubscriptions+1, resultOff)
	g.want(ErrnoInval, "poll_oneoff", subsOff, eventsOff, 1<<32-1, resultOff)
	g.want(ErrnoFault, "poll_oneoff", end-47, eventsOff, 1, resultOff)
	g.want(ErrnoFault, "poll_oneoff", subsOff, end-31, 1, resultOff)
	g.want(ErrnoFault, "poll_oneoff", subsOff, eventsOff, 1, end-3)
	if _, errno := g.poll(sub{kind: 3}); errno != ErrnoInval {
		t.Errorf("unknown type: %v", errno)
	}
}

func TestPollDescriptors(t *testing.T) {
	g := newGuest(t, Config{Stdin: strings.NewReader("hello")})
	far := clockSub(9, clockMonotonic, time.Hour, 0)
	g.wantEvents([]event{{userdata: 1, kind: eventFdWrite}, {userdata: 2, kind: eventFdWrite}},
		fdSub(1, eventFdWrite, 1), far, fdSub(2, eventFdWrite, 2))
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead}}, fdSub(1, eventFdRead, 0), far)
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead, errno: ErrnoBadf}}, fdSub(1, eventFdRead, 77), far)
	g.wantEvents([]event{{userdata: 1, kind: eventFdWrite, errno: ErrnoBadf}}, fdSub(1, eventFdWrite, 0), far)
	g.want(ErrnoSuccess, "fd_fdstat_set_rights", 0, uint64(rightFdRead), 0)
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead, errno: ErrnoNotcapable}}, fdSub(1, eventFdRead, 0), far)
}

func TestPollOverlappingMemory(t *testing.T) {
	g := newGuest(t, Config{})
	b := g.all()[subsOff:]
	put64(b, 0, 11)
	b[8] = eventFdWrite
	put32(b, 16, 1)
	put64(b, subscriptionBytes, 12)
	b[subscriptionBytes+8] = eventFdWrite
	put32(b, subscriptionBytes+16, 2)
	// Events over the subscriptions: both were copied before the first event is stored.
	g.want(ErrnoSuccess, "poll_oneoff", subsOff, subsOff, 2, resultOff)
	if g.u32(resultOff) != 2 || g.u64(subsOff) != 11 || g.u64(subsOff+eventBytes) != 12 {
		t.Errorf("%d events, %d and %d", g.u32(resultOff), g.u64(subsOff), g.u64(subsOff+eventBytes))
	}
}

func TestPollInput(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	g := newGuest(t, Config{Stdin: r})
	// Nothing there: the clock wins.
	g.wantEvents([]event{{userdata: 2}}, fdSub(1, eventFdRead, 0), clockSub(2, clockMonotonic, 5*time.Millisecond, 0))
	// Input comes before the clock, and without one.
	go w.Write([]byte("abc"))
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead, nbytes: 3}},
		fdSub(1, eventFdRead, 0), clockSub(2, clockMonotonic, time.Hour, 0))
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead, nbytes: 3}}, fdSub(1, eventFdRead, 0))
	if got := g.read(0, 10); got != "abc" {
		t.Errorf("read %q", got)
	}
	go func() {
		time.Sleep(5 * time.Millisecond)
		w.Close()
	}()
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead}}, fdSub(1, eventFdRead, 0))
	if got := g.read(0, 10); got != "" {
		t.Errorf("read %q at the end", got)
	}
}

// read reads up to n bytes through one iovec.
func (g *guest) read(fd uint64, n uint64) string {
	g.t.Helper()
	const buf = 32768
	g.want(ErrnoSuccess, "fd_read", fd, g.iov(buf, n), 1, resultOff)
	return string(g.all()[buf : buf+g.u32(resultOff)])
}

func TestSleepCutByDeadline(t *testing.T) {
	errOver := errors.New("the time is over")
	for _, tt := range []struct {
		name  string
		stdin bool
	}{{"clock", false}, {"clock and input", true}} {
		t.Run(tt.name, func(t *testing.T) {
			r, w := io.Pipe()
			defer w.Close()
			g := newGuest(t, Config{Stdin: r})
			subs := []sub{clockSub(1, clockMonotonic, time.Hour, 0)}
			if tt.stdin {
				subs = append(subs, fdSub(2, eventFdRead, 0))
			}
			least := time.Hour
			for range 5 { // on a busy machine not all are quick
				ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Millisecond, errOver)
				g.ctx = WithState(ctx, g.s)
				for i, s := range subs {
					b := g.all()[subsOff+i*subscriptionBytes:]
					put64(b, 0, s.userdata)
					b[8] = s.kind
					put32(b, 16, s.id)
					put64(b, 24, uint64(s.timeout))
					b[40], b[41] = 0, 0
				}
				began := time.Now()
				_, err := g.try("poll_oneoff", subsOff, eventsOff, uint64(len(subs)), resultOff)
				least = min(least, time.Since(began))
				cancel()
				if !errors.Is(err, errOver) {
					t.Errorf("ended with %v", err)
				}
			}
			if least > 250*time.Millisecond {
				t.Errorf("took %v at least", least)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	c := &scriptedClock{answer: func(context.Context, time.Duration) error { return ErrInterrupted }}
	r, w := io.Pipe()
	defer w.Close()
	g := newGuest(t, Config{Stdin: r, Clock: waitBySleep{c}})
	// A C library's sleep: it ends as if the time had come.
	g.wantEvents([]event{{userdata: 1}}, clockSub(1, clockMonotonic, time.Hour, subclockAbstime))
	// select and read know EINTR.
	for _, subs := range [][]sub{
		{fdSub(1, eventFdRead, 0)},
		{fdSub(1, eventFdRead, 0), clockSub(2, clockMonotonic, time.Hour, 0)},
	} {
		if got, errno := g.poll(subs...); errno != ErrnoIntr {
			t.Errorf("poll: %v, %v", got, errno)
		}
	}
	g.want(ErrnoIntr, "fd_read", 0, g.iov(32768, 8), 1, resultOff)
	// What the interrupted read brings later is not lost.
	go w.Write([]byte("late"))
	c.answer = func(ctx context.Context, d time.Duration) error { return HostClock().Sleep(ctx, d) }
	if got := g.read(0, 8); got != "late" {
		t.Errorf("read %q", got)
	}
}

// waitBySleep hides the Wait of a clock.
type waitBySleep struct{ Clock }

func TestReadInput(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   func(t *testing.T) io.Reader
	}{
		{"direct", func(*testing.T) io.Reader { return strings.NewReader("some input") }},
		{"blocking", func(*testing.T) io.Reader {
			return io.MultiReader(strings.NewReader("some"), strings.NewReader(" input"))
		}},
		{"file", func(t *testing.T) io.Reader {
			f, err := os.Create(t.TempDir() + "/in")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			io.WriteString(f, "some input")
			f.Seek(0, io.SeekStart)
			return f
		}},
		{"pipe", func(t *testing.T) io.Reader {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			go func() {
				io.WriteString(w, "some")
				time.Sleep(time.Millisecond)
				io.WriteString(w, " input")
				w.Close()
			}()
			return r
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(t, Config{Stdin: tt.in(t)})
			got := ""
			for {
				part := g.read(0, 3)
				if part == "" {
					break
				}
				got += part
			}
			if got != "some input" {
				t.Errorf("read %q", got)
			}
		})
	}
}

func TestReadInputScattered(t *testing.T) {
	g := newGuest(t, Config{Stdin: io.MultiReader(strings.NewReader("abcdef"), blockForever{})})
	// Two bytes, none, then more than there is: it must not wait for the rest.
	g.want(ErrnoSuccess, "fd_read", 0, g.iov(200, 2, 300, 0, 400, 100), 3, resultOff)
	mem := g.all()
	if n := g.u32(resultOff); n != 6 || string(mem[200:203]) != "ab?" || mem[300] != '?' || string(mem[400:405]) != "cdef?" {
		t.Errorf("%d bytes: %q %q", n, mem[200:203], mem[400:405])
	}
}

type blockForever struct{}

func (blockForever) Read([]byte) (int, error) { select {} }

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("reader is broken") }

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func TestReadInputErrors(t *testing.T) {
	for name, r := range map[string]io.Reader{"panics": panicReader{}, "never brings a byte": emptyReader{}} {
		g := newGuest(t, Config{Stdin: r})
		if errno := g.call("fd_read", 0, g.iov(200, 2), 1, resultOff); errno != ErrnoIo {
			t.Errorf("reader that %s: %v", name, errno)
		}
	}
	g := newGuest(t, Config{Stdin: blockForever{}})
	g.want(ErrnoSuccess, "fd_fdstat_set_flags", 0, uint64(fdflagNonblock))
	g.want(ErrnoAgain, "fd_read", 0, g.iov(200, 2), 1, resultOff)
	g.want(ErrnoSuccess, "fd_read", 0, g.iov(200, 0), 1, resultOff)
}

func TestReadStdin(t *testing.T) {
	ctx := context.Background()
	buf := make([]byte, 4)
	g := newGuest(t, Config{Stdin: io.MultiReader(strings.NewReader("abcdef"))})
	for _, want := range []string{"abcd", "ef"} {
		if n, err := g.s.ReadStdin(ctx, buf); string(buf[:n]) != want || err != nil {
			t.Errorf("read %q, %v, want %q", buf[:n], err, want)
		}
	}
	if n, err := g.s.ReadStdin(ctx, buf); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	broken := newGuest(t, Config{Stdin: panicReader{}})
	if _, err := broken.s.ReadStdin(ctx, buf); err == nil || err.Error() != "wasi: IO" {
		t.Errorf("a broken reader: %v", err)
	}
	c := &scriptedClock{answer: func(context.Context, time.Duration) error { return ErrInterrupted }}
	interrupted := newGuest(t, Config{Stdin: blockForever{}, Clock: waitBySleep{c}})
	if _, err := interrupted.s.ReadStdin(ctx, buf); err != ErrInterrupted {
		t.Errorf("interrupted: %v", err)
	}
}

// lines counts writes, as a stream of events would.
type lines struct {
	mu     sync.Mutex
	writes []string
	fail   error
	short  bool
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, l.fail
	}
	if l.short {
		p = p[:len(p)/2]
	}
	l.writes = append(l.writes, string(p))
	return len(p), nil
}

func TestOutputIsStreamed(t *testing.T) {
	var out, errs lines
	g := newGuest(t, Config{Stdout: &out, Stderr: &errs})
	a, an := g.text("hello ")
	b, bn := g.text("world\n")
	g.want(ErrnoSuccess, "fd_write", 1, g.iov(a, an, b, bn), 2, resultOff)
	if g.u32(resultOff) != 12 || len(out.writes) != 1 || out.writes[0] != "hello world\n" {
		t.Errorf("%d bytes, writes %q", g.u32(resultOff), out.writes)
	}
	g.want(ErrnoSuccess, "fd_write", 2, g.iov(b, bn), 1, resultOff)
	g.want(ErrnoSuccess, "fd_write", 2, g.iov(b, 0), 1, resultOff)
	if len(errs.writes) != 1 || errs.writes[0] != "world\n" {
		t.Errorf("writes %q", errs.writes)
	}
	// Much at once comes in pieces, all of it.
	big := uint64(g.mod.Memory().Size()) - 65536
	out.writes = nil
	g.want(ErrnoSuccess, "fd_write", 1, g.iov(65536, big, 65536, big), 2, resultOff)
	total := 0
	for _, w := range out.writes {
		total += len(w)
	}
	if uint64(total) != 2*big || uint64(g.u32(resultOff)) != 2*big {
		t.Errorf("%d of %d bytes came", total, 2*big)
	}
	out.short = true
	g.want(ErrnoSuccess, "fd_write", 1, g.iov(a, an, b, bn), 2, resultOff)
	if g.u32(resultOff) != 6 {
		t.Errorf("a short write counted %d", g.u32(resultOff))
	}
	out.fail = io.ErrClosedPipe
	g.want(ErrnoIo, "fd_write", 1, g.iov(a, an), 1, resultOff)
	g.want(ErrnoBadf, "fd_write", 0, g.iov(a, an), 1, resultOff)
	g.want(ErrnoBadf, "fd_read", 1, g.iov(a, an), 1, resultOff)
}

func TestProcExit(t *testing.T) {
	g := newGuest(t, Config{})
	if _, exited := g.s.ExitCode(); exited {
		t.Error("exited before it ran")
	}
	for _, tt := range []struct {
		name string
		call string
		arg  uint64
		want uint32
	}{
		{"exit", "proc_exit", 3, 3},
		{"exit with a large code", "proc_exit", 1<<32 - 1, 1<<32 - 1},
		{"abort", "proc_raise", 6, 134},
		{"kill", "proc_raise", 9, 137},
	} {
		_, err := g.try(tt.call, tt.arg)
		exit, ok := errors.AsType[*ExitError](err)
		if !ok || exit.Code != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
		if code, exited := g.s.ExitCode(); !exited || code != tt.want {
			t.Errorf("%s: ExitCode is %d, %v", tt.name, code, exited)
		}
	}
	for sig, want := range map[uint64]Errno{0: ErrnoSuccess, 16: ErrnoSuccess, 17: ErrnoSuccess, 19: ErrnoNotsup, 27: ErrnoSuccess, 31: ErrnoInval} {
		g.want(want, "proc_raise", sig)
	}
	g.want(ErrnoSuccess, "sched_yield")
}

// doneClock says after a number of checks that the run is over.
type doneClock struct {
	Clock
	checks int
}

var errOver = errors.New("the run is over")

func (c *doneClock) Check(context.Context) error {
	if c.checks--; c.checks < 0 {
		return errOver
	}
	return ErrInterrupted // not for a copy to heed
}

func TestLongCopiesEnd(t *testing.T) {
	const piece = pieceBytes / 4
	for _, tt := range []struct {
		call   string
		params func(g *guest) []uint64
		checks int
	}{
		// Two checks go well, after one and two MiB of three and a bit.
		{"fd_write", func(g *guest) []uint64 {
			return []uint64{1, g.iov(0, 5*piece, 0, piece, 0, piece, 0, piece, 0, 5*piece), 5, resultOff}
		}, 2},
		{"random_get", func(*guest) []uint64 { return []uint64{0, 5 * piece} }, 0},
		{"sched_yield", func(*guest) []uint64 { return nil }, 0},
	} {
		for _, more := range []int{0, 1} {
			g := newGuest(t, Config{Clock: &doneClock{Clock: HostClock(), checks: tt.checks + more}})
			if _, ok := g.mod.Memory().Grow(5 * piece / 65536); !ok {
				t.Fatal("memory does not grow")
			}
			_, err := g.try(tt.call, tt.params(g)...)
			if over := errors.Is(err, errOver); over != (more == 0) {
				t.Errorf("%s with %d more checks: %v", tt.call, more, err)
			}
		}
	}
}

func TestCallWithoutState(t *testing.T) {
	g := newGuest(t, Config{})
	for _, name := range []string{"proc_exit", "fd_close"} {
		g.ctx = context.Background()
		if _, err := g.try(name, 0); !errors.Is(err, errNoState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStateFrom(t *testing.T) {
	s := &State{}
	type other struct{}
	ctx := context.WithValue(WithState(context.WithValue(context.Background(), other{}, 1), s), other{}, 2)
	if StateFrom(ctx) != s || StateFrom(context.Background()) != nil {
		t.Error("state not found")
	}
	if WithState(context.WithValue(context.Background(), other{}, 1), s).Value(other{}) != 1 {
		t.Error("values of the parent context are lost")
	}
}
