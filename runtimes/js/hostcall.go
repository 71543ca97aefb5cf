package js

import (
	"context"
	"crypto/hmac"
	"encoding/binary"
	"encoding/json"
	"hash"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes/digest"
)

// hostOps are the functions that the guest code gets from the host, by op, which is the one byte of
// the name that host_call is called with. Ops below 0x10 are a driver's own (package hostfuncs), and so are these; what goes
// through the door is asked for by opDoor. The guest is hostile: arguments may be anything.
var hostOps = [...]string{
	opWrite: "write", opDoor: "door", opNow: "now", opSignal: "signal", opExit: "exit", opEntropy: "entropy",
	opTurn: "turn", opFile: "file", opEncode: "encode", opDecode: "decode", opHash: "hash", opZone: "zone",
	opCompile: "compile", opStdin: "stdin", opResolve: "resolve", opPeek: "peek", opCollate: "collate", opTool: "tool",
	opBind: "bind", opDeflate: "deflate", opInflate: "inflate", opLine: "line", opTrace: "traced",
	opCipher: "cipher", opGCMTag: "gcmTag", opStretch: "stretch", opMix: "mix", opStringify: "stringifyPlain", opMatches: "matches",
	opDate: "parseDate", opFormat: "moduleFormat", opEvaluate: "evaluate",
	opNewRealm: "newRealm", opInRealm: "inRealm",
}

const (
	opWrite     = 1 + iota // (fd, text | buffer, offset, length)
	opDoor                 // (op, header JSON, buffer?, offset, length) -> ArrayBuffer, or text when refused
	opNow                  // () -> ms on the monotonic clock
	opSignal               // (what, number): see signal*
	opExit                 // (code): does not return
	opEntropy              // (n) -> ArrayBuffer
	opTurn                 // () -> JSON: name, file, dir, exitCode when it was set
	opFile                 // (verb, path, ...): see files.go
	opEncode               // (encoding, text) -> ArrayBuffer
	opDecode               // (encoding, buffer, offset, length) -> text, or null when fatal and not valid
	opHash                 // (algorithm, key buffer or null, buffer, offset, length) -> ArrayBuffer, or null
	opZone                 // (zone, ms) -> "seconds east,abbreviation", or null
	opCompile              // (source, file) -> what the script gives
	opStdin                // (max) -> ArrayBuffer, empty at the end
	opResolve              // (base, specifier, "require" | "import") -> "=file" or "!code message"
	opPeek                 // (what, value): see peek*
	opCollate              // (a, b, locale, sensitivity, numeric) -> -1, 0 or 1
	opTool                 // (header JSON of a tool frame, async) -> "0" and the result, "1" and the refusal, or the call's id
	opBind                 // (name of a tool) -> the function that calls it, whose name is opBind and the tool's
	opDeflate              // ("gzip" | "deflate" | "deflate-raw", level, buffer, offset, length) -> ArrayBuffer
	opInflate              // (those or "auto", most bytes, buffer, offset, length) -> ArrayBuffer, or "CODE number message"
	opLine                 // (file, line) -> that line of the running script, or null
	opTrace                // (error, frames) -> frames: what the interpreter keeps as an error's stack; see errors.js
	opCipher               // (mode, then key, iv and data, each as buffer, offset, length) -> ArrayBuffer, or null
	opGCMTag               // (key, nonce, additional data, plain text, each as buffer, offset, length) -> ArrayBuffer, or null
	opStretch              // (algorithm, rounds, then key, block and sum, each as buffer, offset, length), in place: see digest.Stretch
	opMix                  // (from, to, then block and table, each as buffer, offset, length), in place: see digest.Mix
	opStringify            // (value, gap) -> its JSON text, or null when the interpreter has to write it
	opMatches              // (pattern, text, form, replacement) -> what was found (see matches.go), or null when the interpreter has to look
	opDate                 // (text) -> the time of a date in ms, or NaN
	opFormat               // (file) -> how it is loaded: "module", "commonjs" or "json"
	opEvaluate             // (file): evaluates an ES module before it returns, and hands its namespace to globalThis[Symbol.for("cloche.give")]
	opNewRealm             // () -> the number of a new realm; see vm.go
	opInRealm              // (realm, what, source, file, number of its first line, ms or 0 for as long as it takes) -> what the script gives
)

