package rewrite

import (
	"fmt"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// code is a piece of wasm code under construction.
type code []byte

func (b *code) op(op wasmbin.Opcode) { *b = wasmbin.AppendOp(*b, op) }
func (b *code) index(op wasmbin.Opcode, i uint32) {
	*b = wasmbin.AppendU32(wasmbin.AppendOp(*b, op), i)
}
func (b *code) i32(v int32) { *b = wasmbin.AppendS64(append(*b, byte(wasmbin.OpI32Const)), int64(v)) }
func (b *code) i64(v int64) { *b = wasmbin.AppendS64(append(*b, byte(wasmbin.OpI64Const)), v) }
func (b *code) block(op wasmbin.Opcode, t wasmbin.BlockType) {
	*b = wasmbin.AppendBlockType(wasmbin.AppendOp(*b, op), t)
}

// zero appends the constant zero of a type, null for references.
func (b *code) zero(t wasmbin.ValType) { *b = appendZero(*b, t) }

func appendZero(b []byte, t wasmbin.ValType) []byte {
	switch t {
	case wasmbin.I32:
		return append(b, byte(wasmbin.OpI32Const), 0)
	case wasmbin.I64:
		return append(b, byte(wasmbin.OpI64Const), 0)
	case wasmbin.F32:
		return append(b, byte(wasmbin.OpF32Const), 0, 0, 0, 0)
	case wasmbin.F64:
		return append(b, byte(wasmbin.OpF64Const), 0, 0, 0, 0, 0, 0, 0, 0)
	case wasmbin.V128:
		return append(wasmbin.AppendOp(b, wasmbin.OpV128Const), make([]byte, 16)...)
	default:
		return append(b, byte(wasmbin.OpRefNull), byte(t))
	}
}

// editor rewrites the instructions of one function. What is not replaced is copied in stretches, from copied up to
// an instruction that is. Blocks may be added around those of the input: labels then change, and every branch is
// adapted by relabel or relabelTable.
//
// A label of the output is known by its number from the outside, the function's own being 0.
type editor struct {
	expr   []byte
	copied int
	out    code
	depth  int   // labels open in the output
	labels []int // what has become of the labels open in the input, the innermost last
}

// start begins a function's output with the declarations of its locals.
func (e *editor) start(expr []byte, locals []wasmbin.LocalGroup) {
	e.expr = expr
	e.out = wasmbin.AppendLocals(make([]byte, 0, len(expr)+len(expr)/4+32), locals)
	e.depth, e.labels = 1, append(e.labels[:0], 0)
}

// flush copies the input up to the instruction, which is to be replaced.
func (e *editor) flush(in *wasmbin.Instr) {
	e.out = append(e.out, e.expr[e.copied:in.Start]...)
	e.copied = in.End
}

// flushAfter copies the input up to the end of the instruction.
func (e *editor) flushAfter(in *wasmbin.Instr) { e.flushTo(in.End) }

func (e *editor) flushTo(offset int) {
	e.out = append(e.out, e.expr[e.copied:offset]...)
	e.copied = offset
}

// keep notes that a block of the input is opened in the output as well.
func (e *editor) keep() {
	e.labels = append(e.labels, e.depth)
	e.depth++
}

// open starts a block that the input does not have, and returns its label.
func (e *editor) open(op wasmbin.Opcode, t wasmbin.BlockType) int {
	e.out.block(op, t)
	e.depth++
	return e.depth - 1
}

// close ends a block that open has started.
func (e *editor) close() {
	e.out.op(wasmbin.OpEnd)
	e.depth--
}

// branch emits a branch to a label of the output.
func (e *editor) branch(op wasmbin.Opcode, label int) { e.out.index(op, uint32(e.depth-1-label)) }

// target is the label of the output for one of the input, as seen from the innermost open block.
func (e *editor) target(label uint32) (int, error) {
	if uint64(label) >= uint64(len(e.labels)) {
		return 0, fmt.Errorf("label %d does not exist", label)
	}
	return e.labels[len(e.labels)-1-int(label)], nil
}

// relabel adapts a branch to the blocks that were added around it.
func (e *editor) relabel(in *wasmbin.Instr) error {
	label, err := e.target(in.Index)
	if err != nil {
		return err
	}
	if now := uint32(e.depth - 1 - label); now != in.Index {
		e.flush(in)
		e.out.index(in.Op, now)
	}
	return nil
}

func (e *editor) relabelTable(in *wasmbin.Instr) error {
	e.flush(in)
	e.out.index(wasmbin.OpBrTable, uint32(len(in.Labels)-1))
	for _, l := range in.Labels {
		label, err := e.target(l)
		if err != nil {
			return err
		}
		e.out = wasmbin.AppendU32(e.out, uint32(e.depth-1-label))
	}
	return nil
}
