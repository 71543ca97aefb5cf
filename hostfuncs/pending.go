package hostfuncs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// A Waiter waits until done is closed, but no longer than atMost (negative: without that bound) and than the run may. It
// says whether done was closed. The error is [ErrInterrupted] when the program was interrupted meanwhile, and any
// other ends the run.
type Waiter func(ctx context.Context, done <-chan struct{}, atMost time.Duration) (bool, error)

// ErrInterrupted is what a [Waiter] returns when the program is to stop soon.
var ErrInterrupted = errors.New("interrupted")

// Bounds of what one run has going on at once.
const (
	maxRunning = 16       // calls; more wait for their turn, in order
	maxPending = 4096     // calls that are not collected
	maxHeld    = 64 << 20 // bytes of requests and replies of those; past it nothing is begun
	maxLate    = 1 << 20  // bytes of arguments of calls whose results come later, which a session keeps until then
)

// Calls are what a run has asked of its host and what goes on while it does something else.
//
//	started --(its turn)--> running --> ready --(collected by wait)--> gone
//	   |                        |------> late --(its result, in a later run)--> ready
//	   |________________________|_________|__ cancelled, or the run ends
//
// Its methods are called by the run's goroutine only; the work, but for that of Now, runs on others, which touch nothing but what mu guards.
type Calls struct {
	// OnCancel is told of an id that the program gave up and that is no call's. Nil: nobody is.
	OnCancel func(id uint32)
	// Suspendable says whether the run can be suspended now, which waits for nothing but results that come later; see
	// [ErrLater]. Nil: it never can.
	Suspendable func() bool
	// Repeatable says whether the run can be stopped wherever it waits for such results, a call that blocks included, since it
	// is to be run again with them: a [*Suspension] ends it. Nil: it cannot.
	Repeatable func() bool

	ctx  context.Context
	stop context.CancelFunc
	wait Waiter

	// jobs reaches the goroutines that have nothing to do: they are kept, since a new one would first have to grow a stack.
	jobs chan *call

	mu        sync.Mutex
	closed    bool
	next      uint32
	pending   map[uint32]*call
	queue     []*call
	running   int
	ready     []*call
	held      int
	late      int           // of the pending calls
	lateBytes int           // of their arguments
	news      chan struct{} // closed when something is ready or late; nil while nobody waits

	suspended bool // the program was told so
	spared    bool // it could not be suspended any more, and was sent on once
}

// call is one piece of work.
type call struct {
	id    uint32
	stop  context.CancelFunc
	ctx   context.Context
	work  func(context.Context) ([]byte, error)
	end   ending
	done  chan struct{} // closed when finished; a value in it says that the work is underway
	async bool

	held     int
	finished bool
	reply    []byte // when finished
	err      error
	gone     bool      // nobody will collect it
	late     *LateCall // when its result comes later
}

// An ending is told, on the run's goroutine, how a call went, and gives what the program is to see of it: an error that is
// no [*Refusal] ends the run.
type ending func(reply []byte, err error) ([]byte, error)

// NewCalls makes the calls of one run, which end with ctx and by Close.
func NewCalls(ctx context.Context, wait Waiter) *Calls {
	// A random beginning, so that an id that a session has kept from an earlier turn means nothing in this one.
	c := &Calls{wait: wait, pending: map[uint32]*call{}, next: rand.Uint32(), jobs: make(chan *call)}
	c.ctx, c.stop = context.WithCancel(ctx)
	return c
}

// Close cancels whatever goes on; nothing may be asked afterwards. It does not wait for work that does not heed its context.
func (c *Calls) Close() {
	c.stop()
	c.mu.Lock()
	var left []*call
	for _, p := range c.pending {
		p.gone = true
		left = append(left, p)
	}
	clear(c.pending)
	c.queue, c.ready, c.closed = nil, nil, true
	c.mu.Unlock()
	close(c.jobs)
	for _, p := range left {
		p.stop()
		_, _ = p.end(nil, context.Canceled) // nobody is to see it
	}
}

// Do does work for a request of size bytes, on a goroutine of its own. When async is false it waits and returns the
// reply; else it waits a moment and returns the reply, if it is there, or the call's id, whose reply comes by wait. end is called once, with an error that wraps
// context.Canceled for a call that was given up.
func (c *Calls) Do(ctx context.Context, size int, async bool, work func(context.Context) ([]byte, error), end ending) ([]byte, error) {
	return c.do(ctx, &call{work: work, end: end, held: size, async: async, done: make(chan struct{})}, moment)
}

