//go:build amd64 || arm64

package wall

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// asked is a system call as the kernel shows it to a filter.
type asked struct {
	arch uint32
	call uint32
	args [6]uint64
}

func (a asked) word(off uint32) uint32 {
	switch {
	case off == offCall:
		return a.call
	case off == offArch:
		return a.arch
	}
	arg := a.args[(off-offArgs)/8]
	if (off-offArgs)%8 == 4 {
		arg >>= 32
	}
	return uint32(arg)
}

// run is the kernel's machine, as far as filters use it.
func run(t *testing.T, p []unix.SockFilter, a asked) uint32 {
	t.Helper()
	var acc uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		yes := false
		switch in.Code {
		case load:
			acc = a.word(in.K)
			continue
		case answer:
			return in.K
		case jumpEq:
			yes = acc == in.K
		case jumpGe:
			yes = acc >= in.K
		case jumpGt:
			yes = acc > in.K
		case jumpOn:
			yes = acc&in.K != 0
		default:
			t.Fatalf("instruction %d: unknown code %#x", pc, in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	t.Fatal("the program ends without an answer")
	return 0
}

// want is what f means.
func (f filter) want(a asked) uint32 {
	if a.arch != f.arch {
		return answerKill
	}
	if a.call >= x32 {
		return answerAbsent
	}
	for _, r := range f.rules {
		if uint32(r.call) == a.call && !slices.ContainsFunc(r.tests, func(t test) bool { return !t.holds(a.args[t.arg]) }) {
			return r.answer
		}
	}
	return answerDeny
}

func (t test) holds(v uint64) bool {
	switch t.op {
	case equal:
		return v == uint64(t.value)
	case atMost:
		return v <= uint64(t.value)
	case anyBit:
		return uint32(v)&t.value != 0
	default:
		return uint32(v)&t.value == 0
	}
}

// TestFilterProgram compares what programs answer with what their rules say, for all calls with telling arguments.
func TestFilterProgram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, c := range []Config{
		{}, {Cache: "/c", Write: []string{"/w"}}, {Serve: true}, {Connect: []uint16{443}}, {Code: true, Terminal: true, Profile: true},
		{Write: []string{"/w"}, Serve: true, Connect: []uint16{0}},
	} {
		f := calls(c)
		p := f.program()
		if len(p) > 4096 {
			t.Errorf("%+v: %d instructions, the kernel takes 4096", c, len(p))
		}
		values := []uint64{0, 1, 2, 3, 1 << 32, 1<<32 + 1, 255, 256, 262, 1<<64 - 1}
		for _, r := range f.rules {
			values = append(values, uint64(r.call)) // a number of a call, where an argument is
			for _, x := range r.tests {
				values = append(values, uint64(x.value), uint64(x.value)|1<<32, uint64(x.value)+1)
			}
		}
		for call := range uint32(600) {
			for _, call := range []uint32{call, call | x32} {
				for range 50 {
					a := asked{arch: auditArch, call: call}
					for i := range a.args {
						a.args[i] = values[rnd.IntN(len(values))]
					}
					if got, want := run(t, p, a), f.want(a); got != want {
						t.Fatalf("%+v: %+v is answered %#x, want %#x", c, a, got, want)
					}
				}
			}
		}
		if got := run(t, p, asked{arch: unix.AUDIT_ARCH_I386, call: unix.SYS_READ}); got != answerKill {
			t.Errorf("another architecture is answered %#x", got)
		}
	}
}

// TestFilterNeverAllows names what no Config allows.
func TestFilterNeverAllows(t *testing.T) {
	for _, c := range []Config{{}, {Cache: "/c", Write: []string{"/w"}, Read: []string{"/r"}, Serve: true, Connect: []uint16{0}, Code: true, Terminal: true, Profile: true}} {
		f := calls(c)
		for _, r := range f.rules {
			if r.answer == answerAllow && len(r.tests) == 0 && slices.Contains(slices.Concat(fatal, fatalHere), r.call) {
				t.Errorf("%+v: call %d is allowed and fatal", c, r.call)
			}
		}
		for _, r := range copying {
			if got := run(t, f.program(), asked{arch: auditArch, call: uint32(r.call)}); got != r.answer {
				t.Errorf("%+v: call %d is answered %#x", c, r.call, got)
			}
		}
		for _, call := range slices.Concat(fatal, fatalHere) {
			if got := run(t, f.program(), asked{arch: auditArch, call: uint32(call)}); got != answerKill {
				t.Errorf("%+v: call %d is answered %#x", c, call, got)
			}
		}
	}
}
