package js

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// Flags of JS_Eval2 (quickjs.h, JS_EVAL_*).
const (
	evalStrict      = 1 << 3
	evalCompileOnly = 1 << 5
	evalAsync       = 1 << 7 // top-level await; the result is a promise of {value: ...}
)

// eval runs or compiles source. The caller owns the value; an exception is pending when it is one.
func (in *interp) eval(src, name string, flags int) value { return in.evalAt(src, name, flags, 1) }

// evalAt is eval of a source whose first line has another number than 1, but not 0.
func (in *interp) evalAt(src, name string, flags, line int) value {
	p, temp := in.text(src)
	if p == 0 {
		return value(in.call("JS_ThrowOutOfMemory", uint64(in.b.Ctx)))
	}
	if len(name) >= nameSize {
		name = name[len(name)-nameSize+1:]
	}
	b := in.view(in.b.Name, uint32(len(name)+1))
	b[copy(b, name)] = 0
	options := in.view(in.b.Cell, cellSize) // JSEvalOptions
	for i, n := range [...]uint32{1, uint32(flags), in.b.Name, uint32(int32(line))} {
		binary.LittleEndian.PutUint32(options[4*i:], n)
	}
	v := value(in.call("JS_Eval2", uint64(in.b.Ctx), uint64(p), uint64(len(src)), uint64(in.b.Cell)))
	if temp {
		in.release(p)
	}
	return v
}

// Turn implements [runtimes.Driver].
func (d *Driver) Turn(ctx context.Context, g vm.Guest, info runtimes.BootInfo, t *runtimes.Turn) (out runtimes.Outcome, err error) {
	defer recoverStop(&err)
	b, err := d.bootOf(info)
	if err != nil {
		return out, err
	}
	s := &turn{Turn: t, boot: b, env: envOf(ctx), zones: d.zones.Load()}
	in := &interp{ctx: context.WithValue(ctx, turnKey{}, s), g: g, b: b}
	if t.First || t.Renew && t.Seed == nil {
		in.reseed(t)
	}
	if t.Resume == nil && (len(t.Inputs)+len(t.Args)+len(t.Env) > 0 || t.Tools) {
		if out, ended, err := in.begin(s); ended {
			return out, err
		}
	}
	if t.Resume != nil {
		out, err = in.resume(s)
	} else {
		out, err = in.run(s)
	}
	if err == nil && t.Session {
		if !s.suspended {
			in.dropUninitialized()
		}
		out.State = in.card()
	}
	return out, err
}

// dropUninitialized removes the names whose declarations the turn did not come to: nothing could give them a value any
// more, and a later turn could neither set them nor ask for their type.
func (in *interp) dropUninitialized() {
	o, _ := objectAt(in.b.Lexicals)
	for _, p := range slices.Collect(heap{in.g.Memory(), in.b}.properties(o, maxNames)) {
		if p.value.tag() == tagUninitialized && p.flags&propKind == propNormal {
			in.undeclareAtom(p.atom)
		}
	}
}

// reseed gives Math.random a state of its own: the image's would repeat in every instance.
func (in *interp) reseed(t *runtimes.Turn) {
	var seed [8]byte
	if t.Seed != nil {
		binary.LittleEndian.PutUint64(seed[:], splitMix(*t.Seed))
	} else if t.Entropy != nil {
		copy(seed[:], t.Entropy(8))
	}
	if binary.LittleEndian.Uint64(seed[:]) == 0 { // the one state that xorshift cannot leave
		seed[0] = 1
	}
	in.put(in.b.Random, seed[:])
}

// splitMix spreads a small seed over 64 bits (Steele, Lea, Flood 2014).
func splitMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// begin hands the guest the turn's inputs, arguments and environment. ended: the turn is over with out.
func (in *interp) begin(s *turn) (out runtimes.Outcome, ended bool, err error) {
	for name := range s.Inputs {
		in.undeclare(name)
	}
	settings, err := json.Marshal(struct {
		Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
		Args   []string                   `json:"args,omitempty"`
		Env    map[string]string          `json:"env,omitempty"`
		Tools  bool                       `json:"tools,omitempty"`
	}{s.Inputs, s.Args, s.Env, s.Tools})
	if err != nil { // an input that is no JSON
		return failure("TypeError", "input: "+err.Error()), true, nil
	}
	text := in.newString(string(settings))
	if text.exception() {
		out, err = in.stopped(s)
		return out, true, err
	}
	r := in.invoke(in.b.Funcs["begin"], text)
	in.free(text)
	if r.exception() {
		out, err = in.stopped(s)
		return out, true, err
	}
	return out, false, nil
}

