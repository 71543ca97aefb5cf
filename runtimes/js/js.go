// Package js runs JavaScript in QuickJS-NG, as the npm package quickjs-wasi builds it for WebAssembly.
//
// The [Driver] calls the interpreter's C API, which the module exports (values are 64-bit NaN boxes). The
// global objects that programs expect of Node and the web are written in JavaScript (folder guest), run
// once when the image is baked, and reach the host through env.host_call:
//
//	program -> console, timers, fs ... (guest/*.js) -> one host function per op -> hostcall.go -> Env, Turn
//
// A program that waits (timers) waits in Go: the turn is a loop over the interpreter's jobs and the guest's
// timers (loop.go). What a turn is given comes with its [runtimes.Turn] and its [Env]; the Driver itself
// holds nothing of it, and nothing of it stays in Go when the turn is over.
//
// The package knows no WebAssembly runtime. A Driver may be used from several goroutines.
package js

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// Language is the name of the language in jobs, results and on the command line.
const Language = "javascript"

// keepExports are the exports of quickjs.wasm that the driver calls. The others may be dropped.
var keepExports = []string{
	"memory", stackPointer, "_initialize", "wasm_malloc", "wasm_free",
	"qjs_init", "qjs_get_runtime_ptr", "qjs_get_context_ptr", "qjs_get_quickjs_version",
	"qjs_set_interrupt_handler", "qjs_set_promise_rejection_handler", "qjs_set_module_loader",
	"qjs_new_host_function", "qjs_get_undefined", "qjs_new_number", "qjs_new_string", "qjs_new_array_buffer",
	"qjs_free_value", "qjs_dup_value",
	"JS_Call", "JS_DeleteProperty", "JS_Eval2", "JS_EvalFunction", "JS_ExecutePendingJob", "JS_FreeAtom",
	"JS_FreeCString", "JS_FreeValue", "JS_GetArrayBuffer", "JS_GetException", "JS_GetGlobalObject",
	"JS_GetPropertyStr", "JS_HasProperty", "JS_IsJobPending", "JS_IsPromise", "JS_NewAtomLen",
	"JS_NewSettledPromise", "JS_NewStringLen", "JS_ParseJSON", "JS_PromiseMarkAsHandled", "JS_PromiseResult", "JS_PromiseState", "JS_ReadObject", "JS_RunGC",
	"JS_SetGCThreshold", "JS_SetMaxStackSize", "JS_SetPropertyStr", "JS_SetUncatchableError", "JS_Throw",
	"JS_ThrowOutOfMemory", "JS_ToCStringLen2", "JS_DupValue", "JS_IsProxy", "JS_GetProxyTarget", "JS_GetClassID", "JS_UpdateStackTop",
}

// Driver implements [runtimes.Driver]. Its zero value is ready.
type Driver struct {
	// parsed is the boot that was decoded last: an engine has one image of a language.
	parsed atomic.Pointer[parsedBoot]
	zones  atomic.Pointer[zones]
}

type parsedBoot struct {
	info []byte
	boot *boot
}

// New returns a driver.
func New() *Driver { return &Driver{} }

var _ runtimes.Driver = (*Driver)(nil)

// Language implements [runtimes.Driver].
func (*Driver) Language() string { return Language }

// HostFuncs implements [runtimes.Driver].
func (*Driver) HostFuncs() []vm.HostFunc {
	i32 := func(n int) []vm.ValType { return make([]vm.ValType, n) }
	return []vm.HostFunc{
		{Module: "env", Name: "host_call", Params: i32(5), Results: i32(1), Fn: hostCall},
		{Module: "env", Name: "host_interrupt", Results: i32(1), Fn: hostInterrupt},
		{Module: "env", Name: "host_promise_rejection", Params: i32(3), Fn: hostPromiseRejection},
		{Module: "env", Name: "host_module_normalize", Params: i32(2), Results: i32(1), Fn: hostModuleNormalize},
		{Module: "env", Name: "host_module_load", Params: i32(2), Results: i32(1), Fn: hostModuleLoad},
		{Module: "env", Name: "host_get_timezone_offset", Params: i32(2), Results: i32(1), Fn: hostTimezoneOffset},
	}
}

