package wasmbin

import (
	"encoding/binary"
	"fmt"
)

// BlockType is the type of a block: EmptyBlock, the negated form of a single result's [ValType], or the
// index of a signature.
type BlockType int64

// EmptyBlock is the type of a block that neither takes nor gives values.
const EmptyBlock BlockType = -0x40

// ResultBlock is the type of a block that gives one value.
func ResultBlock(t ValType) BlockType { return BlockType(int64(t) - 0x80) }

// TypeIndex returns the signature's index, if the type is one.
func (t BlockType) TypeIndex() (index uint32, ok bool) { return uint32(t), t >= 0 }

// Result returns the type of the only result of a block without parameters, if the type is such.
func (t BlockType) Result() (ValType, bool) { return ValType(t + 0x80), t < 0 && t != EmptyBlock }

// AppendBlockType appends the type in the binary format.
func AppendBlockType(b []byte, t BlockType) []byte { return AppendS64(b, int64(t)) }

// CatchKind is the kind of a catch clause.
type CatchKind byte

// Kinds of catch clauses. The ref kinds hand the exception over as an exnref, after the tag's values.
const (
	Catch CatchKind = iota
	CatchRef
	CatchAll
	CatchAllRef
)

// CatchClause is one clause of a try_table. Label counts from outside the try_table.
type CatchClause struct {
	Kind  CatchKind
	Tag   uint32 // not for the all kinds
	Label uint32
}

// Instr is one instruction. [Immediates] lists which fields an opcode uses; the others keep what they had.
type Instr struct {
	Op         Opcode
	Start, End int // its bytes in the expression
	Index      uint32
	Index2     uint32
	Align      uint32 // exponent of two
	Lane       byte
	Value      uint64
	Block      BlockType
	Labels     []uint32
	Catches    []CatchClause
	Types      []ValType
}

// InstrReader reads the instructions of one expression: a function's, or a constant one.
//
//	r := wasmbin.NewInstrReader(expr)
//	for r.Next(&in) {
//		...
//	}
//	if err := r.Err(); err != nil {
type InstrReader struct {
	c     cursor
	depth int // open blocks
	over  bool
}

// NewInstrReader returns a reader of expr, which must include the final end.
func NewInstrReader(expr []byte) *InstrReader { return &InstrReader{c: cursor{buf: expr}} }

// Next reads the next instruction into in, whose slices it reuses. It returns false after the end that
// closes the expression, and on an error.
func (r *InstrReader) Next(in *Instr) bool {
	// Most instructions are one byte, or one and an index below 128.
	if c := &r.c; c.pos+1 < len(c.buf) {
		op := Opcode(c.buf[c.pos])
		switch imm := plainImmediates[op]; {
		case imm == ImmNone && op != OpEnd && !r.over:
			in.Op, in.Start, in.End = op, c.pos, c.pos+1
			c.pos++
			return true
		case imm <= ImmMemory && imm >= ImmLabel && c.buf[c.pos+1] < 0x80 && !r.over:
			in.Op, in.Start, in.End, in.Index = op, c.pos, c.pos+2, uint32(c.buf[c.pos+1])
			c.pos += 2
			return true
		}
	}
	if r.over || !r.next(in) {
		return false
	}
	if r.over && !r.c.done() {
		r.c.fail("instructions after the end")
	}
	return r.c.err == nil
}

// Err returns the error that ended the reading, a [*FormatError] whose offset counts from the start of the
// expression; nil at a proper end.
func (r *InstrReader) Err() error { return r.c.err }

// next reads any instruction.
func (r *InstrReader) next(in *Instr) bool {
	if r.over {
		return false
	}
	c := &r.c
	in.Start = c.pos
	op := Opcode(c.byte())
	if op >= prefixMisc && op <= prefixAtomic {
		op = op<<16 | Opcode(min(c.u32(), 0xFFFF))
		if c.pos > in.Start+2 && c.pos <= len(c.buf) && c.buf[c.pos-1] == 0 {
			// The format allows it. Compilers that take the first byte for the number see other instructions from here on.
			c.failAt(in.Start, "the number of an opcode is written longer than it must be")
		}
	}
	in.Op = op
	switch imm := op.Immediates(); imm {
	case ImmNone:
		if op == OpEnd {
			r.over = r.depth == 0
			r.depth--
		}
	case ImmInvalid:
		c.failAt(in.Start, "unknown %v", op)
	default:
		r.immediates(in, imm)
		if imm == ImmBlock || imm == ImmTryTable {
			r.depth++
		}
	}
	in.End = c.pos
	return c.err == nil
}

