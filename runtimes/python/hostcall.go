package python

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// Ops between the guest's package and this driver; see guest/host.py.
const (
	opTurn     = 0x01 // -> the turn's frame
	opOutcome  = 0x02 // JSON of guestOutcome
	opBooted   = 0x03 // JSON of booted
	opModule   = 0x04 // name of a guest module -> 1 and its source, or 0
	opRehearse = 0x05 // a frame, for opTurn to answer while baking
	opImmortal = 0x06 // addresses of objects whose references are no longer to be counted
	opDisk     = 0x07 // -> JSON of runtimes.Space
	opState    = 0x08 // JSON: what a session's turn did to its names
	opAutopsy  = 0x09 // JSON: a part of what is told of a turn that was stopped
	opRenew    = 0x0a // which of the image's twisters are to have new words, a byte each
	opDispatch = 0x0b // ufuncs of numpy, and which of their loops is to be taken for what types
	opStretch  = 0x0c // a request for digest.Stretch -> block and sum; see derive.go
	opMix      = 0x0d // a request for digest.Mix, in place; see derive.go
	opShared   = 0x10 // this and above: the door
)

// Results of the imported function host.call.
const (
	callAnswered = 0
	callNoHost   = 0xffffffff // -1
	callFault    = 0xfffffffe // -2
)

const (
	// maxRequest bounds what the guest can make the host copy with one call. Figures and tool arguments are the largest requests;
	// the door refuses more anyway.
	maxRequest = 64 << 20
	// maxReply bounds what the guest is made to hold: the largest is a turn's frame, with its code and inputs.
	maxReply = 256 << 20
	// maxOutcome bounds the JSON that tells how a turn ended. The guest's own package keeps texts to
	// 64 Ki characters, of at most 12 bytes each.
	maxOutcome = 4 << 20
)

// run is what belongs to one call into the guest. Host functions find it in their context.
type run struct {
	turn        *runtimes.Turn // nil while booting
	frame       []byte         // what opTurn answers
	booted      []byte         // what opBooted brought
	outcome     *guestOutcome
	state       []byte             // what opState brought
	autopsy     *[]json.RawMessage // what opAutopsy has brought; nil in a turn
	twisters    []twister          // the image's
	interrupted bool
	unreported  *runtimes.GuestError // instead of the outcome's, if memory was refused
}

type runKey struct{}

// hostCall implements host.call(ptr, len, out_ptr_ptr, out_len_ptr) -> i32. The answer is put into memory from
// host_alloc, which the interpreter frees.
func hostCall(ctx context.Context, g vm.Guest, stack []uint64) {
	stack[0] = uint64(answer(ctx, g, uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])))
}

func answer(ctx context.Context, g vm.Guest, ptr, n, outPtr, outLen uint32) uint32 {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return callNoHost
	}
	view, ok := g.Memory().Read(ptr, n)
	if n == 0 || !ok {
		return callFault
	}
	var reply []byte
	if n > maxRequest {
		reply = refusal("ValueError", fmt.Sprintf("a request of %d bytes is more than %d", n, maxRequest))
	} else if reply = r.reply(ctx, g, bytes.Clone(view)); uint64(len(reply)) > maxReply {
		reply = refusal("TooLarge", "the host's answer is too large")
	}
	at, err := g.Call(ctx, expAlloc, uint64(len(reply)))
	if err != nil {
		panic(vm.Stop{Err: err})
	}
	mem := g.Memory()
	if at == 0 || !mem.Write(uint32(at), reply) ||
		!mem.WriteUint32(outPtr, uint32(at)) || !mem.WriteUint32(outLen, uint32(len(reply))) {
		return callFault
	}
	return callAnswered
}

// reply answers one request: its first byte is the op, that of the reply says 0 granted, 1 refused.
func (r *run) reply(ctx context.Context, g vm.Guest, request []byte) []byte {
	op, payload := request[0], request[1:]
	if r.turn == nil {
		return r.bootReply(g.Memory(), op, payload)
	}
	switch {
	case op == opTurn:
		return r.frame
	case op == opOutcome:
		if len(payload) > maxOutcome {
			return refusal("TooLarge", "the outcome is too large")
		}
		var o guestOutcome
		if err := json.Unmarshal(payload, &o); err != nil {
			return refusal("ValueError", "the outcome is not JSON as expected")
		}
		r.outcome = &o
		return granted
	case op == opDisk && r.turn.Disk != nil:
		b, err := json.Marshal(r.turn.Disk())
		if err != nil { // numbers always encode
			panic(err)
		}
		return append([]byte{0}, b...)
	case op == opAutopsy && r.autopsy != nil:
		if len(payload) <= runtimes.MaxAutopsy && len(*r.autopsy) < maxParts && json.Valid(payload) {
			*r.autopsy = append(*r.autopsy, payload)
		}
		return granted
	case op == opState:
		if len(payload) <= runtimes.MaxState {
			r.state = payload
		}
		return granted
	case op == opRenew && r.turn.Entropy != nil:
		for n, i := range payload {
			if n >= len(r.twisters) || int(i) >= len(r.twisters) || !r.twisters[i].renew(g.Memory(), r.turn.Entropy) {
				return refusal("ValueError", "there is no such generator")
			}
		}
		return granted
	case op == opStretch:
		return stretch(g, payload)
	case op == opMix:
		return mix(g, payload)
	case op >= opShared && r.turn.Door != nil:
		reply, err := r.turn.Door(ctx, request)
		if err != nil {
			panic(vm.Stop{Err: err})
		}
		return reply
	}
	return unsupported(op)
}

// bootReply answers while the image is made. Rehearsed turns end and show as they like.
func (r *run) bootReply(mem vm.Memory, op byte, payload []byte) []byte {
	switch {
	case op == opModule:
		return moduleSource(string(payload))
	case op == opRehearse:
		r.frame = append([]byte{0}, payload...)
	case op == opTurn:
		return r.frame
	case op == opImmortal:
		if !immortalize(mem, payload) {
			return refusal("ValueError", "an address is not that of a counted object")
		}
	case op == opDispatch:
		if !redirect(mem, payload) {
			return refusal("ValueError", "numpy's ufuncs do not remember their loops as expected")
		}
	case op == opBooted:
		r.booted = payload
	case op != opOutcome && op != opState && op < opShared:
		return unsupported(op)
	}
	return granted
}

var granted = []byte{0}

func refusal(name, message string) []byte {
	b, err := json.Marshal(struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	}{name, message})
	if err != nil { // strings always encode
		panic(err)
	}
	return append([]byte{1}, b...)
}

func unsupported(op byte) []byte {
	return refusal("Unsupported", fmt.Sprintf("the host does not answer op %#02x", op))
}
