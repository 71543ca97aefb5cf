package rewrite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// A random program is a tree of statements and expressions. It is printed as text for the assembler, and evaluated
// directly in Go, which is what the rewritten module must agree with: result, trap or exception, memory, and globals.

// state is what a program acts on.
type state struct {
	memory  []byte
	globals [2]uint32
	steps   int
}

// frameState is a running function.
type frameState struct {
	*state
	locals map[string]uint32
	caught *exception // the exnref local
}

type exception struct {
	tag   int // 0 and 1 have a value, 2 has none
	value uint32
}

// How control leaves a statement, as panic values.
type (
	thrown   struct{ *exception }
	trapped  struct{}
	broken   struct{ label string }
	returned struct{ value uint32 }
	endless  struct{} // too many steps: the program is not used
)

type expr interface {
	eval(*frameState) uint32
	text() string
}

type stmt interface {
	exec(*frameState)
	text() string
}

type (
	constant struct{ v uint32 }
	local    struct{ name string }
	global   struct{ i int }
	load     struct{ addr expr }
	binary2  struct {
		op   string
		x, y expr
	}
	invoke struct {
		callee   *function
		indirect bool
		arg      expr
	}
)

func (e constant) eval(*frameState) uint32 { return e.v }
func (e constant) text() string            { return fmt.Sprintf("(i32.const %d)", int32(e.v)) }
func (e local) eval(f *frameState) uint32  { return f.locals[e.name] }
func (e local) text() string               { return "(local.get " + e.name + ")" }
func (e global) eval(f *frameState) uint32 { return f.globals[e.i] }
func (e global) text() string              { return fmt.Sprintf("(global.get %d)", e.i) }

const addressMask = 0x7fff // the first half of memory

func (e load) eval(f *frameState) uint32 {
	return binary.LittleEndian.Uint32(f.memory[e.addr.eval(f)&addressMask:])
}
func (e load) text() string {
	return fmt.Sprintf("(i32.load (i32.and %s (i32.const %d)))", e.addr.text(), addressMask)
}

func (e binary2) eval(f *frameState) uint32 {
	x, y := e.x.eval(f), e.y.eval(f)
	switch e.op {
	case "add":
		return x + y
	case "sub":
		return x - y
	case "mul":
		return x * y
	case "xor":
		return x ^ y
	case "lt_u":
		if x < y {
			return 1
		}
		return 0
	default: // div_u
		if y == 0 {
			panic(trapped{})
		}
		return x / y
	}
}
func (e binary2) text() string { return fmt.Sprintf("(i32.%s %s %s)", e.op, e.x.text(), e.y.text()) }

func (e invoke) eval(f *frameState) uint32 { return e.callee.call(f.state, e.arg.eval(f)) }
func (e invoke) text() string {
	if e.indirect {
		return fmt.Sprintf("(call_indirect (type $sig) %s (i32.const %d))", e.arg.text(), e.callee.index)
	}
	return fmt.Sprintf("(call $f%d %s)", e.callee.index, e.arg.text())
}

// either is select, which evaluates all of its operands.
type either struct{ x, y, cond expr }

func (e either) eval(f *frameState) uint32 {
	x, y := e.x.eval(f), e.y.eval(f)
	if e.cond.eval(f) != 0 {
		return x
	}
	return y
}
func (e either) text() string {
	return fmt.Sprintf("(select %s %s %s)", e.x.text(), e.y.text(), e.cond.text())
}

// wide has its way through 64 bits, a number of floating point, or a vector.
type wide struct {
	kind int
	x, y expr
}

func (e wide) eval(f *frameState) uint32 {
	x, y := e.x.eval(f), e.y.eval(f)
	switch e.kind {
	case 0:
		return uint32(uint64(x) * uint64(int64(int32(y))) >> 16)
	case 1:
		return uint32(bits.RotateLeft64(uint64(x), int(y&63)))
	case 2:
		v := float64(int32(x)) * float64(y)
		return uint32(int32(max(math.MinInt32, min(math.MaxInt32, math.Trunc(v)))))
	default:
		return x + y
	}
}

func (e wide) text() string {
	return fmt.Sprintf([]string{
		"(i32.wrap_i64 (i64.shr_u (i64.mul (i64.extend_i32_u %s) (i64.extend_i32_s %s)) (i64.const 16)))",
		"(i32.wrap_i64 (i64.rotl (i64.extend_i32_u %s) (i64.extend_i32_u %s)))",
		"(i32.trunc_sat_f64_s (f64.mul (f64.convert_i32_s %s) (f64.convert_i32_u %s)))",
		"(i32x4.extract_lane 2 (i32x4.add (i32x4.splat %s) (i32x4.splat %s)))",
	}[e.kind], e.x.text(), e.y.text())
}