// What the guest tells by opSignal.
const (
	signalTimers   = 1 // a timer was set
	signalTicks    = 2 // process.nextTick's queue is no longer empty
	signalListens  = 3 // there are listeners for the end of the program
	signalLinking  = 5 // the import of that number, from 1, is being loaded
	signalCalls    = 6 // 1: the host is doing something for the program; 0: nothing more
	signalExitCode = 4 // process.exitCode was set, or with -1 unset
)

// What the guest asks by opPeek of things that JavaScript does not show.
const (
	peekPromiseState  = 0 // -> 0 pending, 1 fulfilled, 2 rejected, -1 no promise
	peekPromiseResult = 1
	peekProxyTarget   = 2 // -> the target, or undefined when it is no proxy
	peekClass         = 3 // -> the number of the interpreter's class, 0 for what is no object
	peekIterated      = 4 // -> the Map or Set of an iterator, or undefined when that is at its end
	peekIteratorKind  = 5 // -> 0 keys (of a Set: its values), 1 values, 2 both
	peekIteratorPast  = 6 // -> how many items the iterator has given
)

// arguments are what the guest called a host function with.
type arguments struct {
	in   *interp
	n    uint32
	argv uint32 // addresses of boxed values
}

// value is argument i, borrowed; undefined when there are fewer.
func (a arguments) value(i uint32) value {
	if i >= a.n {
		return undefined
	}
	return value(a.in.u64(a.in.u32(a.argv + 4*i)))
}

func (a arguments) number(i uint32) float64 {
	if f := a.value(i).number(); !math.IsNaN(f) {
		return f
	}
	return 0
}

// int is argument i cut to what an int32 holds.
func (a arguments) int(i uint32) int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, a.number(i))))
}

// text is argument i when it is a string, cut at max bytes.
func (a arguments) text(i uint32, max int) string {
	v := a.value(i)
	if t := v.tag(); t != tagString && t != tagRope {
		return ""
	}
	s, _ := a.in.stringOf(v, max)
	return s
}

// bytes are those of the arguments (buffer, offset, length) from i on, where they are in the guest's memory.
func (a arguments) bytes(i uint32) (offset, n uint32) {
	v := a.value(i)
	if v.tag() != tagObject {
		return 0, 0
	}
	p, size, ok := a.in.arrayBuffer(v)
	if !ok {
		a.in.free(a.in.takeException())
		return 0, 0
	}
	from, length := uint32(max(0, a.int(i+1))), uint32(max(0, a.int(i+2)))
	if uint64(from)+uint64(length) > uint64(size) {
		return 0, 0
	}
	return p + from, length
}

// Bounds of what the guest may hand over as short text, in bytes.
const (
	maxName = 256
	maxPath = 4096
	// maxArgs is how many arguments the interpreter passes at most (quickjs.c, JS_MAX_LOCAL_VARS).
	maxArgs = 65535
)

// hostCall is env.host_call(name, length of name, this, argc, argv): the guest calls one of hostOps. It
// returns the address of a boxed value, or 0 when it has thrown.
func hostCall(ctx context.Context, g vm.Guest, stack []uint64) {
	s := turnOf(ctx)
	in := &interp{ctx, g, s.boot}
	name := in.view(uint32(stack[0]), uint32(stack[1]))
	a := arguments{in, min(uint32(stack[3]), maxArgs), uint32(stack[4])}
	switch {
	case s.ended(): // the program runs on until its next poll, without effect
		stack[0] = in.unwind()
	case len(name) == 1:
		stack[0] = in.answer(s, name[0], a)
	case len(name) > 1 && len(name) <= 1+maxName && name[0] == opBind:
		stack[0] = in.callTool(s, string(name[1:]), a)
	default:
		fault("a host function of %d bytes", len(name))
	}
}

