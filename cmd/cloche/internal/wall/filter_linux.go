//go:build amd64 || arm64

package wall

import (
	"golang.org/x/sys/unix"
)

// A filter is a seccomp program: what the kernel answers to each system call. It is assembled here, for two reasons. The
// libraries that do (go-seccomp-bpf 1.6) go on comparing with the numbers of other calls what the check of an argument
// has left in the register, and the numbers are known to the compiler.
type filter struct {
	arch  uint32
	rules []rule
}

// rule answers a call. Of the rules for one call the first whose tests all hold counts; calls without one fail with
// EPERM.
type rule struct {
	call   uintptr
	tests  []test
	answer uint32
}

// test is a condition on an argument. Of all 64 bits only a value below 2^32 can be meant, but for bit tests, which
// look at the lower half: the calls they are used for know no flags above.
type test struct {
	arg   int
	op    op
	value uint32
}

type op int

const (
	equal op = iota
	atMost
	anyBit // of value is set
	noBit  // of value is set
)

// Offsets in struct seccomp_data (linux/seccomp.h), on machines whose low half comes first.
const (
	offCall = 0
	offArch = 4
	offArgs = 16
)

// Answers.
const (
	answerAllow   = unix.SECCOMP_RET_ALLOW
	answerKill    = unix.SECCOMP_RET_KILL_PROCESS
	answerDeny    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	answerAbsent  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	answerInvalid = unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)
)

// x32 is set in the numbers of calls of the x32 ABI, which has the architecture of amd64. No other has numbers so high.
const x32 = 0x40000000

const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEq = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpGe = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jumpGt = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	jumpOn = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	answer = unix.BPF_RET | unix.BPF_K
)

// program is f as the kernel runs it:
//
//	load arch;  if it is another, kill
//	load call;  if it is x32's, ENOSYS
//	for each rule:   if the call is another, skip the rule
//	                 for each test: load argument; if the test fails, skip to the end of the rule
//	                 answer
//	                 (end) load call, if there were tests
//	EPERM
func (f filter) program() []unix.SockFilter {
	p := []unix.SockFilter{
		{Code: load, K: offArch},
		{Code: jumpEq, K: f.arch, Jt: 1},
		{Code: answer, K: answerKill},
		{Code: load, K: offCall},
		{Code: jumpGe, K: x32, Jf: 1},
		{Code: answer, K: answerAbsent},
	}
	for _, r := range f.rules {
		body := r.body()
		p = append(p, unix.SockFilter{Code: jumpEq, K: uint32(r.call), Jf: uint8(len(body))})
		p = append(p, body...)
	}
	return append(p, unix.SockFilter{Code: answer, K: answerDeny})
}

func (r rule) body() []unix.SockFilter {
	if len(r.tests) == 0 {
		return []unix.SockFilter{{Code: answer, K: r.answer}}
	}
	var body []unix.SockFilter
	for _, t := range r.tests {
		body = append(body, t.code()...)
	}
	body = append(body, unix.SockFilter{Code: answer, K: r.answer}, unix.SockFilter{Code: load, K: offCall})
	for i := range body {
		// The jumps to where a test has failed.
		left := uint8(len(body) - 2 - i)
		if body[i].Jt == fails {
			body[i].Jt = left
		}
		if body[i].Jf == fails {
			body[i].Jf = left
		}
	}
	return body
}

// fails stands for a jump to the end of a rule.
const fails = 255

func (t test) code() []unix.SockFilter {
	low := uint32(offArgs + 8*t.arg)
	loadLow := unix.SockFilter{Code: load, K: low}
	whole := []unix.SockFilter{{Code: load, K: low + 4}, {Code: jumpEq, K: 0, Jf: fails}, loadLow}
	switch t.op {
	case equal:
		return append(whole, unix.SockFilter{Code: jumpEq, K: t.value, Jf: fails})
	case atMost:
		return append(whole, unix.SockFilter{Code: jumpGt, K: t.value, Jt: fails})
	case anyBit:
		return []unix.SockFilter{loadLow, {Code: jumpOn, K: t.value, Jf: fails}}
	default:
		return []unix.SockFilter{loadLow, {Code: jumpOn, K: t.value, Jt: fails}}
	}
}