// grown is how many pages the memory had before it was made none longer.
type grown struct{}

func (grown) eval(*frameState) uint32 { return 1 }
func (grown) text() string            { return "(memory.grow (i32.const 0))" }

// leaveOne branches to the label that a number says, or else to the last one.
type leaveOne struct {
	labels []string
	x      expr
}

func (s leaveOne) exec(f *frameState) {
	panic(broken{s.labels[min(int(s.x.eval(f)), len(s.labels)-1)]})
}
func (s leaveOne) text() string { return s.x.text() + "\nbr_table " + strings.Join(s.labels, " ") }

type (
	assign struct {
		name string
		x    expr
	}
	setGlobal struct {
		i int
		x expr
	}
	store  struct{ addr, x expr }
	fill   struct{ dst, x, n expr }
	copyOp struct{ dst, src, n expr }
	choose struct {
		cond      expr
		then, alt block
	}
	repeat struct {
		counter string
		times   uint32
		body    block
	}
	labelled struct {
		label string
		body  block
	}
	leave   struct{ label string }
	leaveIf struct {
		label string
		cond  expr
	}
	ret   struct{ x expr }
	throw struct {
		tag int
		x   expr
	}
	throwRef struct{}
	try      struct {
		label   string
		body    block
		clauses []clause
	}
	clause struct {
		tag     int // -1: all
		ref     bool
		handler block
	}
	block []stmt
)

func (b block) exec(f *frameState) {
	for _, s := range b {
		if f.steps++; f.steps > 20_000 {
			panic(endless{})
		}
		s.exec(f)
	}
}
func (b block) text() string {
	var t strings.Builder
	for _, s := range b {
		t.WriteString(s.text() + "\n")
	}
	return t.String()
}

func (s assign) exec(f *frameState)    { f.locals[s.name] = s.x.eval(f) }
func (s assign) text() string          { return fmt.Sprintf("(local.set %s %s)", s.name, s.x.text()) }
func (s setGlobal) exec(f *frameState) { f.globals[s.i] = s.x.eval(f) }
func (s setGlobal) text() string       { return fmt.Sprintf("(global.set %d %s)", s.i, s.x.text()) }

func (s store) exec(f *frameState) {
	addr := s.addr.eval(f) & addressMask
	binary.LittleEndian.PutUint32(f.memory[addr:], s.x.eval(f))
}
func (s store) text() string {
	return fmt.Sprintf("(i32.store (i32.and %s (i32.const %d)) %s)", s.addr.text(), addressMask, s.x.text())
}

// bounds evaluates what a bulk instruction works on: up to 64 KiB each, so that some are out of bounds.
func bounds(f *frameState, operands ...expr) []uint32 {
	var v []uint32
	for _, e := range operands {
		v = append(v, e.eval(f)&0xffff)
	}
	return v
}

func (s fill) exec(f *frameState) {
	d, x := s.dst.eval(f)&0xffff, s.x.eval(f)
	n := s.n.eval(f) & 0xffff
	if int(d+n) > len(f.memory) {
		panic(trapped{})
	}
	for i := range f.memory[d : d+n] {
		f.memory[int(d)+i] = byte(x)
	}
}
func (s fill) text() string {
	return fmt.Sprintf("(memory.fill %s %s %s)", masked(s.dst), s.x.text(), masked(s.n))
}

func (s copyOp) exec(f *frameState) {
	v := bounds(f, s.dst, s.src, s.n)
	d, src, n := v[0], v[1], v[2]
	if int(d+n) > len(f.memory) || int(src+n) > len(f.memory) {
		panic(trapped{})
	}
	copy(f.memory[d:d+n], f.memory[src:src+n])
}
func (s copyOp) text() string {
	return fmt.Sprintf("(memory.copy %s %s %s)", masked(s.dst), masked(s.src), masked(s.n))
}

func masked(e expr) string { return "(i32.and " + e.text() + " (i32.const 0xffff))" }

func (s choose) exec(f *frameState) {
	if s.cond.eval(f) != 0 {
		s.then.exec(f)
	} else {
		s.alt.exec(f)
	}
}
func (s choose) text() string {
	return fmt.Sprintf("%s\nif\n%selse\n%send", s.cond.text(), s.then.text(), s.alt.text())
}

