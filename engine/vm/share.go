package vm

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Guests that compute for long share the processors in turns: of those that have computed for more than youth,
// only as many go on at once as there are processors, and the others wait in line at the end of a slice. What
// else the program does (answer, collect garbage, start the next run) so competes with that many guests, however
// many there are.
//
//	computing --slice ends--> in line --a seat is free--> computing
//	    |                        `------ patience ------> computing, without a seat
//	    `--waits for the host, or is done: the seat is given up
//
// A seat that is held too long, by a guest in a long host function, costs the others patience and no more.
var seats = make(chan struct{}, runtime.GOMAXPROCS(0))

const (
	youth    = 5 * time.Millisecond
	patience = 20 * time.Millisecond
)

// running are the guests in a call of Instance.Run. While they are fewer than the processors, others have a processor to
// run on, and a guest keeps its own: to yield where a processor is idle wakes a thread to look for work, again and again
// (1,600 switches of threads in 40 ms of pandas).
var running atomic.Int32

// A guest yields the processor at the end of a slice when others have made use of that lately, and else more and more
// seldom.
//
// Where somebody waits, slices are short: the collector behind runtime.GC gives way after each of some thousand spans that it
// sweeps, so what a guest computes between two yields is what each span costs. But others compute for longer each time, beside
// which short slices are nothing: a host function that another guest has called, which gives way now and then, or somebody who does not
// by himself (a parser that was abandoned), for the scheduler's time slice of 10 ms. A guest then computes for a part of that time.
const (
	yieldSeldom = 2 * time.Millisecond
	yieldOften  = 4 * time.Microsecond
	yieldUsed   = 3 * time.Microsecond // a yield that lasted longer let somebody compute
	yieldPart   = 4                    // of what a yield gave to others than guests
)

// sliced is the time for which guests have computed between their yields, all together, but for host functions that last.
var sliced atomic.Int64

// yield lets other goroutines of the program run. Compiled guests cannot be preempted: without it, two of them would
// hold up the rest for the scheduler's time slice of 10 ms. The guest may change its thread from then on: one that is
// bound to it would wait for two switches of threads each time, although nobody else wants to run.
func (m *Meter) yield(i *Instance, inHost bool) {
	begun := time.Since(epoch)
	if begun-m.yielded < m.yieldEvery {
		return
	}
	if int(running.Load()) < cap(seats) {
		m.yielded = begun
		return
	}
	before := sliced.Load()
	if !inHost {
		before = sliced.Add(int64(begun - m.yielded))
	}
	i.linear.Roam()
	runtime.Gosched()
	m.yielded = time.Since(epoch)
	gave := m.yielded - begun
	toGuests := time.Duration(sliced.Load() - before)
	switch {
	case gave > yieldUsed:
		m.yieldEvery = min(max((gave-toGuests)/yieldPart, yieldOften), yieldSeldom/2)
	default:
		m.yieldEvery = min(2*m.yieldEvery, yieldSeldom)
	}
}

// share lets others compute before the guest goes on.
func (m *Meter) share(ctx context.Context) {
	m.rise()
	m.yield(frameOf(ctx).inst, false)
	if m.computed < youth {
		return
	}
	select {
	case seats <- struct{}{}:
		m.seated = true
		return
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case seats <- struct{}{}:
		m.seated = true
	case <-timer.C:
	case <-ctx.Done():
	}
}

// rise gives up the seat.
func (m *Meter) rise() {
	if m.seated {
		m.seated = false
		<-seats
	}
}

// Waiting tells that the guest whose call ctx comes from may wait for the host now, and needs no processor. It stays on its
// thread: most such waits are short, and what is known of its memory's pages is worth more (see memimage.Linear.While).
func Waiting(ctx context.Context) {
	if f, ok := ctx.Value(frameKey{}).(*frame); ok {
		f.meter.rise()
	}
}