// boot is what the driver remembers of its image: addresses in the guest's memory, and facts about the
// layout of this build of the interpreter that [Driver.Boot] found out and checked. It is [runtimes.BootInfo] as JSON.
type boot struct {
	Version string // of QuickJS
	Runtime uint32 // JSRuntime *
	Ctx     uint32 // JSContext *

	// Scratch is a buffer of scratchSize bytes for text on its way in, Cell takes out parameters, Args
	// arguments. Names is where the file name of a turn is put.
	Scratch, Cell, Args, Name uint32
	// Tracing is the address of a byte that is 1 while the interpreter writes the stack of an error, when it begins no other.
	Tracing uint32
	// FirstStack is the top of the stack that the interpreter was made with, and does not use; see moveStack.
	FirstStack uint64
	// StackLimit is the lowest address that the stack may reach.
	StackLimit uint32

	// Global is the global object. Lexicals is the one that holds top-level let, const and class; QuickJS has no name for it.
	Global, Lexicals value
	// Random is the address of Math.random's state (8 bytes, never zero), Countdown that of the number of polls
	// (4 bytes) until the interpreter asks host_interrupt.
	Random, Countdown uint32
	// CodeAt is the offset of the address of the code in a compiled function, CheckOp the instruction that
	// checks a top-level declaration before a script runs, ThisOp the one that pushes this.
	CodeAt          uint32
	CheckOp, ThisOp byte

	// AtomsAt is the offset of the address of the atoms in the runtime; the others are atoms.
	AtomsAt, NameAtom, LengthAtom, ConstructorAtom, ToJSONAtom, ThenAtom uint32

	ObjectProto, ArrayProto, PromiseProto object // Object.prototype, Array.prototype and Promise.prototype
	// Kept is where the promise is that was given out last for a tool's result (a value), PromiseHead what flags and class of a new one
	// are. See settled.go.
	Kept, PromiseHead uint32
	// Thrown are the prototypes of the classes of the interpreter's own errors.
	Thrown []object
	// Given are the names that every program finds, and that a state card leaves out; Known is where the marks of the last card
	// are told of. See card.go.
	Given []string
	Known uint32

	// Funcs are the guest's functions that the driver calls, by name (see guestFuncs).
	Funcs map[string]value
}

// Functions that guest/*.js leave for the driver, and what they take and give.
var guestFuncs = []string{
	"begin",                      // (settings: JSON) sets inputs, arguments and environment of a turn
	"fire",                       // (now ms) runs the next timer that is due, or the immediates -> see loop.go
	"settle",                     // (ms, negative: no bound; suspend: may be) waits for the host and hands out what has come -> true: suspended
	"ticks",                      // () runs process.nextTick's queue
	"reset",                      // () forgets timers and ticks of a turn that ended early
	"link",                       // (imports: JSON) -> promise; binds what the script imports
	"show",                       // (value, main) -> display header, JSON
	"describe",                   // (error) -> JSON of report
	"makeError",                  // (JSON of name, message, code) -> error
	"fatal",                      // (error, origin) -> whether a listener of process took it
	"idle",                       // (code) runs the listeners of "beforeExit": nothing is left to do
	"exiting",                    // (code) runs the listeners of "exit"
	"moduleSource",               // (name of a builtin) -> its source as an ES module
	"jsonModule", "commonModule", // (text or file, file) -> the source of an ES module
	"reword",      // (error, frames) gives a new error Node's message; see opTrace
	"whereabouts", // () -> JSON of what a stopped program was doing
	"reveal",      // (names, parted by spaces) makes names of Node's global; see nodenames.go
	"callTool",    // (name, ...arguments) calls a tool -> promise
	"toolReply",   // (name, reply of opTool) -> promise of what it says
	"moduleName",  // (file, stamp) -> the name of the file as it is now
}

const (
	scratchSize = 16 << 10
	cellSize    = 16
	argsSize    = 64
	nameSize    = 256
	knownSize   = 12
	keptSize    = 8

	// stackSize is the interpreter's stack in linear memory. What is left of it when a call is refused, stackReserve, is
	// for native functions, which check only when they are entered. Measured: with 1.5 MiB to use, a plain function calls
	// itself 6,500 times; from 2.5 MiB on, recursion through Array.prototype.map uses up the machine's own stack (50 MB in
	// wazero) before the interpreter refuses, which ends the run by a trap.
	stackSize    = 2 << 20
	stackReserve = 512 << 10

	// stackPointer is the global, firstStack what can be used of the stack that the interpreter was made with.
	stackPointer = "__stack_pointer"
	firstStack   = 768 << 10
)

//go:embed guest/*.js
var guestFiles embed.FS

