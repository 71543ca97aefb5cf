package js

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

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
	return errors.Join(in.probeReferences(), in.probePlain(), in.probeRegExp(), in.probeSettled(), in.probeModules())
}

// probeModules finds Modules, from what differs between a module that awaits, one above it, and one of neither kind, while the first one
// waits and when all are evaluated.
func (in *interp) probeModules() error {
	s := turnOf(in.ctx)
	s.probing = true
	defer func() { s.probing = false }()
	const size = 192 // of a JSModuleDef, and more
	sources := [3]string{"await 0", `import "probe:0"`, ""}
	var at [3]uint32
	for i, src := range sources {
		v := in.eval(src, fmt.Sprintf("probe:%d", i), evalModule|evalCompileOnly)
		if v.tag() != tagModule {
			return fmt.Errorf("compiling %q gave no module", src)
		}
		if at[i] = uint32(v); i > 0 {
			in.free(value(in.call("JS_EvalFunction", uint64(in.b.Ctx), uint64(v))))
		}
	}
	look := func() (m [3][]byte) {
		for i := range m {
			m[i] = bytes.Clone(in.view(at[i], size))
		}
		return m
	}
	during := look()
	if err := in.drainBoot(); err != nil {
		return err
	}
	after := look()
	find := func(is func(waits, above, plain, waits2, above2, plain2 byte) bool) (found []uint32) {
		for i := range size {
			if is(during[0][i], during[1][i], during[2][i], after[0][i], after[1][i], after[2][i]) {
				found = append(found, uint32(i))
			}
		}
		return found
	}
	async := find(func(waits, above, plain, waits2, above2, plain2 byte) bool {
		return waits == 1 && above == 1 && plain == 0 && waits2 == 0 && above2 == 1 && plain2 == 0
	})
	status := find(func(waits, above, plain, waits2, above2, plain2 byte) bool {
		return waits == above && waits+1 == waits2 && waits2 == above2 && plain == plain2 && plain2 == above2
	})
	if len(async) != 1 || len(status) != 1 {
		return fmt.Errorf("%d bytes tell that a module waits, %d how far it is", len(async), len(status))
	}
	l := &in.b.Modules
	l.Async, l.Status, l.Evaluated = async[0], status[0], after[2][status[0]]
	for link := uint32(0); link < 64; link += 4 { // of a list: the one before, the one after
		if in.u32(at[1]+link) == at[0]+link && in.u32(at[1]+link+4) == at[2]+link {
			l.Link, l.Head = link, in.u32(at[2]+link+4)
			if l.Head-in.b.Ctx < 512 && in.u32(l.Head) == at[2]+link {
				return nil
			}
		}
	}
	return errors.New("modules are not in a list")
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