func (r *InstrReader) immediates(in *Instr, imm Immediates) {
	c := &r.c
	switch imm {
	case ImmLabel, ImmFunc, ImmType, ImmTag, ImmLocal, ImmGlobal, ImmTable, ImmData, ImmElem, ImmMemory:
		in.Index = c.u32()
	case ImmI32:
		in.Value = uint64(c.signed(32))
	case ImmMemArg:
		r.memArg(in)
	case ImmBlock:
		in.Block = c.blockType()
	case ImmCall, ImmTable2, ImmMemory2:
		in.Index = c.u32()
		in.Index2 = c.u32()
	case ImmInit:
		in.Index2 = c.u32()
		in.Index = c.u32()
	case ImmI64:
		in.Value = uint64(c.signed(64))
	case ImmF32:
		if b := c.bytes(4); b != nil {
			in.Value = uint64(binary.LittleEndian.Uint32(b))
		}
	case ImmF64:
		if b := c.bytes(8); b != nil {
			in.Value = binary.LittleEndian.Uint64(b)
		}
	case ImmBrTable:
		n := c.count(1)
		in.Labels = in.Labels[:0]
		for range n + 1 {
			in.Labels = append(in.Labels, c.u32())
		}
	case ImmTryTable:
		in.Block = c.blockType()
		n := c.count(2)
		in.Catches = in.Catches[:0]
		for range n {
			in.Catches = append(in.Catches, c.catchClause())
		}
	case ImmMemLane:
		r.memArg(in)
		in.Lane = c.byte()
	case ImmLane:
		in.Lane = c.byte()
	case ImmV128:
		c.bytes(16)
	case ImmSelect:
		n := c.count(1)
		in.Types = in.Types[:0]
		for range n {
			in.Types = append(in.Types, c.valType())
		}
	case ImmRef:
		in.Types = append(in.Types[:0], c.heapType())
	case ImmFence:
		c.flag(0, "fence")
	}
}

// hasMemory marks, in a memory access's alignment, that a memory index follows.
const hasMemory = 0x40

func (r *InstrReader) memArg(in *Instr) {
	in.Index = 0
	in.Align = r.c.u32()
	if in.Align&hasMemory != 0 {
		in.Align &^= hasMemory
		in.Index = r.c.u32()
	}
	in.Value = r.c.u64()
}

func (c *cursor) catchClause() CatchClause {
	clause := CatchClause{Kind: CatchKind(c.flag(byte(CatchAllRef), "catch clause"))}
	if clause.Kind == Catch || clause.Kind == CatchRef {
		clause.Tag = c.u32()
	}
	clause.Label = c.u32()
	return clause
}

func (c *cursor) blockType() BlockType {
	start := c.pos
	t := c.signed(33)
	switch {
	case t >= 0 || BlockType(t) == EmptyBlock || c.err != nil:
		return BlockType(t)
	case c.pos != start+1:
		c.failAt(start, "unknown block type %d", t)
		return 0
	}
	c.pos = start
	return ResultBlock(c.valType())
}

// maxLocals bounds the locals of a function, as compilers of WebAssembly do: a few bytes can declare billions.
const maxLocals = 50_000

// SplitBody splits a function's body into the declarations of its locals, 50,000 at most, and its instructions.
func SplitBody(body []byte) (locals []LocalGroup, expr []byte, err error) {
	c := cursor{buf: body}
	locals = vec(&c, 2, func(c *cursor) LocalGroup { return LocalGroup{c.u32(), c.valType()} })
	n := uint64(0)
	for _, g := range locals {
		n += uint64(g.Count)
	}
	if c.err == nil && n > maxLocals {
		return nil, nil, fmt.Errorf("%d locals, more than %d", n, maxLocals)
	}
	return locals, c.buf[c.pos:], c.err
}

// LocalGroup declares Count locals of one type.
type LocalGroup struct {
	Count uint32
	Type  ValType
}

// AppendLocals appends declarations of locals, with which a body starts.
func AppendLocals(b []byte, locals []LocalGroup) []byte {
	return appendVec(b, locals, func(b []byte, g LocalGroup) []byte {
		return append(AppendU32(b, g.Count), byte(g.Type))
	})
}