// answer does op and returns host_call's result.
func (in *interp) answer(s *turn, op byte, a arguments) uint64 {
	switch op {
	case opWrite:
		in.write(s, a)
		return in.undefined()
	case opDoor:
		return in.door(s, a)
	case opNow:
		return in.number(s.nowMillis())
	case opSignal:
		s.signal(a.int(0), a.int(1))
		return in.undefined()
	case opExit:
		s.exited, s.exitCode, s.codeSet = true, int(a.int(0)&0xff), true
		return in.unwind()
	case opEntropy:
		return in.entropy(s, a)
	case opTurn:
		about := map[string]any{"name": s.name(), "file": s.file(), "dir": s.env.dir()}
		if s.codeSet {
			about["exitCode"] = s.exitCode
		}
		b, _ := json.Marshal(about)
		return in.box(in.newString(string(b)))
	case opFile:
		return in.fileOp(s, a)
	case opEncode:
		return in.encode(a)
	case opDecode:
		return in.decode(a)
	case opHash:
		return in.hash(a)
	case opZone:
		return in.zone(s, a)
	case opCompile:
		return in.compile(a)
	case opStdin:
		return in.stdin(s, a)
	case opResolve:
		return in.resolveOp(s, a)
	case opFormat:
		return in.box(in.newString(formatOf(s.env.files(), a.text(0, maxPath), in.look)))
	case opEvaluate:
		return in.evaluate(s, a)
	case opNewRealm:
		return in.newRealm()
	case opInRealm:
		return in.inRealm(s, a)
	case opPeek:
		return in.peek(a)
	case opCollate:
		return in.collate(a)
	case opTool:
		return in.tool(s, a)
	case opBind:
		return in.bindTool(a.text(0, maxName))
	case opDeflate:
		return in.deflate(a)
	case opInflate:
		return in.inflate(a)
	case opLine:
		return in.line(s, a)
	case opTrace:
		return in.trace(a)
	case opCipher:
		return in.cipher(a)
	case opGCMTag:
		return in.gcmTag(a)
	case opStretch:
		return in.stretch(a)
	case opMix:
		return in.mix(a)
	case opStringify:
		return in.stringify(a)
	case opMatches:
		return in.matches(a)
	case opDate:
		return in.date(s, a)
	}
	fault("host function %d", op)
	return 0
}

func (in *interp) undefined() uint64 { return uint64(in.call32("qjs_get_undefined")) }

// number boxes a double.
func (in *interp) number(f float64) uint64 { return in.call("qjs_new_number", math.Float64bits(f)) }

// box boxes a value, which it takes. An exception is pending when it gets one, and 0 says so to the guest.
func (in *interp) box(v value) uint64 {
	if v.exception() {
		return 0
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v))
	in.put(in.b.Cell, b[:])
	box := in.call("qjs_dup_value", uint64(in.b.Cell))
	in.free(v)
	return box
}

// null is the boxed null.
func (in *interp) null() uint64 { return in.box(tagNull << 32) }

// buffer makes an ArrayBuffer of n bytes, which fill writes; 0 with an exception pending when memory is short.
func (in *interp) buffer(n int, fill func([]byte)) uint64 {
	return in.bufferUpTo(n, func(b []byte) int {
		fill(b)
		return n
	})
}

// bufferUpTo is buffer for what has at most that many bytes: fill returns how many it wrote.
func (in *interp) bufferUpTo(most int, fill func([]byte) int) uint64 {
	p, ok := in.alloc(max(most, 1))
	if !ok {
		return in.noMemory()
	}
	n := fill(in.view(p, uint32(most)))
	box := in.call("qjs_new_array_buffer", uint64(p), uint64(n)) // a copy
	in.release(p)
	return box
}

func (in *interp) noMemory() uint64 {
	in.call("JS_ThrowOutOfMemory", uint64(in.b.Ctx))
	return 0
}

// unwind throws the exception that no program can catch.
func (in *interp) unwind() uint64 {
	e := in.makeError("Error", "the program has ended", "")
	if e.tag() == tagObject {
		in.call("JS_SetUncatchableError", uint64(in.b.Ctx), uint64(e))
	}
	in.hurry()
	in.call("JS_Throw", uint64(in.b.Ctx), uint64(e))
	return 0
}

// makeError makes an Error of the class name, with a code when it has one.
func (in *interp) makeError(name, message, code string) value {
	spec, _ := json.Marshal(map[string]string{"name": name, "message": message, "code": code})
	text := in.newString(string(spec))
	if text.exception() {
		return in.takeException()
	}
	e := in.invoke(in.b.Funcs["makeError"], text)
	in.free(text)
	if e.exception() {
		return in.takeException()
	}
	return e
}

// throw throws such an Error and returns host_call's result for that.
func (in *interp) throw(name, message, code string) uint64 {
	in.call("JS_Throw", uint64(in.b.Ctx), uint64(in.makeError(name, message, code)))
	return 0
}