// guestOrder is the order in which guest/*.js run; each builds on those before.
var guestOrder = []string{
	"core.js", "language.js", "dates.js", "regexp.js", "inspect.js", "errors.js", "messages.js", "console.js", "timers.js", "events.js", "encoding.js", "buffer.js", "web.js",
	"urlhost.js", "url.js", "nodeurl.js", "clone.js", "locales.js", "intl.js", "path.js", "util.js", "assert.js", "fs.js", "crypto.js", "calls.js", "webstreams.js", "fetch.js", "tools.js", "process.js", "stream.js", "zlib.js", "cipher.js",
	"testing.js", "modules.js", "autopsy.js",
}

// Boot implements [runtimes.Driver].
func (d *Driver) Boot(ctx context.Context, g vm.Guest) (info runtimes.BootInfo, err error) {
	defer recoverStop(&err)
	b := &boot{Funcs: map[string]value{}}
	s := &turn{boot: b, Turn: &runtimes.Turn{}, env: envOf(ctx), zones: d.zones.Load()}
	ctx = context.WithValue(ctx, turnKey{}, s)
	in := &interp{ctx: ctx, g: g, b: b}
	if err := in.start(); err != nil {
		return nil, fmt.Errorf("start QuickJS: %w", err)
	}
	if err := in.probe(); err != nil {
		return nil, fmt.Errorf("start QuickJS %s: %w", b.Version, err)
	}
	if err := in.install(); err != nil {
		return nil, fmt.Errorf("install JavaScript globals: %w", err)
	}
	in.call("JS_RunGC", uint64(b.Runtime))
	in.call("JS_SetGCThreshold", uint64(b.Runtime), gcThreshold)
	return json.Marshal(b)
}

// gcThreshold is the size of the heap in bytes at which the first collection of cycles runs. The
// image's heap is about a megabyte; a collection touches all of it.
const gcThreshold = 4 << 20

// start makes runtime and context and allocates the driver's buffers.
func (in *interp) start() error {
	if r := int32(in.call("qjs_init")); r != 0 {
		return fmt.Errorf("qjs_init returned %d", r)
	}
	b := in.b
	b.Runtime = uint32(in.call("qjs_get_runtime_ptr"))
	b.Ctx = uint32(in.call("qjs_get_context_ptr"))
	version := in.view(uint32(in.call("qjs_get_quickjs_version")), 32)
	b.Version = string(version[:max(0, bytes.IndexByte(version, 0))])
	buffers, ok := in.alloc(scratchSize + cellSize + argsSize + nameSize + knownSize + keptSize)
	if !ok {
		return errNoMemory
	}
	b.Scratch, b.Cell = buffers, buffers+scratchSize
	b.Args, b.Name = b.Cell+cellSize, b.Cell+cellSize+argsSize
	b.Known = b.Name + nameSize
	b.Kept = b.Known + knownSize
	in.put(b.Known, make([]byte, knownSize))
	in.putValue(b.Kept, undefined)
	if err := in.moveStack(); err != nil {
		return err
	}
	in.call("qjs_set_interrupt_handler", 1)
	in.call("qjs_set_promise_rejection_handler", 1)
	in.call("qjs_set_module_loader", 1)
	return nil
}

// moveStack gives the interpreter a stack that is deep enough for programs written for Node: its own of 1 MiB lies at
// the bottom of memory and allows 2,000 calls of a plain function, Node 10,000. The new one lies in the heap, with the bounds
// that the interpreter checks at each call.
func (in *interp) moveStack() error {
	p, ok := in.alloc(stackSize)
	if !ok {
		return errNoMemory
	}
	if in.b.FirstStack, ok = in.g.GlobalGet(stackPointer); !ok || in.b.FirstStack < firstStack {
		return errors.New("the stack is not where it was expected")
	}
	top := (p + stackSize) &^ 15
	in.b.StackLimit = top - (stackSize - stackReserve)
	if !in.g.GlobalSet(stackPointer, uint64(top)) {
		return errors.New("the module exports no __stack_pointer")
	}
	in.call("JS_UpdateStackTop", uint64(in.b.Runtime))
	in.call("JS_SetMaxStackSize", uint64(in.b.Runtime), stackSize-stackReserve)
	return nil
}

