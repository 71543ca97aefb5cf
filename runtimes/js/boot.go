package js

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// boot is what the driver remembers of its image: addresses in the guest's memory, and facts about the
// layout of this build of the interpreter that [Driver.Boot] found out and checked. It is [runtimes.BootInfo] as JSON.
type boot struct {
	Version string // of QuickJS
	Runtime uint32 // JSRuntime *
	Ctx     uint32 // JSContext *

	// Scratch is a buffer of scratchSize bytes for text on its way in, Cell takes out parameters, Args
	// arguments. Name is where the file name of a turn is put.
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
	// Modules are where the interpreter keeps those that it has loaded.
	Modules moduleList
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
	"reveal",      // (names, separated by spaces) makes names of Node's global; see nodenames.go
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
	"urlhost.js", "url.js", "nodeurl.js", "clone.js", "locales.js", "intl.js", "path.js", "util.js", "assert.js", "fs.js", "crypto.js", "calls.js", "webstreams.js", "fetch.js", "tools.js", "process.js", "stream.js", "http.js", "zlib.js", "cipher.js", "besides.js", "vm.js",
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
