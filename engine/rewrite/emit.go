package rewrite

import "github.com/cloche-dev/cloche/engine/wasmbin"

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