// refused ends a turn whose TypeScript is at fault.
func (in *interp) refused(s *turn, err error) (runtimes.Outcome, error) {
	var e *syntaxError
	if !errors.As(err, &e) {
		return runtimes.Outcome{}, err
	}
	at := frame{File: e.File, Line: e.Line, Col: e.Column}
	out := failure("SyntaxError", e.Text)
	out.Error.Line = at.Line
	out.Error.Traceback = fmt.Sprintf("%sUncaught SyntaxError: %s\n    at %s:%d:%d", s.excerpt(at), e.Text, e.File, e.Line, e.Column)
	s.print(2, out.Error.Traceback+"\n")
	in.cleanUp(s)
	return out, nil
}

func failure(name, message string) runtimes.Outcome {
	return runtimes.Outcome{ExitCode: 1, Error: &runtimes.GuestError{Name: name, Value: message}}
}

// run compiles and runs the turn's source, then what it left to do, and shows the last value.
func (in *interp) run(s *turn) (runtimes.Outcome, error) {
	src, flags := s.Source, 0
	if s.TypeScript {
		var err error
		if src, err = in.strip(src, s.name()); err != nil {
			return in.refused(s, err)
		}
	}
	async := strings.Contains(src, "await")
	if s.Module {
		flags |= evalStrict
	}
	module := false
	if mayBeModule(src) {
		if m := scanModule(src, in.look); m.isModule {
			src, s.imports, module = m.source, m.imports, true
			flags |= evalStrict
		}
	}
	if async || module || s.Module {
		flags |= evalAsync
	}
	if len(s.Deny) > 0 {
		if found := review(src, s.imports, s.Deny, in.look); len(found) > 0 {
			fn, _ := in.compileMain(src, s.name(), flags)
			if fn.exception() { // which is told as ever
				return in.stopped(s)
			}
			in.free(fn)
			out := refusal(found, s.name())
			in.cleanUp(s)
			return out, nil
		}
	}
	if in.reveal(src, nodeNames) {
		return in.stopped(s)
	}
	fn, asFunction := in.compileMain(src, s.name(), flags)
	if fn.exception() {
		s.uncompiled = true
		return in.stopped(s)
	}
	if s.Session || module {
		in.redeclare(fn)
	}
	if len(s.imports) > 0 {
		if out, ended, err := in.link(s); ended {
			in.free(fn)
			return out, err
		}
	}
	v := value(in.call("JS_EvalFunction", uint64(in.b.Ctx), uint64(fn)))
	if asFunction && !v.exception() {
		s.valueless = true
		all := v
		v = in.invoke(all)
		in.free(all)
	}
	return in.finish(s, v, module || s.Module, flags&evalAsync != 0)
}

// isTypeScript says whether a script that is no JavaScript would be TypeScript.
func (in *interp) isTypeScript(s *turn) bool {
	if s.TypeScript || len(s.Source) > shortTypeScript {
		return false
	}
	src, err := in.strip(s.Source, s.name())
	if err != nil {
		return false
	}
	flags := evalCompileOnly | evalAsync
	if mayBeModule(src) {
		if m := scanModule(src, in.look); m.isModule {
			src, flags = m.source, flags|evalStrict
		}
	}
	fn := in.eval(src, s.name(), flags)
	if fn.exception() {
		in.free(in.takeException())
		return false
	}
	in.free(fn)
	return true
}

// compileMain compiles a main script. One that returns outside of a function, as CommonJS files may, becomes a script whose
// value is a function that does it all: its names are its own then, and its last statement has no value.
func (in *interp) compileMain(src, name string, flags int) (fn value, asFunction bool) {
	fn = in.eval(src, name, flags|evalCompileOnly)
	if !fn.exception() || flags&evalStrict != 0 || !strings.Contains(src, "return") {
		return fn, false
	}
	e := in.takeException()
	message := in.property(e, "message")
	text, _ := in.stringOf(message, maxName)
	in.free(message)
	if text != returnOutside {
		return value(in.call("JS_Throw", uint64(in.b.Ctx), uint64(e))), false
	}
	in.free(e)
	begin := "(function () {\n\n"
	if flags&evalAsync != 0 {
		begin = "(async function () {\n\n"
	}
	return in.evalAt(begin+src+"\n})", name, evalCompileOnly, -1), true // so that its own first line is 1
}

// returnOutside is the interpreter's message for a return outside of a function.
const returnOutside = "return not in a function"