func (s *turn) signal(what, n int32) {
	switch what {
	case signalTimers:
		s.timers = true
	case signalTicks:
		s.ticks = true
	case signalListens:
		s.listens = true
	case signalCalls:
		s.calls = n != 0
	case signalLinking:
		s.linking = int(n)
	case signalExitCode:
		s.exitCode, s.codeSet = int(n&0xff), n >= 0
		if n < 0 {
			s.exitCode = 0
		}
	}
}

// print writes the host's own words.
func (s *turn) print(fd int32, text string) { io.WriteString(s.env.writer(fd), text) }

func (in *interp) write(s *turn, a arguments) {
	w := s.env.writer(a.int(0))
	switch v := a.value(1); v.tag() {
	case tagString, tagRope:
		in.bytesOf(v, func(b []byte) { writeText(w, b) })
	case tagObject:
		p, n := a.bytes(1)
		w.Write(in.view(p, n))
	}
}

// writeText writes text of the interpreter, which may be as long as the guest's memory, without a copy of all of it.
func writeText(w io.Writer, b []byte) {
	if utf8.Valid(b) {
		w.Write(b)
		return
	}
	const chunk = 64 << 10
	for len(b) > 0 {
		n := min(len(b), chunk)
		for n < len(b) && !utf8.RuneStart(b[n]) {
			n++
		}
		w.Write(validUTF8(b[:n]))
		b = b[n:]
	}
}

// maxFrame bounds what goes through the door at once, in bytes; the host refuses more anyway.
const maxFrame = 64 << 20

func (in *interp) door(s *turn, a arguments) uint64 {
	header := validUTF8([]byte(a.text(1, maxDisplay)))
	p, n := a.bytes(2)
	if s.Door == nil {
		return in.box(in.newString(`{"name":"Error","message":"the host offers nothing here"}`))
	}
	if n > maxFrame {
		return in.box(in.newString(`{"name":"RangeError","message":"the body is larger than 64 MiB"}`))
	}
	frame := make([]byte, 0, 5+len(header)+int(n))
	frame = append(frame, byte(a.int(0)))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(header)))
	frame = append(frame, header...)
	frame = append(frame, in.view(p, n)...)
	reply, err := s.Door(in.ctx, frame)
	if err != nil {
		panic(vm.Stop{Err: err})
	}
	if s.ended() {
		return in.unwind()
	}
	if len(reply) == 0 || reply[0] != 0 {
		return in.box(in.newString(string(reply[min(1, len(reply)):])))
	}
	return in.buffer(len(reply)-1, func(b []byte) { copy(b, reply[1:]) })
}

// maxEntropy is how much getRandomValues may ask for at once (Web Cryptography API).
const maxEntropy = 65536

func (in *interp) entropy(s *turn, a arguments) uint64 {
	n := min(max(0, a.int(0)), maxEntropy)
	return in.buffer(int(n), func(b []byte) {
		if s.Entropy != nil {
			copy(b, s.Entropy(len(b)))
		}
	})
}

func (in *interp) hash(a arguments) uint64 {
	newHash := digest.Named(a.text(0, maxName))
	if newHash == nil {
		return in.null()
	}
	h := newHash()
	i := uint32(1)
	if a.value(1).tag() == tagObject { // key, offset, length
		p, n := a.bytes(1)
		key := in.view(p, n)
		if n > pieceBytes { // hmac would do the same, without a pause (RFC 2104)
			long := newHash()
			in.hashed(long, p, n)
			key = long.Sum(nil)
		}
		h = hmac.New(newHash, key)
		i += 2
	}
	p, n := a.bytes(i + 1)
	in.hashed(h, p, n)
	sum := h.Sum(nil)
	return in.buffer(len(sum), func(b []byte) { copy(b, sum) })
}

// hashed puts n bytes at address p into h.
func (in *interp) hashed(h hash.Hash, p, n uint32) {
	_ = in.pieces(n, func(from, to uint32) error { // a hash has no errors
		_, err := h.Write(in.view(p+from, to-from))
		return err
	})
}

