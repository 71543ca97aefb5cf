package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi"
)

// running is what the host holds for a turn while it runs: where its output goes, and what bounds it.
type running struct {
	session        bool
	limits         limits.Limits
	stdout, stderr capped
	shown          displays
	events         events
	door           hostfuncs.Door
	calls          *hostfuncs.Calls // nil as long as nothing was asked for
	web            *fetch.Client
	tools          *hostfuncs.Tools // with calls
	toolCalls      []hostfuncs.ToolCall
	late           []hostfuncs.LateCall // of a turn that is suspended
	deadline       *deadline
	clock          *turnClock
	guestClock     wasi.Clock       // clock, or a tape over it
	tape           tape             // nil: what the host answers is neither recorded nor known
	random         io.Reader        // the guest's entropy
	own            *wasi.FixedClock // what clock reads, if it is the sandbox's own
	passed         time.Duration    // of own, while waiting for calls
	meter          vm.Meter
	hits           hits

	from   *resumption // nil unless the rest of a suspended turn runs
	before spent       // in its earlier parts
}

func newRunning(l limits.Limits, t Turn, clock wasi.Clock, interrupt func(context.Context) error) *running {
	r := &running{
		limits: l,
		stdout: capped{limit: l.OutputBytes, to: t.Stdout}, stderr: capped{limit: l.OutputBytes, to: t.Stderr},
		deadline: newDeadline(l, interrupt),
	}
	r.events = events{to: t.OnEvent, deadline: r.deadline}
	r.shown = displays{limit: l.ResultBytes, events: &r.events}
	r.stdout.text = text{kind: EventStdout, events: &r.events}
	r.stderr.text = text{kind: EventStderr, events: &r.events}
	r.clock = &turnClock{clock, r.deadline}
	r.guestClock = r.clock
	r.own, _ = clock.(*wasi.FixedClock)
	r.door = hostfuncs.Door{MaxCalls: l.HostCalls, Display: r.shown.handle}
	r.meter = vm.Meter{Budget: l.Fuel, Check: r.deadline.check, OutOfFuel: func(used uint64) error {
		return &limits.ExceededError{Resource: limits.Fuel, Limit: l.Fuel, Used: r.before.Fuel + used}
	}}
	return r
}

// offer has the door offer the turn the tools and the network that its sandbox was given, once it asks. What they do
// ends with ctx, and with disconnect.
func (r *running) offer(ctx context.Context, o *Options, log func() *slog.Logger) {
	r.door.More = func() { r.connect(ctx, o, log()) }
	if r.from != nil { // whose calls are there already
		r.door.More()
		r.door.More = nil
	}
}

func (r *running) connect(ctx context.Context, o *Options, log *slog.Logger) {
	r.calls = hostfuncs.NewCalls(ctx, func(ctx context.Context, done <-chan struct{}, atMost time.Duration) (bool, error) {
		r.atWait()
		arrived, err := r.deadline.await(ctx, done, atMost)
		switch {
		case errors.Is(err, wasi.ErrInterrupted):
			err = hostfuncs.ErrInterrupted
		case err == nil && !arrived:
			r.pass(atMost)
		}
		return arrived, err
	})
	r.web = fetch.New(ctx, o.Network, r.calls, log, func(q hostfuncs.HTTPRequest) {
		r.events.emit(Event{Type: EventHTTPRequest, HTTPRequest: &q})
	})
	r.calls.OnCancel = r.web.Cancel
	r.calls.Suspendable = func() bool { return r.session && !r.deadline.interrupted }
	r.tools = &hostfuncs.Tools{Registry: o.Tools, Calls: r.calls, Log: log, Record: func(c hostfuncs.ToolCall) {
		r.toolCalls = append(r.toolCalls, c)
		r.events.emit(Event{Type: EventToolCall, ToolCall: &c})
	}}
	if r.from != nil {
		r.tools.Tally = maps.Clone(r.from.Tally)
		r.tools.Resume(r.from.Calls, r.from.results)
	}
	r.door.Handlers = r.calls.Handlers()
	maps.Copy(r.door.Handlers, r.web.Handlers())
	maps.Copy(r.door.Handlers, r.tools.Handlers())
}

// pass lets time go by on a clock of the sandbox's own: a wait that nothing has ended has lasted as long as it could, or a
// timer beside calls that go on would never be due.
func (r *running) pass(d time.Duration) {
	if r.own != nil && d > 0 {
		_ = r.own.Sleep(context.Background(), d) // which cannot end early
		r.passed += d
	}
}

// disconnect ends what the turn left going on.
func (r *running) disconnect() {
	if r.calls == nil {
		return
	}
	r.calls.Close()
	r.web.Close()
}

// wasi is the part of a WASI state that belongs to the turn.
func (r *running) wasi(t *tree, stdin io.Reader, random io.Reader) wasi.Config {
	return wasi.Config{
		Reached: func(resource limits.Resource) { r.quota(t, resource) },
		Stdin:   stdin, Stdout: &r.stdout, Stderr: &r.stderr, Clock: r.guestClock, Random: random, AbsoluteLinks: true,
	}
}

// record fills in what the turn printed, showed and used, and how it ended. The error is not nil when that was no
// doing of the guest's.
func (r *running) record(res *Result, inst *vm.Instance, t *tree, out runtimes.Outcome, err error) error {
	r.stdout.text.flush()
	r.stderr.text.flush()
	if r.web != nil {
		res.ToolCalls, res.HTTPRequests = r.toolCalls, r.web.Records()
	}
	res.Stdout, res.Stderr, res.Results = string(r.stdout.kept), string(r.stderr.kept), r.shown.shown
	if t := (Truncated{r.stdout.cut(), r.stderr.cut(), r.shown.cut()}); t != (Truncated{}) {
		res.Truncated = &t
	}
	linear, wall := inst.Linear(), time.Since(r.deadline.start)
	var private uint64
	var errPrivate error
	if !r.session { // whose pages are counted when its state is frozen
		private, errPrivate = linear.PrivateBytes()
	}
	res.Usage = limits.Usage{
		Start: res.Usage.Start, Wall: wall, Compute: wall - r.deadline.waited, Fuel: r.before.Fuel + r.meter.Used(),
		MemoryPeakBytes: linear.Size(), PrivateBytes: private,
		DiskBytes: uint64(t.Usage().Bytes), OutputBytes: r.before.Stdout + r.stdout.total + r.before.Stderr + r.stderr.total,
		HostCalls: r.door.Made,
	}
	peak := t.peak()
	res.Needs = Needs{DiskBytes: uint64(peak.Bytes), Inodes: uint64(peak.Inodes), Mounts: t.ChangedMounts()}
	memory := &limits.ExceededError{Resource: limits.Memory, Limit: r.limits.MemoryBytes, Used: linear.Size()}
	if out.Unreported != nil && linear.Denied() {
		out.OutOfMemory, out.Error = true, out.Unreported
	}
	if err == nil {
		res.cameBack(out, r.deadline, memory)
		res.State = stateCard(out.State)
	} else {
		res.cut = true
		err = res.cutShort(err, linear.Denied(), memory)
	}
	if linear.Denied() {
		r.hits.add(*memory)
	}
	r.tellHits(res)
	if err != nil {
		return err
	}
	return errPrivate
}
