package rewrite

import (
	"fmt"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// bulkOp is an instruction whose cost depends on an operand. It is replaced by a call of a helper function with the
// same parameters and results.
//
//   - memory.fill, memory.copy, memory.init: 1 unit of fuel per bytesPerFuel bytes. More than chunkBytes are done
//     in pieces, with a check before each, so that the host is never kept waiting for long;
//   - memory.grow: growCost per page asked for;
//   - table.fill, table.copy, table.init, table.grow: 1 per element.
//
// Fuel is charged and checked before the work is done. Where the whole of a large operation would be out of bounds
// it is left to the original instruction, which traps and changes nothing.
type bulkOp struct {
	op     wasmbin.Opcode
	index  uint32 // of the memory or the table
	index2 uint32 // of the source table or the segment
}

// shortBulk reports whether a memory instruction has a constant length, which is its last operand, so short that the
// instruction is charged like any other. last is the instruction before it.
func shortBulk(last *wasmbin.Instr) (length int, ok bool) {
	if last.Op != wasmbin.OpI32Const || uint32(last.Value) > inlineBytes {
		return 0, false
	}
	return int(uint32(last.Value)), true
}

// bulkOf returns what helper an instruction needs, if it needs one.
func bulkOf(in, last *wasmbin.Instr) (bulkOp, bool) {
	switch in.Op {
	case wasmbin.OpMemoryCopy, wasmbin.OpMemoryInit:
		_, short := shortBulk(last)
		return bulkOp{in.Op, in.Index, in.Index2}, !short
	case wasmbin.OpMemoryFill:
		_, short := shortBulk(last)
		return bulkOp{in.Op, in.Index, 0}, !short
	case wasmbin.OpTableCopy, wasmbin.OpTableInit:
		return bulkOp{in.Op, in.Index, in.Index2}, true
	case wasmbin.OpMemoryGrow, wasmbin.OpTableGrow, wasmbin.OpTableFill:
		return bulkOp{in.Op, in.Index, 0}, true
	}
	return bulkOp{}, false
}

// addBulkHelpers appends the helpers that the module needs.
func (f *fueling) addBulkHelpers(names *funcNames) error {
	f.helpers = make(map[bulkOp]uint32)
	defined := len(f.calls)
	for i := range defined {
		for _, op := range f.calls[i].bulk {
			if _, ok := f.helpers[op]; ok {
				continue
			}
			sig, body, err := f.bulkHelper(op)
			if err != nil {
				return fmt.Errorf("function %d: %v: %w", int(f.refill)+i, op.op, err)
			}
			index := int(f.refill) + len(f.m.Funcs) // before the import moves it
			f.m.Funcs = append(f.m.Funcs, wasmbin.Func{Type: typeIndex(f.m, sig), Body: body})
			f.helpers[op] = uint32(index + 1)
			names.add(index, "cloche."+op.op.String())
		}
	}
	return nil
}

// bulkHelper makes the signature and the body of one helper.
func (f *fueling) bulkHelper(op bulkOp) (wasmbin.FuncType, code, error) {
	i32 := wasmbin.I32
	switch op.op {
	case wasmbin.OpMemoryFill, wasmbin.OpMemoryCopy, wasmbin.OpMemoryInit:
		if op.index != 0 || op.op == wasmbin.OpMemoryCopy && op.index2 != 0 {
			return wasmbin.FuncType{}, nil, fmt.Errorf("only memory 0 is supported")
		}
		if op.op == wasmbin.OpMemoryInit && uint64(op.index2) >= uint64(len(f.m.Data)) {
			return wasmbin.FuncType{}, nil, fmt.Errorf("data segment %d does not exist", op.index2)
		}
		return wasmbin.FuncType{Params: []wasmbin.ValType{i32, i32, i32}}, f.memoryHelper(op), nil
	case wasmbin.OpMemoryGrow:
		return wasmbin.FuncType{Params: []wasmbin.ValType{i32}, Results: []wasmbin.ValType{i32}}, f.growHelper(op), nil
	}
	tables := f.m.TableTypes()
	if uint64(op.index) >= uint64(len(tables)) {
		return wasmbin.FuncType{}, nil, fmt.Errorf("table %d does not exist", op.index)
	}
	elem := tables[op.index].Elem
	switch op.op {
	case wasmbin.OpTableGrow:
		return wasmbin.FuncType{Params: []wasmbin.ValType{elem, i32}, Results: []wasmbin.ValType{i32}}, f.tableHelper(op, 2), nil
	case wasmbin.OpTableFill:
		return wasmbin.FuncType{Params: []wasmbin.ValType{i32, elem, i32}}, f.tableHelper(op, 3), nil
	default:
		return wasmbin.FuncType{Params: []wasmbin.ValType{i32, i32, i32}}, f.tableHelper(op, 3), nil
	}
}

// Locals of memory helpers: destination, source (or value), length, and the length of a piece.
const (
	bulkDst = iota
	bulkSrc
	bulkLen
	bulkPiece
)

// memoryHelper makes (func (param $dst i32) (param $src i32) (param $len i32)) for memory.copy, memory.init, and
// memory.fill, where $src is the value.
func (f *fueling) memoryHelper(op bulkOp) code {
	out := code(wasmbin.AppendLocals(nil, []wasmbin.LocalGroup{{Count: 1, Type: wasmbin.I32}}))

	// A short one at once.
	out.get(bulkLen)
	out.i32(chunkBytes)
	out.op(wasmbin.OpI32LeU)
	out.block(wasmbin.OpIf, wasmbin.EmptyBlock)
	f.chargeLocal(&out, bulkLen, bytesPerFuel)
	out.whole(op)
	out.op(wasmbin.OpReturn)
	out.op(wasmbin.OpEnd)

	// One that traps as a whole, before any piece of it is done.
	f.pastMemory(&out, bulkDst)
	switch op.op {
	case wasmbin.OpMemoryCopy:
		f.pastMemory(&out, bulkSrc)
		out.op(wasmbin.OpI32Or)
	case wasmbin.OpMemoryInit:
		out.end(bulkSrc)
		out.i64(int64(len(f.m.Data[op.index2].Bytes)))
		out.op(wasmbin.OpI64GtU)
		out.op(wasmbin.OpI32Or)
	}
	out.block(wasmbin.OpIf, wasmbin.EmptyBlock)
	out.whole(op)
	out.op(wasmbin.OpReturn)
	out.op(wasmbin.OpEnd)

	if op.op == wasmbin.OpMemoryCopy {
		// Where the destination lies behind the source they may overlap, and the end goes first.
		out.get(bulkDst)
		out.get(bulkSrc)
		out.op(wasmbin.OpI32GtU)
		out.block(wasmbin.OpIf, wasmbin.EmptyBlock)
		f.pieces(&out, func() {
			for _, start := range []uint32{bulkDst, bulkSrc} {
				out.get(start)
				out.get(bulkLen)
				out.op(wasmbin.OpI32Add)
				out.get(bulkPiece)
				out.op(wasmbin.OpI32Sub)
			}
			out.get(bulkPiece)
			out.bulk(op)
		})
		out.op(wasmbin.OpReturn)
		out.op(wasmbin.OpEnd)
	}
	f.pieces(&out, func() {
		out.get(bulkDst)
		out.get(bulkSrc)
		out.get(bulkPiece)
		out.bulk(op)
		out.advance(bulkDst)
		if op.op != wasmbin.OpMemoryFill {
			out.advance(bulkSrc)
		}
	})
	out.op(wasmbin.OpEnd)
	return out
}

// pieces writes a loop that does body for pieces of bulkPiece bytes until bulkLen, which is not zero, is used up.
func (f *fueling) pieces(out *code, body func()) {
	out.block(wasmbin.OpLoop, wasmbin.EmptyBlock)
	out.i32(chunkBytes)
	out.get(bulkLen)
	out.get(bulkLen)
	out.i32(chunkBytes)
	out.op(wasmbin.OpI32GtU)
	out.op(wasmbin.OpSelect)
	out.index(wasmbin.OpLocalSet, bulkPiece)
	f.chargeLocal(out, bulkPiece, bytesPerFuel)
	body()
	out.get(bulkLen)
	out.get(bulkPiece)
	out.op(wasmbin.OpI32Sub)
	out.index(wasmbin.OpLocalTee, bulkLen)
	out.index(wasmbin.OpBrIf, 0)
	out.op(wasmbin.OpEnd)
}

// chargeLocal takes local/divisor from $fuel and checks.
func (f *fueling) chargeLocal(out *code, local uint32, divisor int64) {
	out.index(wasmbin.OpGlobalGet, f.global)
	out.get(local)
	out.op(wasmbin.OpI64ExtendI32U)
	if divisor > 1 {
		out.i64(divisor)
		out.op(wasmbin.OpI64DivU)
	}
	out.op(wasmbin.OpI64Sub)
	out.index(wasmbin.OpGlobalSet, f.global)
	f.check(out)
}

// pastMemory pushes whether bulkLen bytes from a local on lie beyond the end of memory.
func (f *fueling) pastMemory(out *code, start uint32) {
	out.end(start)
	out.index(wasmbin.OpMemorySize, 0)
	out.op(wasmbin.OpI64ExtendI32U)
	out.i64(1 << 16)
	out.op(wasmbin.OpI64Mul)
	out.op(wasmbin.OpI64GtU)
}

// growHelper makes (func (param $pages i32) (result i32)). Nobody can get more than 65536 pages: asking for more is free.
func (f *fueling) growHelper(op bulkOp) code {
	out := code{0}
	out.get(0)
	out.i32(1 << 16)
	out.op(wasmbin.OpI32LeU)
	out.block(wasmbin.OpIf, wasmbin.EmptyBlock)
	out.index(wasmbin.OpGlobalGet, f.global)
	out.get(0)
	out.op(wasmbin.OpI64ExtendI32U)
	out.i64(growCost)
	out.op(wasmbin.OpI64Mul)
	out.op(wasmbin.OpI64Sub)
	out.index(wasmbin.OpGlobalSet, f.global)
	f.check(&out)
	out.op(wasmbin.OpEnd)
	out.get(0)
	out.bulk(op)
	out.op(wasmbin.OpEnd)
	return out
}

// tableHelper makes the helper of an instruction on tables. The last of its parameters is the number of elements.
func (f *fueling) tableHelper(op bulkOp, params uint32) code {
	out := code{0}
	f.chargeLocal(&out, params-1, 1)
	for i := range params {
		out.get(i)
	}
	out.bulk(op)
	out.op(wasmbin.OpEnd)
	return out
}

func (b *code) get(local uint32) { b.index(wasmbin.OpLocalGet, local) }

// end pushes, as an i64, the end of bulkLen bytes from a local on.
func (b *code) end(start uint32) {
	b.get(start)
	b.op(wasmbin.OpI64ExtendI32U)
	b.get(bulkLen)
	b.op(wasmbin.OpI64ExtendI32U)
	b.op(wasmbin.OpI64Add)
}

// advance adds bulkPiece to a local.
func (b *code) advance(local uint32) {
	b.get(local)
	b.get(bulkPiece)
	b.op(wasmbin.OpI32Add)
	b.index(wasmbin.OpLocalSet, local)
}

// whole does all of a memory instruction at once.
func (b *code) whole(op bulkOp) {
	b.get(bulkDst)
	b.get(bulkSrc)
	b.get(bulkLen)
	b.bulk(op)
}

// bulk appends the instruction itself; its operands must be on the stack.
func (b *code) bulk(op bulkOp) {
	b.op(op.op)
	switch op.op.Immediates() {
	case wasmbin.ImmInit: // the segment comes first
		*b = wasmbin.AppendU32(wasmbin.AppendU32(*b, op.index2), op.index)
	case wasmbin.ImmMemory2, wasmbin.ImmTable2:
		*b = wasmbin.AppendU32(wasmbin.AppendU32(*b, op.index), op.index2)
	default:
		*b = wasmbin.AppendU32(*b, op.index)
	}
}