func (in *interp) zone(s *turn, a arguments) uint64 {
	l := s.location()
	if name := a.text(0, maxName); name != "" {
		if l = s.zones.location(name); l == nil {
			return in.null()
		}
	}
	abbreviation, east := time.UnixMilli(int64(a.number(1))).In(l).Zone()
	return in.box(in.newString(strconv.Itoa(east) + "," + abbreviation + "," + l.String()))
}

// hostTimezoneOffset is env.host_get_timezone_offset(seconds since 1970, high and low half): seconds east of UTC.
func hostTimezoneOffset(ctx context.Context, _ vm.Guest, stack []uint64) {
	if s := turnOf(ctx); s.observe != nil {
		s.observe()
	}
	sec := int64(stack[0]<<32 | stack[1]&math.MaxUint32)
	_, east := time.Unix(sec, 0).In(turnOf(ctx).location()).Zone()
	stack[0] = uint64(uint32(east))
}

// hostInterrupt is env.host_interrupt: 1 stops the program, uncatchably.
func hostInterrupt(ctx context.Context, _ vm.Guest, stack []uint64) {
	stack[0] = 0
	s := turnOf(ctx)
	if s.until != 0 && s.nowMillis() > s.until {
		s.late = true
	}
	if s.late || s.ended() {
		stack[0] = 1
	}
}

// hostPromiseRejection is env.host_promise_rejection(promise, reason, handled): a promise was rejected while
// nobody listened, or somebody listens now. Both boxes are the driver's.
func hostPromiseRejection(ctx context.Context, g vm.Guest, stack []uint64) {
	s := turnOf(ctx)
	in := &interp{ctx, g, s.boot}
	promise, reason := uint32(stack[0]), uint32(stack[1])
	if stack[2]&math.MaxUint32 == 0 && !s.ended() {
		s.rejections = append(s.rejections, rejection{promise, reason})
		return
	}
	in.forget(s, value(in.u64(promise)))
	in.call("qjs_free_value", uint64(promise))
	in.call("qjs_free_value", uint64(reason))
}

func (in *interp) compile(a arguments) uint64 {
	src := a.text(0, maxSource+1)
	if len(src) > maxSource {
		return in.throw("RangeError", "the file is too large to run", "")
	}
	if in.reveal(src, fileNames) {
		return 0
	}
	return in.box(in.eval(src, a.text(1, maxPath), 0))
}

// maxStdin is how much of standard input is read at once.
const maxStdin = 1 << 20

func (in *interp) stdin(s *turn, a arguments) uint64 {
	n := 0
	b := make([]byte, min(max(1, a.int(0)), maxStdin))
	if s.env.Stdin != nil {
		n, _ = io.ReadAtLeast(s.env.Stdin, b, 1) // an error is the end
	}
	if s.ended() {
		return in.unwind()
	}
	return in.buffer(n, func(dst []byte) { copy(dst, b[:n]) })
}

func (in *interp) peek(a arguments) uint64 {
	v := a.value(1)
	if a.int(0) == peekClass {
		return in.number(float64(in.call32("JS_GetClassID", uint64(v))))
	}
	promise := v.tag() == tagObject && in.call32("JS_IsPromise", uint64(v)) != 0
	switch a.int(0) {
	case peekPromiseState:
		if !promise {
			return in.number(-1)
		}
		return in.number(float64(in.call32("JS_PromiseState", uint64(in.b.Ctx), uint64(v))))
	case peekPromiseResult:
		if promise {
			return in.box(value(in.call("JS_PromiseResult", uint64(in.b.Ctx), uint64(v))))
		}
	case peekIterated, peekIteratorKind, peekIteratorPast:
		it := heap{in.g.Memory(), in.b}.iterator(v)
		switch a.int(0) {
		case peekIteratorKind:
			return in.number(float64(it.kind))
		case peekIteratorPast:
			return in.number(float64(it.past))
		}
		return in.box(value(in.call("JS_DupValue", uint64(in.b.Ctx), uint64(it.of))))
	case peekProxyTarget:
		if v.tag() == tagObject && in.call32("JS_IsProxy", uint64(v)) != 0 {
			return in.box(value(in.call("JS_GetProxyTarget", uint64(in.b.Ctx), uint64(v))))
		}
	}
	return in.undefined()
}

// validUTF8 is b, text of the interpreter, or a copy in which lone halves of surrogate pairs became U+FFFD.
func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return replaceInvalid(nil, b, true)
}