func (s repeat) exec(f *frameState) {
	for f.locals[s.counter] = s.times; ; {
		s.body.exec(f)
		if f.locals[s.counter]--; f.locals[s.counter] == 0 {
			return
		}
	}
}
func (s repeat) text() string {
	return fmt.Sprintf("(local.set %[1]s (i32.const %[2]d))\nloop $l%[1]s\n%[3]s(local.tee %[1]s (i32.sub (local.get %[1]s) (i32.const 1)))\nbr_if $l%[1]s\nend",
		s.counter, s.times, s.body.text())
}

func (s labelled) exec(f *frameState) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case broken:
			if r.label != s.label {
				panic(r)
			}
		default:
			panic(r)
		}
	}()
	s.body.exec(f)
}
func (s labelled) text() string { return fmt.Sprintf("block %s\n%send", s.label, s.body.text()) }

func (s leave) exec(*frameState) { panic(broken(s)) }
func (s leave) text() string     { return "br " + s.label }

func (s leaveIf) exec(f *frameState) {
	if s.cond.eval(f) != 0 {
		panic(broken{s.label})
	}
}
func (s leaveIf) text() string { return s.cond.text() + "\nbr_if " + s.label }

func (s ret) exec(f *frameState) { panic(returned{s.x.eval(f)}) }
func (s ret) text() string       { return s.x.text() + "\nreturn" }

func (s throw) exec(f *frameState) {
	e := &exception{tag: s.tag}
	if s.tag < 2 {
		e.value = s.x.eval(f)
	}
	panic(thrown{e})
}
func (s throw) text() string {
	if s.tag < 2 {
		return fmt.Sprintf("(throw %d %s)", s.tag, s.x.text())
	}
	return "throw 2"
}

func (s throwRef) exec(f *frameState) {
	if f.caught == nil {
		panic(trapped{})
	}
	panic(thrown{f.caught})
}
func (s throwRef) text() string { return "(throw_ref (local.get $x))" }

func (s try) exec(f *frameState) {
	if c := s.run(f); c != nil {
		c.handler.exec(f)
	}
}

// run runs the body and returns the clause that catches, with what the clause hands over stored.
func (s try) run(f *frameState) (caught *clause) {
	defer func() {
		r := recover()
		e, ok := r.(thrown)
		if !ok {
			if r != nil {
				panic(r)
			}
			return
		}
		for i := range s.clauses {
			c := &s.clauses[i]
			if c.tag != -1 && c.tag != e.tag {
				continue
			}
			if c.tag == 0 || c.tag == 1 {
				f.locals["$v"] = e.value
			}
			if c.ref {
				f.caught = e.exception
			}
			caught = c
			return
		}
		panic(r)
	}()
	s.body.exec(f)
	return nil
}

func (s try) text() string {
	var open, clauses, close strings.Builder
	for i := len(s.clauses) - 1; i >= 0; i-- {
		types := ""
		if s.clauses[i].tag == 0 || s.clauses[i].tag == 1 {
			types = " (result i32)"
		}
		if s.clauses[i].ref {
			types = strings.Replace(" (result exnref)"+types, ") (result", "", 1)
			types = strings.Replace(types, "exnref i32", "i32 exnref", 1)
		}
		fmt.Fprintf(&open, "block %s_%d%s\n", s.label, i, types)
	}
	for i, c := range s.clauses {
		kind := "catch"
		if c.tag == -1 {
			kind = "catch_all"
		}
		if c.ref {
			kind += "_ref"
		}
		tag := ""
		if c.tag != -1 {
			tag = fmt.Sprint(" ", c.tag)
		}
		fmt.Fprintf(&clauses, " (%s%s %s_%d)", kind, tag, s.label, i)
		close.WriteString("end\n")
		if c.ref {
			close.WriteString("local.set $x\n")
		}
		if c.tag == 0 || c.tag == 1 {
			close.WriteString("local.set $v\n")
		}
		fmt.Fprintf(&close, "%sbr %s\n", c.handler.text(), s.label)
	}
	return fmt.Sprintf("block %[1]s\n%[2]stry_table%[3]s\n%[4]send\nbr %[1]s\n%[5]send", s.label, &open, &clauses, s.body.text(), &close)
}

// function takes one i32, $p, and returns one.
type function struct {
	index  int
	locals []string
	body   block
	result expr
}

func (fn *function) call(s *state, arg uint32) (result uint32) {
	f := &frameState{state: s, locals: map[string]uint32{"$p": arg}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case returned:
			result = r.value
		default:
			panic(r)
		}
	}()
	fn.body.exec(f)
	return fn.result.eval(f)
}

func (fn *function) text() string {
	t := fmt.Sprintf("(func $f%d (type $sig) (param $p i32) (result i32) (local $x exnref)", fn.index)
	for _, l := range fn.locals {
		t += fmt.Sprintf(" (local %s i32)", l)
	}
	return t + "\n" + fn.body.text() + fn.result.text() + ")\n"
}