// DoUntil is Do of an async call whose work says when it is underway: until then, or until it is done, the program waits, but no
// longer than atMost.
func (c *Calls) DoUntil(ctx context.Context, size int, atMost time.Duration, work func(ctx context.Context, underway func()) ([]byte, error), end ending) ([]byte, error) {
	p := &call{end: end, held: size, async: true, done: make(chan struct{}, 1)}
	underway := func() {
		select {
		case p.done <- struct{}{}:
		default:
		}
	}
	p.work = func(ctx context.Context) ([]byte, error) { return work(ctx, underway) }
	return c.do(ctx, p, atMost)
}

func (c *Calls) do(ctx context.Context, p *call, atMost time.Duration) ([]byte, error) {
	p.ctx, p.stop = context.WithCancel(c.ctx)
	c.mu.Lock()
	if err := c.admit(p); err != nil {
		c.mu.Unlock()
		p.stop()
		return p.end(nil, err)
	}
	c.queue = append(c.queue, p)
	c.begin()
	c.mu.Unlock()
	if p.async {
		// Work that waits for nothing is done in a moment, and an answer at once saves the program a second request.
		if _, err := c.wait(ctx, p.done, atMost); err != nil && !errors.Is(err, ErrInterrupted) {
			c.giveUp(p)
			return nil, err
		}
		if c.isDone(p) {
			return answered(p.end(p.reply, p.err))
		}
		return pendingReply(p.id), nil
	}
	if _, err := c.wait(ctx, p.done, -1); err != nil {
		c.giveUp(p)
		if errors.Is(err, ErrInterrupted) {
			err = Refuse("TimeoutError", "the program's time is over")
		}
		return nil, err
	}
	c.mu.Lock()
	c.forget(p)
	c.mu.Unlock()
	if l, ok := errors.AsType[*later](p.err); ok {
		return c.block(l, p.end)
	}
	return p.end(p.reply, p.err)
}

// admit takes p into the books, under a number that nothing else has. Preconditions: mu is held.
func (c *Calls) admit(p *call) error {
	if len(c.pending) >= maxPending || c.held+p.held > maxHeld {
		return Refuse("HostCallLimit", "too much is going on at once: wait for what was started")
	}
	c.held += p.held
	p.id = c.number()
	c.pending[p.id] = p
	return nil
}

// number is one that no call of the run has, and not 0. Preconditions: mu is held.
func (c *Calls) number() uint32 {
	for c.next++; c.next == 0 || c.pending[c.next] != nil; c.next++ {
	}
	return c.next
}

// moment is how long a program waits for a call that is to go on.
const moment = 20 * time.Microsecond

// answered is the reply to an async request that is done.
func answered(reply []byte, err error) ([]byte, error) {
	return encodeReply([]byte{asyncDone}, reply, err)
}

// Now is Do for work that waits for nothing: it is done on the run's own goroutine.
func (c *Calls) Now(size int, async bool, work func(context.Context) ([]byte, error), end ending) ([]byte, error) {
	reply, err := c.guarded(&call{ctx: c.ctx, work: work})
	if l, ok := errors.AsType[*later](err); ok {
		if async {
			return c.setAsideNow(size, l, end)
		}
		return c.block(l, end)
	}
	reply, err = end(reply, err)
	if async {
		return answered(reply, err)
	}
	return reply, err
}

// The first byte of the reply to an async request.
const (
	asyncPending = 0
	asyncDone    = 1
)

// isDone takes p out of the books if its work is done.
func (c *Calls) isDone(p *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.finished {
		return false
	}
	c.forget(p)
	c.ready = without(c.ready, p)
	return true
}

// giveUp cancels p, whose reply nobody will see.
func (c *Calls) giveUp(p *call) {
	c.mu.Lock()
	p.gone = true
	// What it holds counts no longer.
	c.queue, c.ready = without(c.queue, p), without(c.ready, p)
	c.forget(p)
	c.mu.Unlock()
	p.stop()
	_, _ = p.end(nil, context.Canceled) // nobody is to see it
}

// without is a list of calls without p.
func without(list []*call, p *call) []*call {
	if i := slices.Index(list, p); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// begin starts what may run now. Preconditions: mu is held.
func (c *Calls) begin() {
	for c.running < maxRunning && len(c.queue) > 0 && c.held <= maxHeld {
		p := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		c.running++
		select {
		case c.jobs <- p:
		default:
			go c.worker(p)
		}
	}
}

// worker does the work of calls until the run ends.
func (c *Calls) worker(p *call) {
	for ok := true; ok; p, ok = <-c.jobs {
		c.run(p)
	}
}

// run does the work of p.
func (c *Calls) run(p *call) {
	reply, err := c.guarded(p)
	p.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.closed {
		return
	}
	if l, ok := errors.AsType[*later](err); ok && p.async && !p.gone {
		c.setAside(p, l)
	} else {
		c.finish(p, reply, err)
	}
	c.begin()
}

// finish notes how p went. Preconditions: mu is held.
func (c *Calls) finish(p *call, reply []byte, err error) {
	p.reply, p.err, p.finished = reply, err, true
	if p.gone {
		return
	}
	c.held += len(reply)
	p.held += len(reply)
	if p.async {
		c.ready = append(c.ready, p)
		c.tell()
	}
	close(p.done)
}

// tell wakes the run if it waits. Preconditions: mu is held.
func (c *Calls) tell() {
	if c.news != nil {
		close(c.news)
		c.news = nil
	}
}

// guarded does the work; a fault in it is an error of the work alone.
func (c *Calls) guarded(p *call) (reply []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			reply, err = nil, fmt.Errorf("fault: %v\n%s", fault, debug.Stack())
		}
	}()
	return p.work(p.ctx)
}