// redeclare makes the top-level declarations of the compiled script fn lawful whatever earlier turns
// declared: it removes their let, const and class of the same names, and switches off the script's
// own check, which would still refuse a let where there is a var.
//
// A compiled script begins with one instruction for each name that it declares (see probeCode):
//
//	check_define_var  atom (u32)  flags (u8)
func (in *interp) redeclare(fn value) {
	code := in.u32(uint32(fn) + in.b.CodeAt)
	length := in.u32(uint32(fn) + in.b.CodeAt + 4)
	const instrSize = 6
	at := code
	if length > 4 && in.view(code, 1)[0] == in.b.ThisOp {
		for n := uint32(2); n <= 4; n++ { // the store after it has up to two bytes of operand
			if in.view(code+n, 1)[0] == in.b.CheckOp {
				at += n
				break
			}
		}
	}
	for ; at+instrSize <= code+length; at += instrSize {
		instr := in.view(at, instrSize)
		if instr[0] != in.b.CheckOp {
			return
		}
		instr[5] = 0
		in.undeclareAtom(binary.LittleEndian.Uint32(instr[1:]))
	}
}

// undeclare removes a top-level let, const or class.
func (in *interp) undeclare(name string) {
	if a := in.atom(name); a != 0 {
		in.undeclareAtom(a)
		in.call("JS_FreeAtom", uint64(in.b.Ctx), uint64(a))
	}
}

func (in *interp) undeclareAtom(atom uint32) {
	if in.call32("JS_HasProperty", uint64(in.b.Ctx), uint64(in.b.Lexicals), uint64(atom)) == 1 {
		in.call("JS_DeleteProperty", uint64(in.b.Ctx), uint64(in.b.Lexicals), uint64(atom), 0)
	}
}

// link loads the modules that the script imports and binds their names. ended: the turn is over with out.
func (in *interp) link(s *turn) (out runtimes.Outcome, ended bool, err error) {
	for _, d := range s.imports {
		for _, n := range d.Names {
			in.undeclare(n.Local)
		}
	}
	decls, err := json.Marshal(s.imports)
	if err != nil {
		return out, true, err
	}
	text := in.newString(string(decls))
	if text.exception() {
		out, err = in.stopped(s)
		return out, true, err
	}
	promise := in.invoke(in.b.Funcs["link"], text)
	in.free(text)
	if promise.exception() {
		out, err = in.stopped(s)
		return out, true, err
	}
	state := func() uint32 { return in.call32("JS_PromiseState", uint64(in.b.Ctx), uint64(promise)) }
	if out, ended, err = in.loop(s, func() bool { return state() != promisePending }); ended || err != nil {
		return out, true, err
	}
	pending := state() == promisePending
	in.free(promise)
	if pending {
		return in.unsettled(s), true, nil
	}
	return out, false, nil
}

// finish takes the result of the main script to the end of the turn.
func (in *interp) finish(s *turn, v value, module, async bool) (runtimes.Outcome, error) {
	if v.exception() {
		if out, ended, err := in.survive(s, in.takeException(), "uncaughtException", undefined); ended || err != nil {
			return out, err
		}
		v, async = undefined, false
	}
	if async && in.call32("JS_PromiseState", uint64(in.b.Ctx), uint64(v)) == promiseRejected {
		// It threw before it awaited anything: the jobs that it has left must not come first.
		in.forget(s, v)
		e := value(in.call("JS_PromiseResult", uint64(in.b.Ctx), uint64(v)))
		in.free(v)
		if out, ended, err := in.survive(s, e, "uncaughtException", undefined); ended || err != nil {
			return out, err
		}
		v, async = undefined, false
	}
	// Node runs the jobs of a module before its ticks.
	s.detached = module || async && in.call32("JS_PromiseState", uint64(in.b.Ctx), uint64(v)) == promisePending
	s.suspendable = s.Session
	out, ended, err := in.settle(s)
	if s.suspended {
		out.Suspended, err = in.suspend(s, v, async)
	}
	if ended || err != nil {
		return out, err
	}
	if async {
		if in.call32("JS_PromiseState", uint64(in.b.Ctx), uint64(v)) == promisePending {
			return in.unsettled(s), nil
		}
		v = in.completion(v)
	}
	if v.tag() == tagObject && in.call32("JS_IsPromise", uint64(v)) != 0 &&
		in.call32("JS_PromiseState", uint64(in.b.Ctx), uint64(v)) == promiseFulfilled {
		r := value(in.call("JS_PromiseResult", uint64(in.b.Ctx), uint64(v)))
		in.free(v)
		v = r
	}
	if s.valueless {
		in.free(v)
		v = undefined
	}
	if err := in.display(s, v); err != nil {
		return runtimes.Outcome{}, err
	}
	in.free(v)
	return in.exit(s)
}