// install runs guest/*.js. Each file is one function expression over the object that they share.
func (in *interp) install() error {
	shared, err := in.evalTrusted("({})", "cloche:shared")
	if err != nil {
		return err
	}
	in.setProperty(shared, "engineVersion", in.newString(in.b.Version))
	for op, name := range hostOps {
		if name == "" {
			continue
		}
		p, _ := in.text(string(rune(op)))
		box := uint32(in.call("qjs_new_host_function", uint64(p), 1, 0))
		in.setProperty(shared, name, value(in.u64(box))) // the box itself stays: a few bytes of the image
	}
	for _, file := range guestOrder {
		src, err := guestFiles.ReadFile("guest/" + file)
		if err != nil {
			return err
		}
		fn, err := in.evalTrusted(string(src), "cloche:"+strings.TrimSuffix(file, ".js"))
		if err != nil {
			return err
		}
		if r := in.invoke(fn, shared); r.exception() {
			return in.bootError(file)
		}
		in.free(fn)
	}
	for _, name := range guestFuncs {
		fn := in.property(shared, name)
		if fn.tag() != tagObject {
			return fmt.Errorf("guest code defines no function %q", name)
		}
		in.b.Funcs[name] = fn // its reference is the image's
	}
	for _, name := range builtins {
		if err := in.installModule(name); err != nil {
			return err
		}
	}
	if err := in.drainBoot(); err != nil {
		return err
	}
	for _, class := range []string{"TypeError", "RangeError", "ReferenceError", "SyntaxError", "URIError"} {
		v, err := in.evalTrusted(class+".prototype", "cloche:probe")
		if err != nil {
			return err
		}
		proto, _ := objectAt(v)
		in.b.Thrown = append(in.b.Thrown, proto)
		in.free(v)
	}
	in.b.Given = heap{in.g.Memory(), in.b}.given()
	return nil
}

// evalModule is the flag of JS_Eval2 for an ES module (quickjs.h, JS_EVAL_TYPE_MODULE).
const evalModule = 1

// installModule evaluates the ES module node:name, so that an import finds it loaded.
func (in *interp) installModule(name string) error {
	arg := in.newString(name)
	v := in.invoke(in.b.Funcs["moduleSource"], arg)
	in.free(arg)
	if v.exception() {
		return in.bootError("module " + name)
	}
	src, _ := in.stringOf(v, maxSource)
	in.free(v)
	if v = in.eval(src, "node:"+name, evalModule); v.exception() {
		return in.bootError("module " + name)
	}
	in.free(v)
	return nil
}

// drainBoot runs what the installation left to do: loading node's modules is a chain of promises.
func (in *interp) drainBoot() error {
	for in.call32("JS_IsJobPending", uint64(in.b.Runtime)) != 0 {
		if int32(in.call("JS_ExecutePendingJob", uint64(in.b.Runtime), uint64(in.b.Cell))) < 0 {
			return in.bootError("jobs")
		}
	}
	if s := turnOf(in.ctx); len(s.rejections) > 0 {
		text, _ := in.stringOf(value(in.u64(s.rejections[0].reason)), 1000)
		return fmt.Errorf("guest code rejected: %s", text)
	}
	return nil
}

// evalTrusted runs a piece of the driver's own source.
func (in *interp) evalTrusted(src, name string) (value, error) {
	v := in.eval(src, name, 0)
	if v.exception() {
		return v, in.bootError(name)
	}
	return v, nil
}

func (in *interp) bootError(where string) error {
	e := in.takeException()
	text, _ := in.stringOf(e, 1000)
	stack := in.property(e, "stack")
	lines, _ := in.stringOf(stack, 1000)
	return fmt.Errorf("%s: %s\n%s", where, text, lines)
}

func (in *interp) setProperty(obj value, name string, v value) {
	p, _ := in.text(name)
	in.call("JS_SetPropertyStr", uint64(in.b.Ctx), uint64(obj), uint64(p), uint64(v))
}