// forget takes p out of the books. Preconditions: mu is held.
func (c *Calls) forget(p *call) {
	if c.pending[p.id] == p {
		delete(c.pending, p.id)
		c.held -= p.held
		if p.late != nil {
			c.noLonger(p)
		}
		c.begin() // there may be room for one more
	}
}

// noTimeout is the time of a wait that has no bound of its own.
const noTimeout = 1<<32 - 1

// handleWait answers [OpWait]: {"timeout_ms": n, "suspend": bool}. The reply is what is ready: for each the id (u32), the length of its
// frame (u32) and the frame, which is what the call itself would have replied.
func (c *Calls) handleWait(ctx context.Context, payload []byte) ([]byte, error) {
	timeout, suspendable := uint32(noTimeout), false
	_, err := DecodeFrame(payload, func(name string, value json.RawMessage) (bool, error) {
		if name == "suspend" {
			return true, json.Unmarshal(value, &suspendable)
		}
		return name == "timeout_ms", json.Unmarshal(value, &timeout)
	})
	if err != nil {
		return nil, Refuse("ValueError", "wait: %v", err)
	}
	c.mu.Lock()
	none := len(c.pending) == 0
	onlyLate := !none && c.late == len(c.pending)
	var news chan struct{}
	if len(c.ready) == 0 && !none {
		if c.news == nil {
			c.news = make(chan struct{})
		}
		news = c.news
	}
	c.mu.Unlock()
	if onlyLate && timeout == noTimeout {
		return c.onlyLate(ctx, suspendable)
	}
	if none && timeout == noTimeout {
		return nil, Refuse("RuntimeError", "nothing is going on that could be waited for")
	}
	if none || news != nil && timeout > 0 {
		atMost := time.Duration(-1)
		if timeout != noTimeout {
			atMost = time.Duration(timeout) * time.Millisecond
		}
		if _, err := c.wait(ctx, news, atMost); err != nil && !errors.Is(err, ErrInterrupted) {
			return nil, err
		}
	}
	return c.take()
}

// maxTaken bounds the bytes of one wait's reply, beyond the first frame in it.
const maxTaken = 16 << 20

// take collects what is ready.
func (c *Calls) take() ([]byte, error) {
	var out []byte
	for {
		c.mu.Lock()
		if len(c.ready) == 0 || len(out) > 0 && len(out)+len(c.ready[0].reply) > maxTaken {
			c.mu.Unlock()
			return out, nil
		}
		p := c.ready[0]
		c.ready[0] = nil
		c.ready = c.ready[1:]
		c.forget(p)
		c.mu.Unlock()
		reply, err := p.end(p.reply, p.err)
		frame, err := encodeReply(nil, reply, err)
		if err != nil {
			return nil, err
		}
		out = binary.LittleEndian.AppendUint32(out, p.id)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(frame)))
		out = append(out, frame...)
	}
}

// handleCancel answers [OpCancel]: {"id": n}. What is not going on any more is no error.
func (c *Calls) handleCancel(_ context.Context, payload []byte) ([]byte, error) {
	var id uint32
	_, err := DecodeFrame(payload, func(name string, value json.RawMessage) (bool, error) {
		return name == "id", json.Unmarshal(value, &id)
	})
	if err != nil {
		return nil, Refuse("ValueError", "cancel: %v", err)
	}
	c.mu.Lock()
	p := c.pending[id]
	c.mu.Unlock()
	if p != nil {
		c.giveUp(p)
	} else if c.OnCancel != nil {
		c.OnCancel(id)
	}
	return nil, nil
}

// NewID is a number that no call of the run has.
func (c *Calls) NewID() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.number()
}

// Handlers are those of waiting for calls and of cancelling them.
func (c *Calls) Handlers() map[Op]Handler {
	return map[Op]Handler{OpWait: c.handleWait, OpCancel: c.handleCancel}
}
