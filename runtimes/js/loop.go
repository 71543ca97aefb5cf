package js

import (
	"math"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// States of a promise (quickjs.h, JSPromiseStateEnum).
const (
	promisePending   = 0
	promiseFulfilled = 1
	promiseRejected  = 2
)

// rejection is a rejected promise that nobody has handled yet: addresses of two boxed values.
type rejection struct{ promise, reason uint32 }

// loop runs what is pending, as Node's event loop does, until done says so or nothing is left:
//
//	[ ticks, jobs ]*  ->  unhandled rejections fail the run  ->  one timer or the immediates, answers of the host  ->  from the start
//
// ended: the turn is over with out, or is suspended.
func (in *interp) loop(s *turn, done func() bool) (out runtimes.Outcome, ended bool, err error) {
	for {
		if out, ended, err = in.drain(s); ended || err != nil {
			return out, true, err
		}
		if !s.timers && !s.calls || done != nil && done() {
			return out, false, nil
		}
		wait := -1.0
		if s.timers {
			fired := in.invoke(in.b.Funcs["fire"], floatValue(s.nowMillis()))
			if fired.exception() {
				if out, ended, err = in.survive(s, in.takeException(), "uncaughtException", undefined); ended || err != nil {
					return out, true, err
				}
				continue
			}
			wait = fired.number()
			s.timers = wait >= 0
		}
		switch {
		case s.calls:
			switch r := in.invoke(in.b.Funcs["settle"], floatValue(wait), boolValue(s.suspendable && wait < 0)); {
			case r == boolValue(true):
				s.suspended = true
				return out, true, nil
			case r.exception():
				if out, ended, err = in.survive(s, in.takeException(), "uncaughtException", undefined); ended || err != nil {
					return out, true, err
				}
			}
		case wait > 0:
			d := time.Duration(math.Ceil(wait * float64(time.Millisecond)))
			err = s.env.clock().Sleep(in.ctx, d)
			if s.ended() {
				out, err = in.exit(s)
				return out, true, err
			}
			if err != nil {
				return out, true, err
			}
		}
	}
}

// drain runs process.nextTick's queue and the interpreter's jobs until both are empty.
func (in *interp) drain(s *turn) (out runtimes.Outcome, ended bool, err error) {
	for {
		if s.ticks && !s.detached {
			s.ticks = false
			if r := in.invoke(in.b.Funcs["ticks"]); r.exception() {
				if out, ended, err = in.survive(s, in.takeException(), "uncaughtException", undefined); ended || err != nil {
					return out, ended, err
				}
			}
		}
		s.detached = false
		for {
			s.modules = false
			r := int32(in.call("JS_ExecutePendingJob", uint64(in.b.Runtime), uint64(in.b.Cell)))
			if r == 0 && !s.ended() {
				break
			}
			if r >= 0 && !s.ended() {
				continue
			}
			e := undefined
			if r < 0 {
				e = in.takeException()
			}
			if out, ended, err = in.survive(s, e, "uncaughtException", undefined); ended || err != nil {
				return out, ended, err
			}
		}
		if s.ticks {
			continue
		}
		if len(s.rejections) == 0 {
			return out, false, nil
		}
		r := s.rejections[0]
		s.rejections = s.rejections[1:]
		e := value(in.call("JS_DupValue", uint64(in.b.Ctx), in.u64(r.reason)))
		in.call("qjs_free_value", uint64(r.reason))
		out, ended, err = in.survive(s, e, "unhandledRejection", value(in.u64(r.promise)))
		in.call("qjs_free_value", uint64(r.promise))
		if ended || err != nil {
			return out, ended, err
		}
	}
}

// forget takes the rejection of a promise from the list.
func (in *interp) forget(s *turn, promise value) {
	for i, r := range s.rejections {
		if value(in.u64(r.promise)) == promise {
			in.call("qjs_free_value", uint64(r.promise))
			in.call("qjs_free_value", uint64(r.reason))
			s.rejections = append(s.rejections[:i], s.rejections[i+1:]...)
			return
		}
	}
}

// survive decides what becomes of a turn after an exception that reached its top: it ends, unless a
// listener of the program takes it, who is told of the rejected promise, if it is one.
func (in *interp) survive(s *turn, e value, origin string, promise value) (out runtimes.Outcome, ended bool, err error) {
	if s.ended() {
		in.free(e)
		out, err = in.exit(s)
		return out, true, err
	}
	if s.listens {
		name := in.newString(origin)
		taken := in.invoke(in.b.Funcs["fatal"], e, name, promise)
		in.free(name)
		switch {
		case taken == boolValue(true):
			in.free(e)
			return out, false, nil
		case taken.exception():
			in.free(e)
			e = in.takeException()
			if s.ended() {
				in.free(e)
				out, err = in.exit(s)
				return out, true, err
			}
		}
	}
	out, err = in.uncaught(s, e)
	return out, true, err
}

func boolValue(b bool) value {
	if b {
		return tagBool<<32 | 1
	}
	return tagBool << 32
}

func floatValue(f float64) value { return value(math.Float64bits(f) - floatAddend) }

// nowMillis is the monotonic clock in milliseconds.
func (s *turn) nowMillis() float64 {
	return float64(s.env.clock().Monotonic()) / float64(time.Millisecond)
}