// probe finds what the C API does not tell, from the effects of small scripts, and checks it. The artifact is pinned by
// its hash, so a finding holds for every instance of the image.
func (in *interp) probe() error {
	b := in.b
	const probeName = "clocheProbe"
	v, err := in.evalTrusted("let "+probeName+" = 1; this", "cloche:probe")
	if err != nil {
		return err
	}
	global := value(in.call("JS_GetGlobalObject", uint64(b.Ctx)))
	if v != global {
		return errors.New("this of a script is not the global object")
	}
	// JSContext: ... global_obj, global_var_obj, time_origin (f64), random_state (u64), hash_seed (u32), interrupt_counter (i32).
	ctx := bytes.Clone(in.view(b.Ctx, 512))
	at := uint32(0)
	for at+48 <= uint32(len(ctx)) && value(binary.LittleEndian.Uint64(ctx[at:])) != global {
		at += 4
	}
	if at+48 > uint32(len(ctx)) {
		return errors.New("the context does not hold the global object")
	}
	b.Global, b.Lexicals = global, value(binary.LittleEndian.Uint64(ctx[at+8:]))
	b.Random, b.Countdown = b.Ctx+at+24, b.Ctx+at+36
	atom := in.atom(probeName)
	if b.Lexicals.tag() != tagObject || in.call32("JS_HasProperty", uint64(b.Ctx), uint64(b.Lexicals), uint64(atom)) != 1 {
		return errors.New("top-level declarations are not where they should be")
	}
	if err := errors.Join(in.probeRandom(), in.probeTracing()); err != nil {
		return err
	}
	if n := int32(in.u32(b.Countdown)); n <= 0 || n > 10_000 {
		return fmt.Errorf("%d is no count of polls until the interrupt handler", n)
	}
	if err := errors.Join(in.probeCode(probeName, atom), in.probeHeap()); err != nil {
		return err
	}
	in.call("JS_DeleteProperty", uint64(b.Ctx), uint64(b.Lexicals), uint64(atom), 0)
	in.call("JS_FreeAtom", uint64(b.Ctx), uint64(atom))
	return errors.Join(in.probeReferences(), in.probePlain(), in.probeRegExp(), in.probeSettled())
}

// probeReferences checks that references are counted where free counts them down.
func (in *interp) probeReferences() error {
	for _, source := range []string{"({})", "[]", "'text'.repeat(3)", "Symbol()", "2n ** 80n", "(() => {})"} {
		v, err := in.evalTrusted(source, "cloche:probe")
		if err != nil {
			return err
		}
		before := in.u32(uint32(v) - refCount)
		in.call("JS_DupValue", uint64(in.b.Ctx), uint64(v))
		if after := in.u32(uint32(v) - refCount); before != 1 || after != 2 {
			return fmt.Errorf("references to %s are not counted where they should be", source)
		}
		in.free(v)
		in.free(v)
	}
	return nil
}

// probeTracing finds Tracing, from what is 1 in the runtime while the stack of an error is written, and 0 before and after.
func (in *interp) probeTracing() error {
	const size = 2048 // of a JSRuntime, and more
	s := turnOf(in.ctx)
	defer func() { s.observe = nil }()
	candidates := make([]int, 0, size)
	for round := range 2 {
		var during []byte
		s.observe = func() { during = bytes.Clone(in.view(in.b.Runtime, size)) }
		before := bytes.Clone(in.view(in.b.Runtime, size))
		const src = `Error.prepareStackTrace = () => new Date(0).getTimezoneOffset(); new Error().stack; Error.prepareStackTrace = undefined`
		if _, err := in.evalTrusted(src, "cloche:probe"); err != nil {
			return err
		}
		after := in.view(in.b.Runtime, size)
		is := func(i int) bool { return before[i] == 0 && during != nil && during[i] == 1 && after[i] == 0 }
		for i := range size {
			if round == 0 && is(i) {
				candidates = append(candidates, i)
			}
		}
		candidates = slices.DeleteFunc(candidates, func(i int) bool { return !is(i) })
	}
	if len(candidates) != 1 {
		return fmt.Errorf("%d bytes tell that a stack is being written", len(candidates))
	}
	in.b.Tracing = in.b.Runtime + uint32(candidates[0])
	return nil
}

// probeRandom checks that Random is the state of the xorshift64* generator behind Math.random.
func (in *interp) probeRandom() error {
	for range 4 {
		x := in.u64(in.b.Random)
		x ^= x >> 12
		x ^= x << 25
		x ^= x >> 27
		if _, err := in.evalTrusted("Math.random()", "cloche:probe"); err != nil {
			return err
		}
		if x == 0 || in.u64(in.b.Random) != x {
			return errors.New("the state of Math.random is not where it should be")
		}
	}
	return nil
}