// suspension is what a suspended turn has outside of the interpreter.
type suspension struct {
	Value    value `json:"value"` // of the main script, whose reference is ours
	Async    bool  `json:"async"`
	ExitCode int   `json:"exit_code"`
	CodeSet  bool  `json:"code_set"`
	Listens  bool  `json:"listens"`
	// Valueless: see turn.
	Valueless bool `json:"valueless,omitempty"`
}

// suspend leaves a turn whose main script gave v as it is.
func (in *interp) suspend(s *turn, v value, async bool) (json.RawMessage, error) {
	return json.Marshal(suspension{v, async, s.exitCode, s.codeSet, s.listens, s.valueless})
}

// resume goes on with a suspended turn.
func (in *interp) resume(s *turn) (runtimes.Outcome, error) {
	var p suspension
	if err := json.Unmarshal(s.Resume, &p); err != nil {
		return runtimes.Outcome{}, fmt.Errorf("resume the turn: %w", err)
	}
	s.exitCode, s.codeSet, s.listens, s.calls, s.valueless = p.ExitCode, p.CodeSet, p.Listens, true, p.Valueless
	return in.finish(s, p.Value, false, p.Async)
}

// settle is the loop to its end, with what listeners of "beforeExit" make of that.
func (in *interp) settle(s *turn) (out runtimes.Outcome, ended bool, err error) {
	for {
		if out, ended, err = in.loop(s, nil); ended || err != nil || !s.listens || s.suspended {
			return out, ended, err
		}
		if in.invoke(in.b.Funcs["idle"], intValue(int32(s.exitCode))).exception() {
			if out, ended, err = in.survive(s, in.takeException(), "uncaughtException", undefined); ended || err != nil {
				return out, ended, err
			}
		}
		if !s.timers && !s.calls && !s.ticks && in.call32("JS_IsJobPending", uint64(in.b.Runtime)) == 0 {
			return out, false, nil
		}
	}
}

// completion is the value of the last expression of a script that may await: its promise was fulfilled
// with an object that has it as property "value", or with what it returned early.
func (in *interp) completion(promise value) value {
	r := value(in.call("JS_PromiseResult", uint64(in.b.Ctx), uint64(promise)))
	in.free(promise)
	if r.tag() != tagObject {
		return r
	}
	v := in.property(r, "value")
	in.free(r)
	if v.exception() {
		in.free(in.takeException())
		return undefined
	}
	return v
}

// stopped is the end of a turn by an exception, which is pending: one that the program threw, or the
// uncatchable one of exit or interrupt.
func (in *interp) stopped(s *turn) (runtimes.Outcome, error) {
	e := in.takeException()
	if s.ended() {
		in.free(e)
		return in.exit(s)
	}
	return in.uncaught(s, e)
}

// unsettled is the end of a script that awaits something that nothing can bring about any more.
func (in *interp) unsettled(s *turn) runtimes.Outcome {
	const exitUnsettled = 13 // as in Node
	out := failure("Error", "a top-level await never settled: nothing is left that could settle its promise")
	out.ExitCode = exitUnsettled
	s.print(2, "Warning: Detected unsettled top-level await in "+s.name()+"\n")
	in.cleanUp(s)
	return out
}

// exit is the end of a turn that did not fail.
func (in *interp) exit(s *turn) (runtimes.Outcome, error) {
	if s.listens && !s.interrupted {
		s.listens, s.exited = false, false // the listeners may do anything but wait
		if r := in.invoke(in.b.Funcs["exiting"], intValue(int32(s.exitCode))); r.exception() {
			e := in.takeException()
			if !s.ended() {
				return in.uncaught(s, e)
			}
			in.free(e)
		}
		s.exited = true
	}
	out := runtimes.Outcome{ExitCode: s.exitCode, Interrupted: s.interrupted}
	in.cleanUp(s)
	return out, nil
}

// cleanUp drops the jobs and timers that a turn leaves, so that they do not run in the next one.
func (in *interp) cleanUp(s *turn) {
	for _, r := range s.rejections {
		in.call("qjs_free_value", uint64(r.promise))
		in.call("qjs_free_value", uint64(r.reason))
	}
	s.rejections = nil
	if !s.Session {
		return
	}
	s.dropping = true
	for in.call32("JS_IsJobPending", uint64(in.b.Runtime)) != 0 {
		in.hurry() // the job is cut at its first poll
		if int32(in.call("JS_ExecutePendingJob", uint64(in.b.Runtime), uint64(in.b.Cell))) < 0 {
			in.free(in.takeException())
		}
	}
	s.dropping = false
	if s.timers || s.ticks || s.calls {
		s.exited, s.interrupted = false, false // reset is ours and must run to its end
		in.free(in.invoke(in.b.Funcs["reset"]))
	}
}