// generator makes programs from a seed.
type generator struct {
	*rand.Rand
	funcs  []*function // those that may be called: their indices are higher
	fn     *function
	labels []string // open
	names  int
	size   int // statements still to be made
}

func (g *generator) pick(n int) bool { return g.IntN(n) == 0 }

func (g *generator) expr(depth int) expr {
	if depth == 0 || g.pick(3) {
		switch g.IntN(4) {
		case 0:
			return constant{g.Uint32N(20)}
		case 1:
			return global{g.IntN(2)}
		case 2:
			return constant{g.Uint32()}
		default:
			return local{[]string{"$p", "$a", "$b", "$v"}[g.IntN(4)]}
		}
	}
	switch {
	case g.pick(6):
		return load{g.expr(depth - 1)}
	case g.pick(5) && len(g.funcs) > 0:
		return invoke{g.funcs[g.IntN(len(g.funcs))], g.pick(2), g.expr(depth - 1)}
	case g.pick(10):
		return either{g.expr(depth - 1), g.expr(depth - 1), g.expr(depth - 1)}
	case g.pick(8):
		return wide{g.IntN(4), g.expr(depth - 1), g.expr(depth - 1)}
	case g.pick(60):
		return grown{}
	case g.pick(30):
		return binary2{"div_u", g.expr(depth - 1), g.expr(depth - 1)}
	default:
		return binary2{[]string{"add", "sub", "mul", "xor", "lt_u"}[g.IntN(5)], g.expr(depth - 1), g.expr(depth - 1)}
	}
}

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("$%s%d", prefix, g.names)
}

func (g *generator) block(depth int) block {
	var b block
	for range 1 + g.IntN(4) {
		if g.size--; g.size < 0 {
			break
		}
		s := g.stmt(depth)
		b = append(b, s)
		switch s.(type) {
		case leave, leaveOne, ret, throw, throwRef:
			return b
		}
	}
	return b
}

func (g *generator) stmt(depth int) stmt {
	if depth > 0 {
		switch g.IntN(12) {
		case 0, 1:
			return choose{g.expr(2), g.block(depth - 1), g.block(depth - 1)}
		case 2:
			counter := g.name("c")
			g.fn.locals = append(g.fn.locals, counter)
			return repeat{counter, 1 + g.Uint32N(5), g.block(depth - 1)}
		case 3:
			label := g.name("b")
			g.labels = append(g.labels, label)
			body := g.block(depth - 1)
			g.labels = g.labels[:len(g.labels)-1]
			return labelled{label, body}
		case 4, 5, 6:
			return g.try(depth)
		}
	}
	switch g.IntN(16) {
	case 0:
		return setGlobal{g.IntN(2), g.expr(3)}
	case 1, 2:
		return store{g.expr(2), g.expr(3)}
	case 3:
		return fill{g.expr(1), g.expr(2), constant{g.Uint32N(0x4000)}}
	case 4:
		return copyOp{g.expr(1), g.expr(1), constant{g.Uint32N(0x4000)}}
	case 5:
		if len(g.labels) > 0 {
			return leaveIf{label: g.labels[g.IntN(len(g.labels))], cond: g.expr(2)}
		}
	case 6:
		if len(g.labels) > 1 && g.pick(3) {
			s := leaveOne{x: binary2{"sub", g.expr(2), constant{g.Uint32N(9)}}}
			for range 1 + g.IntN(4) {
				s.labels = append(s.labels, g.labels[g.IntN(len(g.labels))])
			}
			return s
		}
		if len(g.labels) > 0 && g.pick(2) {
			return leave{label: g.labels[g.IntN(len(g.labels))]}
		}
	case 7:
		if g.pick(3) {
			return ret{g.expr(3)}
		}
	case 8:
		return choose{binary2{"lt_u", g.expr(1), constant{10}}, block{throw{g.IntN(3), g.expr(2)}}, nil}
	case 9:
		if g.pick(2) {
			return throw{g.IntN(3), g.expr(2)}
		}
	case 10:
		if g.pick(2) {
			return throwRef{}
		}
	}
	return assign{[]string{"$a", "$b"}[g.IntN(2)], g.expr(3)}
}

func (g *generator) try(depth int) stmt {
	s := try{label: g.name("t")}
	// The label stands for the end of the whole statement, body and handlers.
	g.labels = append(g.labels, s.label)
	s.body = g.block(depth - 1)
	for range g.IntN(4) {
		c := clause{tag: g.IntN(4) - 1, ref: g.pick(2)}
		c.handler = g.block(depth - 1)
		s.clauses = append(s.clauses, c)
	}
	g.labels = g.labels[:len(g.labels)-1]
	return labelled{s.label + "out", block{inner{s}}}
}