// probeCode learns how a compiled script begins: an instruction of one byte, the atom of the name (u32) and
// flags (u8) for each top-level declaration; before them, when the script uses this, a push and a store.
func (in *interp) probeCode(name string, atom uint32) error {
	b := in.b
	find := func(src string) (at uint32, code []byte, err error) {
		fn := in.eval(src, "cloche:probe", evalCompileOnly)
		if fn.tag() != tagBytecode {
			return 0, nil, fmt.Errorf("compiling %q gave no function", src)
		}
		want := binary.LittleEndian.AppendUint32(nil, atom)
		for at := uint32(8); at < 64; at += 4 {
			p := in.u32(uint32(fn) + at)
			code, ok := in.g.Memory().Read(p, 16)
			if ok && p > 1024 {
				if i := bytes.Index(code[:10], want); i > 0 {
					return at, bytes.Clone(code), nil
				}
			}
		}
		return 0, nil, errors.New("the code of a compiled script is not where it should be")
	}
	at, code, err := find("let " + name)
	if err != nil {
		return err
	}
	at2, code2, err := find("this; let " + name)
	if err != nil {
		return err
	}
	if at != at2 || code2[0] == code[0] || bytes.IndexByte(code2[1:6], code[0]) < 0 {
		return errors.New("a compiled script does not begin with its declarations")
	}
	b.CodeAt, b.CheckOp, b.ThisOp = at, code[0], code2[0]
	return nil
}

func (in *interp) atom(name string) uint32 {
	p, temp := in.text(name)
	if p == 0 {
		return 0
	}
	a := uint32(in.call("JS_NewAtomLen", uint64(in.b.Ctx), uint64(p), uint64(len(name))))
	if temp {
		in.release(p)
	}
	return a
}

// bootOf decodes info, once per image.
func (d *Driver) bootOf(info runtimes.BootInfo) (*boot, error) {
	if p := d.parsed.Load(); p != nil && bytes.Equal(p.info, info) {
		return p.boot, nil
	}
	b := &boot{}
	if err := json.Unmarshal(info, b); err != nil {
		return nil, fmt.Errorf("decode boot info: %w", err)
	}
	d.parsed.Store(&parsedBoot{bytes.Clone(info), b})
	return b, nil
}

// Interrupt implements [runtimes.Driver]: the interpreter stops at its next poll, and neither catch nor
// finally of the program see it.
func (d *Driver) Interrupt(ctx context.Context, g vm.Guest, _ runtimes.BootInfo) error {
	s := turnOf(ctx)
	if s == nil {
		return errors.New("interrupt: no turn is running")
	}
	s.interrupted = true
	(&interp{ctx, g, s.boot}).hurry()
	return nil
}

// Unnoticed implements [runtimes.Driver]. Who waits here asks the turn first.
func (d *Driver) Unnoticed(vm.Guest, runtimes.BootInfo) bool { return false }

// hurry makes the interpreter ask host_interrupt at its next poll instead of one in ten thousand.
func (in *interp) hurry() { in.g.Memory().WriteUint32(in.b.Countdown, 1) }

// turn is the state of a running turn, found by host functions through their context.
type turn struct {
	*runtimes.Turn
	boot *boot
	env  *Env

	zones *zones
	here  *time.Location // see location

	observe     func() // while the image is made: the program asks for a time zone
	exited      bool   // by process.exit
	exitCode    int
	codeSet     bool // by process.exitCode or process.exit
	interrupted bool
	dropping    bool // jobs are run only to get rid of them
	listens     bool // for "exit" or "beforeExit"
	detached    bool // the script counts as a module: its jobs run before its ticks

	ticks  bool // process.nextTick's queue holds something
	timers bool // timers or immediates may be pending
	calls  bool // the host is doing something for the program
	// suspendable says that the turn can go on later from where it waits; suspended, that it is to.
	suspendable, suspended bool
	// valueless says that the script has no last value to show: it ran as a function.
	valueless bool

	rejections []rejection
	imports    []importDecl // of the main script
	linking    int          // the import that is being loaded, from 1; 0 before and after
}

// ended says that the program is to run no further.
func (s *turn) ended() bool { return s.exited || s.interrupted || s.dropping }

type turnKey struct{}

func turnOf(ctx context.Context) *turn {
	s, _ := ctx.Value(turnKey{}).(*turn)
	return s
}

// file is the guest path of the running script.
func (s *turn) file() string { return path.Join(s.env.dir(), s.name()) }

func (s *turn) name() string {
	if s.Name == "" {
		return "main.js"
	}
	return s.Name
}

// recoverStop turns the unwinding of an interp into the error of a driver's method. Anything else goes on.
func recoverStop(err *error) {
	switch r := recover().(type) {
	case nil:
	case vm.Stop:
		*err = r.Err
	default:
		panic(r)
	}
}
