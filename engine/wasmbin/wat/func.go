package wat

import (
	"encoding/binary"
	"strings"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

var opcodes = wasmbin.OpcodeNames()

// function assembles one body, or a constant expression.
type function struct {
	p      *parser
	locals map[string]uint32
	labels []string // of the open blocks, "" when unnamed
	code   []byte
}

func (p *parser) function(f *fields) wasmbin.Func {
	fn := function{p: p, locals: make(map[string]uint32)}
	sig := p.typeUse(f, fn.locals)
	var groups []wasmbin.LocalGroup
	next := uint32(len(p.m.Types[sig].Params))
	for {
		n, ok := f.take("local")
		if !ok {
			break
		}
		items := rest(n)
		if name := items.id(); name != "" {
			fn.locals[name] = next
		}
		for items.more() {
			groups = append(groups, wasmbin.LocalGroup{Count: 1, Type: valType(items.next())})
			next++
		}
	}
	fn.code = wasmbin.AppendLocals(nil, groups)
	fn.instrs(f)
	return wasmbin.Func{Type: sig, Body: append(fn.code, byte(wasmbin.OpEnd))}
}

// instrs assembles instructions up to the end of the list.
func (fn *function) instrs(f *fields) {
	for f.more() {
		n := f.next()
		if !n.isList {
			fn.code = append(fn.code, fn.instr(n, f)...)
			continue
		}
		if len(n.list) == 0 {
			failf(n.line, "empty list")
		}
		args := &fields{n.list[1:], n.line}
		instr := fn.instr(n.list[0], args) // reads the immediates; what is left are operands
		fn.instrs(args)
		fn.code = append(fn.code, instr...)
	}
}

// instr assembles one instruction without its operands.
func (fn *function) instr(n node, f *fields) []byte {
	op, ok := opcodes[n.atom]
	if !ok {
		failf(n.line, "unknown instruction %q", n.atom)
	}
	p := fn.p
	if op == wasmbin.OpSelect && f.more() && f.nodes[0].head() == "result" {
		op = wasmbin.OpSelectT
	}
	b := wasmbin.AppendOp(nil, op)
	index := func(space string) { b = wasmbin.AppendU32(b, p.index(space, f.next())) }
	optional := func(space string) uint32 {
		if f.more() && isIndex(f.nodes[0]) {
			return p.index(space, f.next())
		}
		return 0
	}
	switch op.Immediates() {
	case wasmbin.ImmNone:
		if op == wasmbin.OpEnd {
			if len(fn.labels) == 0 {
				failf(n.line, "end without a block")
			}
			fn.labels = fn.labels[:len(fn.labels)-1]
		}
	case wasmbin.ImmBlock:
		name := f.id()
		b = fn.blockType(b, f)
		fn.labels = append(fn.labels, name)
	case wasmbin.ImmTryTable:
		name := f.id()
		b = fn.catches(fn.blockType(b, f), f)
		fn.labels = append(fn.labels, name)
	case wasmbin.ImmLabel:
		b = wasmbin.AppendU32(b, fn.label(f.next()))
	case wasmbin.ImmBrTable:
		var labels []uint32
		for f.more() && isIndex(f.nodes[0]) {
			labels = append(labels, fn.label(f.next()))
		}
		if len(labels) == 0 {
			failf(n.line, "br_table without labels")
		}
		b = wasmbin.AppendU32(b, uint32(len(labels)-1))
		for _, l := range labels {
			b = wasmbin.AppendU32(b, l)
		}
	case wasmbin.ImmFunc:
		index("func")
	case wasmbin.ImmCall:
		table := optional("table")
		b = wasmbin.AppendU32(b, p.typeUse(f, nil))
		b = wasmbin.AppendU32(b, table)
	case wasmbin.ImmType:
		index("type")
	case wasmbin.ImmTag:
		index("tag")
	case wasmbin.ImmLocal:
		n := f.next()
		if i, ok := fn.locals[n.atom]; ok {
			b = wasmbin.AppendU32(b, i)
		} else {
			b = wasmbin.AppendU32(b, uint32(number(n, 32)))
		}
	case wasmbin.ImmGlobal:
		index("global")
	case wasmbin.ImmTable:
		b = wasmbin.AppendU32(b, optional("table"))
	case wasmbin.ImmTable2:
		b = wasmbin.AppendU32(b, optional("table"))
		b = wasmbin.AppendU32(b, optional("table"))
	case wasmbin.ImmInit:
		if op == wasmbin.OpMemoryInit {
			index("data")
		} else {
			index("elem")
		}
		b = append(b, 0)
	case wasmbin.ImmData:
		index("data")
	case wasmbin.ImmElem:
		index("elem")
	case wasmbin.ImmMemory:
		b = append(b, 0)
	case wasmbin.ImmMemory2:
		b = append(b, 0, 0)
	case wasmbin.ImmMemArg:
		b = memArg(b, f)
	case wasmbin.ImmMemLane:
		b = append(memArg(b, f), byte(number(f.next(), 32)))
	case wasmbin.ImmLane:
		b = append(b, byte(number(f.next(), 32)))
	case wasmbin.ImmI32:
		b = wasmbin.AppendS64(b, int64(number(f.next(), 32)))
	case wasmbin.ImmI64:
		b = wasmbin.AppendS64(b, int64(number(f.next(), 64)))
	case wasmbin.ImmF32:
		b = binary.LittleEndian.AppendUint32(b, uint32(float(f.next(), 32)))
	case wasmbin.ImmF64:
		b = binary.LittleEndian.AppendUint64(b, float(f.next(), 64))
	case wasmbin.ImmSelect:
		types := rest(f.next())
		b = append(b, 1, byte(valType(types.next())))
	case wasmbin.ImmRef:
		b = append(b, byte(valType(f.next())))
	case wasmbin.ImmFence:
		b = append(b, 0)
	default:
		failf(n.line, "%s is not supported here", n.atom)
	}
	return b
}

func isIndex(n node) bool {
	return !n.str && n.atom != "" && (n.atom[0] == '$' || n.atom[0] >= '0' && n.atom[0] <= '9')
}

// memArg reads offset=N and align=N, N being bytes.
func memArg(b []byte, f *fields) []byte {
	var offset, align uint64
	for f.more() {
		key, value, ok := strings.Cut(f.nodes[0].atom, "=")
		if !ok {
			break
		}
		v := number(node{atom: value, line: f.next().line}, 64)
		switch key {
		case "offset":
			offset = v
		case "align":
			for ; v > 1; v >>= 1 {
				align++
			}
		}
	}
	return wasmbin.AppendU64(wasmbin.AppendU64(b, align), offset)
}

func (fn *function) blockType(b []byte, f *fields) []byte {
	if n, ok := f.take("type"); ok {
		return wasmbin.AppendBlockType(b, wasmbin.BlockType(fn.p.index("type", n.list[1])))
	}
	t := fn.p.signature(f, nil)
	switch {
	case len(t.Params) > 0 || len(t.Results) > 1:
		return wasmbin.AppendBlockType(b, wasmbin.BlockType(fn.p.typeOf(t)))
	case len(t.Results) == 1:
		return wasmbin.AppendBlockType(b, wasmbin.ResultBlock(t.Results[0]))
	}
	return wasmbin.AppendBlockType(b, wasmbin.EmptyBlock)
}

var catchKinds = []string{"catch", "catch_ref", "catch_all", "catch_all_ref"} // by wasmbin.CatchKind

// catches reads a try_table's clauses.
func (fn *function) catches(b []byte, f *fields) []byte {
	var clauses []byte
	count := uint32(0)
	for {
		n, ok := f.take(catchKinds...)
		if !ok {
			return append(wasmbin.AppendU32(b, count), clauses...)
		}
		count++
		c := rest(n)
		for kind, name := range catchKinds {
			if name == n.head() {
				clauses = append(clauses, byte(kind))
			}
		}
		if len(n.list) == 3 {
			clauses = wasmbin.AppendU32(clauses, fn.p.index("tag", c.next()))
		}
		clauses = wasmbin.AppendU32(clauses, fn.label(c.next()))
	}
}

// label reads a label: a number, or a name that becomes the distance to its block.
func (fn *function) label(n node) uint32 {
	for i := len(fn.labels) - 1; i >= 0; i-- {
		if fn.labels[i] != "" && fn.labels[i] == n.atom {
			return uint32(len(fn.labels) - 1 - i)
		}
	}
	if strings.HasPrefix(n.atom, "$") {
		failf(n.line, "unknown label %s", n.atom)
	}
	return uint32(number(n, 32))
}
