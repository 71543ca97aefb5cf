package wasi

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// maxSubscriptions bounds one poll_oneoff. More than any table of descriptors needs; the scratch that holds them
// stays in the State: 400 KiB at most.
const maxSubscriptions = 4096

const (
	subscriptionBytes = 48
	eventBytes        = 32

	eventClock   = 0
	eventFdRead  = 1
	eventFdWrite = 2

	subclockAbstime = 1
)

// subscription is what a guest waits for, copied from it. Layout in memory (offsets in bytes):
//
//	0 userdata u64 | 8 tag u8 | 16 clock: id u32 | 24 timeout u64 | 32 precision u64 | 40 flags u16
//	                          | 16 fd_read, fd_write: fd u32
type subscription struct {
	userdata uint64
	kind     uint8
	id       uint32 // clock or descriptor
	timeout  uint64 // nanoseconds
	flags    uint16
	left     time.Duration // until a clock's time, once evaluated
}

// event is what happened. Layout: 0 userdata u64 | 8 error u16 | 10 type u8 | 16 nbytes u64 | 24 flags u16.
type event struct {
	userdata uint64
	errno    Errno
	kind     uint8
	nbytes   uint64
}

// pollOneoff implements poll_oneoff: in, out (offsets), nsubscriptions, result offset of the number of events.
//
// It returns as soon as one subscription has an event, with all events that there are then. Files and standard
// output are always ready; standard input is when a read would not wait. What is wrong with one subscription is
// the error of its event.
//   - EINVAL: no subscription, more than maxSubscriptions, or one of an unknown type
//   - EINTR: an interrupt came while descriptors were waited for
//
// An interrupt of a wait for clocks alone ends as if the time had come: the C library of most guests turns any
// error here into ENOTSUP, which programs take for a broken sleep, and a signal handler runs either way.
func pollOneoff(ctx context.Context, s *State, m guestMemory, p []uint64) Errno {
	n := uint32(p[2])
	if n == 0 || n > maxSubscriptions {
		return ErrnoInval
	}
	in, errno := m.bytes(uint32(p[0]), n*subscriptionBytes)
	if errno != ErrnoSuccess {
		return errno
	}
	out, errno := m.bytes(uint32(p[1]), n*eventBytes)
	if errno != ErrnoSuccess {
		return errno
	}
	result, errno := m.word(uint32(p[3]))
	if errno != ErrnoSuccess {
		return errno
	}
	if errno := s.parseSubscriptions(in); errno != ErrnoSuccess {
		return errno
	}
	if errno := s.poll(ctx); errno != ErrnoSuccess {
		return errno
	}
	for _, e := range s.events {
		clear(out[:eventBytes])
		binary.LittleEndian.PutUint64(out, e.userdata)
		binary.LittleEndian.PutUint16(out[8:], uint16(e.errno))
		out[10] = e.kind
		binary.LittleEndian.PutUint64(out[16:], e.nbytes)
		out = out[eventBytes:]
	}
	binary.LittleEndian.PutUint32(result, uint32(len(s.events)))
	return ErrnoSuccess
}

func (s *State) parseSubscriptions(in []byte) Errno {
	s.subscriptions = s.subscriptions[:0]
	for ; len(in) > 0; in = in[subscriptionBytes:] {
		sub := subscription{
			userdata: binary.LittleEndian.Uint64(in),
			kind:     in[8],
			id:       binary.LittleEndian.Uint32(in[16:]),
		}
		switch sub.kind {
		case eventClock:
			sub.timeout = binary.LittleEndian.Uint64(in[24:])
			sub.flags = binary.LittleEndian.Uint16(in[40:])
		case eventFdRead, eventFdWrite:
		default:
			return ErrnoInval
		}
		s.subscriptions = append(s.subscriptions, sub)
	}
	return ErrnoSuccess
}

// poll waits for the parsed subscriptions and fills s.events.
func (s *State) poll(ctx context.Context) Errno {
	waitsForInput, first := s.evaluate()
	if len(s.events) > 0 {
		return ErrnoSuccess
	}
	var err error
	switch {
	case !waitsForInput:
		err = s.clock.Sleep(ctx, first)
	case first == math.MaxInt64:
		err = waitForInput(ctx, s.clock, s.stdin.pending.done)
	default:
		var came bool
		if came, err = sleepOrInput(ctx, s.clock, first, s.stdin.pending.done); came {
			first = 0
		}
	}
	switch {
	case errors.Is(err, ErrInterrupted) && waitsForInput:
		return ErrnoIntr
	case err != nil && !errors.Is(err, ErrInterrupted):
		panic(err)
	}
	for i := range s.subscriptions {
		switch sub := &s.subscriptions[i]; {
		case sub.kind == eventClock && sub.left <= first && first != math.MaxInt64:
			s.happened(sub, ErrnoSuccess, 0)
		case sub.kind != eventClock:
			if ready, errno, nbytes := s.readiness(sub); ready {
				s.happened(sub, errno, nbytes)
			}
		}
	}
	return ErrnoSuccess
}

// evaluate collects the events that are there at once. If there are none, it says whether standard input is
// among what is waited for, and how long it is to the first clock (math.MaxInt64 without any).
func (s *State) evaluate() (waitsForInput bool, first time.Duration) {
	s.events = s.events[:0]
	first = math.MaxInt64
	for i := range s.subscriptions {
		sub := &s.subscriptions[i]
		if sub.kind == eventClock {
			left, errno := s.untilClock(sub)
			if sub.left = left; errno != ErrnoSuccess || left <= 0 {
				s.happened(sub, errno, 0)
			}
			first = min(first, left)
			continue
		}
		ready, errno, nbytes := s.readiness(sub)
		if ready {
			s.happened(sub, errno, nbytes)
		} else {
			waitsForInput = true
		}
	}
	return waitsForInput, first
}

func (s *State) happened(sub *subscription, errno Errno, nbytes uint64) {
	s.events = append(s.events, event{sub.userdata, errno, sub.kind, nbytes})
}

// untilClock is the time until a clock subscription's event, at most about 292 years.
func (s *State) untilClock(sub *subscription) (time.Duration, Errno) {
	if sub.id > clockThread || sub.flags&^subclockAbstime != 0 {
		return 0, ErrnoInval
	}
	left := sub.timeout
	if sub.flags&subclockAbstime != 0 {
		now, errno := s.time(sub.id)
		if errno != ErrnoSuccess {
			return 0, errno
		}
		if left <= now {
			return 0, ErrnoSuccess
		}
		left -= now
	}
	return time.Duration(min(left, math.MaxInt64-1)), ErrnoSuccess
}

// readiness says whether a descriptor subscription has an event now. Only standard input may have none; its
// read-ahead is then under way.
func (s *State) readiness(sub *subscription) (ready bool, errno Errno, nbytes uint64) {
	need := rightFdRead
	if sub.kind == eventFdWrite {
		need = rightFdWrite
	}
	d, errno := s.fdWith(sub.id, need|rightPollFdReadwrite)
	if errno != ErrnoSuccess {
		return true, errno, 0
	}
	switch {
	case d.kind == kindStdin:
		if !s.stdin.collect() {
			s.stdin.start()
			if !s.stdin.collect() {
				return false, ErrnoSuccess, 0
			}
		}
		return true, ErrnoSuccess, uint64(len(s.stdin.ahead))
	case d.kind == kindFile && sub.kind == eventFdRead:
		size, errno := s.sizeOf(d)
		if errno != ErrnoSuccess {
			return true, errno, 0
		}
		return true, ErrnoSuccess, uint64(max(0, size-d.offset))
	}
	return true, ErrnoSuccess, 0
}