// inner makes a branch to the label of a try statement end the statement.
type inner struct{ try }

func (s inner) exec(f *frameState) { labelled{s.label, block{s.try}}.exec(f) }

// program makes a few functions, of which the first is exported as "run".
func program(seed uint64) []*function {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	var all []*function
	for i := 4; i >= 0; i-- {
		g.fn = &function{index: i, locals: []string{"$a", "$b", "$v"}}
		g.size = 25
		g.fn.body = g.block(4)
		g.fn.result = g.expr(3)
		all = append([]*function{g.fn}, all...)
		g.funcs = all
	}
	return all
}

func programText(funcs []*function) string {
	var t strings.Builder
	t.WriteString(`(module
		(type $sig (func (param i32) (result i32)))
		(tag (param i32)) (tag (param i32)) (tag)
		(memory (export "memory") 1)
		(global (export "g0") (mut i32) (i32.const 0)) (global (export "g1") (mut i32) (i32.const 0))
		(table 5 funcref) (elem (i32.const 0) func $f0 $f1 $f2 $f3 $f4)
		(export "run" (func $f0))
	`)
	for _, fn := range funcs {
		t.WriteString(fn.text())
	}
	return t.String() + ")"
}

// evaluate runs a program in Go. ok is false when it takes too long.
func evaluate(funcs []*function, arg uint32) (outcome string, s *state, ok bool) {
	s = &state{memory: make([]byte, 1<<16)}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case thrown:
			outcome, ok = fmt.Sprintf("exception %d %d", r.tag+1, r.value), true
			if r.tag == 2 {
				outcome = "exception 3"
			}
		case trapped:
			outcome, ok = "trap", true
		case endless:
		default:
			panic(r)
		}
	}()
	return fmt.Sprint(int32(funcs[0].call(s, arg))), s, true
}

// FuzzPrograms compares random programs, lowered and with fuel in long and in short slices, as
// wazero compiles them and laid out, with their evaluation.
func FuzzPrograms(f *testing.F) {
	for seed := range uint64(150) {
		f.Add(seed, uint32(seed%7))
	}
	f.Fuzz(func(t *testing.T, seed uint64, arg uint32) {
		funcs := program(seed)
		want, s, ok := evaluate(funcs, arg)
		if !ok {
			t.Skip("takes too long")
		}
		src := programText(funcs)
		m, err := wat.Parse(src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		input := wasmbin.Encode(m)
		var fuel []int64
		for _, o := range []struct {
			rewrite.Options
			slice   uint64
			laidOut bool
		}{
			{rewrite.Options{LowerExceptions: true}, 0, false},
			{rewrite.Options{LowerExceptions: true, Fuel: true}, 1 << 40, true},
			{rewrite.Options{LowerExceptions: true, Fuel: true}, 50, false},
			{rewrite.Options{LowerExceptions: true, Fuel: true}, 50, true},
		} {
			module := mustRewrite(t, input, o.Options).Module
			var g *guest
			if o.laidOut {
				g = instantiateLaidOut(t, module, o.slice)
			} else {
				g = instantiate(t, module, api.CoreFeaturesV2, o.slice)
			}
			got := g.call(call{name: "run", args: []uint64{uint64(arg)}})
			if strings.HasPrefix(got, "exception 3 ") {
				got = "exception 3" // no value
			}
			if got != want {
				t.Errorf("fuel %v: run(%d) = %s, want %s\n%s", o.Fuel, arg, got, want, src)
				return
			}
			memory, _ := g.mod.Memory().Read(0, 1<<16)
			if !bytes.Equal(memory, s.memory) {
				t.Errorf("fuel %v: memory differs after run(%d)\n%s", o.Fuel, arg, src)
			}
			for i, v := range s.globals {
				if got := uint32(g.mod.ExportedGlobal(fmt.Sprint("g", i)).Get()); got != v {
					t.Errorf("fuel %v: global %d is %d after run(%d), want %d\n%s", o.Fuel, i, got, arg, v, src)
				}
			}
			if o.Fuel {
				fuel = append(fuel, g.used(o.slice))
			}
			g.mod.Close(context.Background())
		}
		if fuel[0] != fuel[1] || fuel[0] != fuel[2] {
			t.Errorf("run(%d) used %d fuel in one slice, %d and %d in slices of 50\n%s", arg, fuel[0], fuel[1], fuel[2], src)
		}
	})
}
