package wasmbin

import (
	"fmt"
	"strings"
)

// Opcode identifies an instruction. The value of a one-byte opcode is that byte; that of a prefixed one is
// prefix<<16 | number.
type Opcode uint32

// Prefix bytes of opcodes.
const (
	prefixMisc   = 0xFC
	prefixSIMD   = 0xFD
	prefixAtomic = 0xFE
)

// Opcodes that passes look at. Every other one is known by its number and its [Opcode.String].
const (
	OpUnreachable        Opcode = 0x00
	OpNop                Opcode = 0x01
	OpBlock              Opcode = 0x02
	OpLoop               Opcode = 0x03
	OpIf                 Opcode = 0x04
	OpElse               Opcode = 0x05
	OpThrow              Opcode = 0x08
	OpThrowRef           Opcode = 0x0A
	OpEnd                Opcode = 0x0B
	OpBr                 Opcode = 0x0C
	OpBrIf               Opcode = 0x0D
	OpBrTable            Opcode = 0x0E
	OpReturn             Opcode = 0x0F
	OpCall               Opcode = 0x10
	OpCallIndirect       Opcode = 0x11
	OpReturnCall         Opcode = 0x12
	OpReturnCallIndirect Opcode = 0x13
	OpCallRef            Opcode = 0x14
	OpReturnCallRef      Opcode = 0x15
	OpDrop               Opcode = 0x1A
	OpSelect             Opcode = 0x1B
	OpSelectT            Opcode = 0x1C
	OpTryTable           Opcode = 0x1F
	OpLocalGet           Opcode = 0x20
	OpLocalSet           Opcode = 0x21
	OpLocalTee           Opcode = 0x22
	OpGlobalGet          Opcode = 0x23
	OpGlobalSet          Opcode = 0x24
	OpTableGet           Opcode = 0x25
	OpTableSet           Opcode = 0x26
	OpMemorySize         Opcode = 0x3F
	OpMemoryGrow         Opcode = 0x40
	OpI32Const           Opcode = 0x41
	OpI64Const           Opcode = 0x42
	OpF32Const           Opcode = 0x43
	OpF64Const           Opcode = 0x44
	OpI32Eqz             Opcode = 0x45
	OpI32Eq              Opcode = 0x46
	OpI32LtU             Opcode = 0x49
	OpI32GtU             Opcode = 0x4B
	OpI32LeU             Opcode = 0x4D
	OpI64Eqz             Opcode = 0x50
	OpI64LtS             Opcode = 0x53
	OpI64GtU             Opcode = 0x56
	OpI64GeS             Opcode = 0x59
	OpI32Add             Opcode = 0x6A
	OpI32Sub             Opcode = 0x6B
	OpI32Or              Opcode = 0x72
	OpI64Add             Opcode = 0x7C
	OpI64Sub             Opcode = 0x7D
	OpI64Mul             Opcode = 0x7E
	OpI64DivU            Opcode = 0x80
	OpI64Or              Opcode = 0x84
	OpI64Shl             Opcode = 0x86
	OpI64ShrU            Opcode = 0x88
	OpI32WrapI64         Opcode = 0xA7
	OpI64ExtendI32U      Opcode = 0xAD
	OpI32ReinterpretF32  Opcode = 0xBC
	OpF32ReinterpretI32  Opcode = 0xBE
	OpRefNull            Opcode = 0xD0
	OpRefIsNull          Opcode = 0xD1
	OpRefFunc            Opcode = 0xD2
	OpRefAsNonNull       Opcode = 0xD4
	OpBrOnNull           Opcode = 0xD5
	OpBrOnNonNull        Opcode = 0xD6

	OpMemoryInit Opcode = prefixMisc<<16 | 8
	OpDataDrop   Opcode = prefixMisc<<16 | 9
	OpMemoryCopy Opcode = prefixMisc<<16 | 10
	OpMemoryFill Opcode = prefixMisc<<16 | 11
	OpTableInit  Opcode = prefixMisc<<16 | 12
	OpElemDrop   Opcode = prefixMisc<<16 | 13
	OpTableCopy  Opcode = prefixMisc<<16 | 14
	OpTableGrow  Opcode = prefixMisc<<16 | 15
	OpTableSize  Opcode = prefixMisc<<16 | 16
	OpTableFill  Opcode = prefixMisc<<16 | 17

	OpV128Const Opcode = prefixSIMD<<16 | 12
)

// Immediates says what follows an opcode in the binary format, and in which fields of an [Instr] it is found.
type Immediates byte

// Forms of immediates.
const (
	ImmInvalid  Immediates = iota // no such opcode
	ImmNone                       //
	ImmLabel                      // Index
	ImmFunc                       // Index
	ImmType                       // Index: signature
	ImmTag                        // Index
	ImmLocal                      // Index
	ImmGlobal                     // Index
	ImmTable                      // Index
	ImmData                       // Index: segment
	ImmElem                       // Index: segment
	ImmMemory                     // Index
	ImmBlock                      // Block
	ImmTryTable                   // Block, Catches
	ImmBrTable                    // Labels, the default last
	ImmCall                       // Index: signature; Index2: table
	ImmTable2                     // Index: destination; Index2: source
	ImmInit                       // Index: table or memory; Index2: segment (which comes first in the bytes)
	ImmMemory2                    // Index: destination; Index2: source
	ImmMemArg                     // Value: offset; Index: memory; Align
	ImmMemLane                    // as ImmMemArg, then Lane
	ImmLane                       // Lane
	ImmI32                        // Value, sign-extended
	ImmI64                        // Value
	ImmF32                        // Value: its bits
	ImmF64                        // Value: its bits
	ImmV128                       // none; see the last 16 bytes of the instruction
	ImmSelect                     // Types
	ImmRef                        // Types: one reference type
	ImmFence                      // a zero byte
)

type opInfo struct {
	name string
	imm  Immediates
}

// opRun is a run of consecutive opcodes with immediates of one form. A name of "-" is a gap.
type opRun struct {
	first int
	imm   Immediates
	names string
}

const compareInt = "eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"

var (
	plainOps = opTable(0x100, []opRun{
		{0x00, ImmNone, "unreachable nop"},
		{0x02, ImmBlock, "block loop if"},
		{0x05, ImmNone, "else"},
		{0x08, ImmTag, "throw"},
		{0x0A, ImmNone, "throw_ref end"},
		{0x0C, ImmLabel, "br br_if"},
		{0x0E, ImmBrTable, "br_table"},
		{0x0F, ImmNone, "return"},
		{0x10, ImmFunc, "call"},
		{0x11, ImmCall, "call_indirect"},
		{0x12, ImmFunc, "return_call"},
		{0x13, ImmCall, "return_call_indirect"},
		{0x14, ImmType, "call_ref return_call_ref"},
		{0x1A, ImmNone, "drop select"},
		{0x1C, ImmSelect, "select"},
		{0x1F, ImmTryTable, "try_table"},
		{0x20, ImmLocal, prefixed("local.", "get set tee")},
		{0x23, ImmGlobal, prefixed("global.", "get set")},
		{0x25, ImmTable, prefixed("table.", "get set")},
		{0x28, ImmMemArg, "i32.load i64.load f32.load f64.load"},
		{0x2C, ImmMemArg, prefixed("i32.load", "8_s 8_u 16_s 16_u")},
		{0x30, ImmMemArg, prefixed("i64.load", "8_s 8_u 16_s 16_u 32_s 32_u")},
		{0x36, ImmMemArg, "i32.store i64.store f32.store f64.store"},
		{0x3A, ImmMemArg, "i32.store8 i32.store16 i64.store8 i64.store16 i64.store32"},
		{0x3F, ImmMemory, "memory.size memory.grow"},
		{0x41, ImmI32, "i32.const"},
		{0x42, ImmI64, "i64.const"},
		{0x43, ImmF32, "f32.const"},
		{0x44, ImmF64, "f64.const"},
		{0x45, ImmNone, prefixed("i32.", "eqz "+compareInt)},
		{0x50, ImmNone, prefixed("i64.", "eqz "+compareInt)},
		{0x5B, ImmNone, prefixed("f32.", "eq ne lt gt le ge")},
		{0x61, ImmNone, prefixed("f64.", "eq ne lt gt le ge")},
		{0x67, ImmNone, prefixed("i32.", "clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr")},
		{0x79, ImmNone, prefixed("i64.", "clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr")},
		{0x8B, ImmNone, prefixed("f32.", "abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign")},
		{0x99, ImmNone, prefixed("f64.", "abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign")},
		{0xA7, ImmNone, prefixed("i32.", "wrap_i64 trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u")},
		{0xAC, ImmNone, prefixed("i64.", "extend_i32_s extend_i32_u trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u")},
		{0xB2, ImmNone, prefixed("f32.", "convert_i32_s convert_i32_u convert_i64_s convert_i64_u demote_f64")},
		{0xB7, ImmNone, prefixed("f64.", "convert_i32_s convert_i32_u convert_i64_s convert_i64_u promote_f32")},
		{0xBC, ImmNone, "i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64"},
		{0xC0, ImmNone, "i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s"},
		{0xD0, ImmRef, "ref.null"},
		{0xD1, ImmNone, "ref.is_null"},
		{0xD2, ImmFunc, "ref.func"},
		{0xD4, ImmNone, "ref.as_non_null"},
		{0xD5, ImmLabel, "br_on_null br_on_non_null"},
	})

	miscOps = opTable(0x12, []opRun{
		{0, ImmNone, prefixed("i32.trunc_sat_", "f32_s f32_u f64_s f64_u")},
		{4, ImmNone, prefixed("i64.trunc_sat_", "f32_s f32_u f64_s f64_u")},
		{8, ImmInit, "memory.init"},
		{9, ImmData, "data.drop"},
		{10, ImmMemory2, "memory.copy"},
		{11, ImmMemory, "memory.fill"},
		{12, ImmInit, "table.init"},
		{13, ImmElem, "elem.drop"},
		{14, ImmTable2, "table.copy"},
		{15, ImmTable, prefixed("table.", "grow size fill")},
	})

	simdOps = opTable(0x100, []opRun{
		{0x00, ImmMemArg, prefixed("v128.load", "*")},
		{0x01, ImmMemArg, prefixed("v128.load", "8x8_s 8x8_u 16x4_s 16x4_u 32x2_s 32x2_u 8_splat 16_splat 32_splat 64_splat")},
		{0x0B, ImmMemArg, "v128.store"},
		{0x0C, ImmV128, "v128.const i8x16.shuffle"},
		{0x0E, ImmNone, "i8x16.swizzle i8x16.splat i16x8.splat i32x4.splat i64x2.splat f32x4.splat f64x2.splat"},
		{0x15, ImmLane, prefixed("i8x16.", "extract_lane_s extract_lane_u replace_lane")},
		{0x18, ImmLane, prefixed("i16x8.", "extract_lane_s extract_lane_u replace_lane")},
		{0x1B, ImmLane, "i32x4.extract_lane i32x4.replace_lane i64x2.extract_lane i64x2.replace_lane"},
		{0x1F, ImmLane, "f32x4.extract_lane f32x4.replace_lane f64x2.extract_lane f64x2.replace_lane"},
		{0x23, ImmNone, prefixed("i8x16.", compareInt)},
		{0x2D, ImmNone, prefixed("i16x8.", compareInt)},
		{0x37, ImmNone, prefixed("i32x4.", compareInt)},
		{0x41, ImmNone, prefixed("f32x4.", "eq ne lt gt le ge")},
		{0x47, ImmNone, prefixed("f64x2.", "eq ne lt gt le ge")},
		{0x4D, ImmNone, prefixed("v128.", "not and andnot or xor bitselect any_true")},
		{0x54, ImmMemLane, prefixed("v128.", "load8_lane load16_lane load32_lane load64_lane store8_lane store16_lane store32_lane store64_lane")},
		{0x5C, ImmMemArg, "v128.load32_zero v128.load64_zero"},
		{0x5E, ImmNone, "f32x4.demote_f64x2_zero f64x2.promote_low_f32x4"},
		{0x60, ImmNone, prefixed("i8x16.", "abs neg popcnt all_true bitmask narrow_i16x8_s narrow_i16x8_u")},
		{0x67, ImmNone, prefixed("f32x4.", "ceil floor trunc nearest")},
		{0x6B, ImmNone, prefixed("i8x16.", "shl shr_s shr_u add add_sat_s add_sat_u sub sub_sat_s sub_sat_u")},
		{0x74, ImmNone, "f64x2.ceil f64x2.floor"},
		{0x76, ImmNone, prefixed("i8x16.", "min_s min_u max_s max_u")},
		{0x7A, ImmNone, "f64x2.trunc i8x16.avgr_u"},
		{0x7C, ImmNone, "i16x8.extadd_pairwise_i8x16_s i16x8.extadd_pairwise_i8x16_u i32x4.extadd_pairwise_i16x8_s i32x4.extadd_pairwise_i16x8_u"},
		{0x80, ImmNone, prefixed("i16x8.", "abs neg q15mulr_sat_s all_true bitmask narrow_i32x4_s narrow_i32x4_u")},
		{0x87, ImmNone, prefixed("i16x8.", "extend_low_i8x16_s extend_high_i8x16_s extend_low_i8x16_u extend_high_i8x16_u")},
		{0x8B, ImmNone, prefixed("i16x8.", "shl shr_s shr_u add add_sat_s add_sat_u sub sub_sat_s sub_sat_u")},
		{0x94, ImmNone, "f64x2.nearest"},
		{0x95, ImmNone, prefixed("i16x8.", "mul min_s min_u max_s max_u - avgr_u")},
		{0x9C, ImmNone, prefixed("i16x8.", "extmul_low_i8x16_s extmul_high_i8x16_s extmul_low_i8x16_u extmul_high_i8x16_u")},
		{0xA0, ImmNone, prefixed("i32x4.", "abs neg - all_true bitmask")},
		{0xA7, ImmNone, prefixed("i32x4.", "extend_low_i16x8_s extend_high_i16x8_s extend_low_i16x8_u extend_high_i16x8_u")},
		{0xAB, ImmNone, prefixed("i32x4.", "shl shr_s shr_u add - - sub - - - mul min_s min_u max_s max_u dot_i16x8_s")},
		{0xBC, ImmNone, prefixed("i32x4.", "extmul_low_i16x8_s extmul_high_i16x8_s extmul_low_i16x8_u extmul_high_i16x8_u")},
		{0xC0, ImmNone, prefixed("i64x2.", "abs neg - all_true bitmask")},
		{0xC7, ImmNone, prefixed("i64x2.", "extend_low_i32x4_s extend_high_i32x4_s extend_low_i32x4_u extend_high_i32x4_u")},
		{0xCB, ImmNone, prefixed("i64x2.", "shl shr_s shr_u add - - sub - - - mul eq ne lt_s gt_s le_s ge_s")},
		{0xDC, ImmNone, prefixed("i64x2.", "extmul_low_i32x4_s extmul_high_i32x4_s extmul_low_i32x4_u extmul_high_i32x4_u")},
		{0xE0, ImmNone, prefixed("f32x4.", "abs neg - sqrt add sub mul div min max pmin pmax")},
		{0xEC, ImmNone, prefixed("f64x2.", "abs neg - sqrt add sub mul div min max pmin pmax")},
		{0xF8, ImmNone, "i32x4.trunc_sat_f32x4_s i32x4.trunc_sat_f32x4_u f32x4.convert_i32x4_s f32x4.convert_i32x4_u"},
		{0xFC, ImmNone, "i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u"},
	})

	atomicOps = opTable(0x4F, []opRun{
		{0x00, ImmMemArg, prefixed("memory.atomic.", "notify wait32 wait64")},
		{0x03, ImmFence, "atomic.fence"},
		{0x10, ImmMemArg, "i32.atomic.load i64.atomic.load i32.atomic.load8_u i32.atomic.load16_u"},
		{0x14, ImmMemArg, "i64.atomic.load8_u i64.atomic.load16_u i64.atomic.load32_u"},
		{0x17, ImmMemArg, "i32.atomic.store i64.atomic.store i32.atomic.store8 i32.atomic.store16"},
		{0x1B, ImmMemArg, "i64.atomic.store8 i64.atomic.store16 i64.atomic.store32"},
		{0x1E, ImmMemArg, atomicRMW("add")},
		{0x25, ImmMemArg, atomicRMW("sub")},
		{0x2C, ImmMemArg, atomicRMW("and")},
		{0x33, ImmMemArg, atomicRMW("or")},
		{0x3A, ImmMemArg, atomicRMW("xor")},
		{0x41, ImmMemArg, atomicRMW("xchg")},
		{0x48, ImmMemArg, atomicRMW("cmpxchg")},
	})
)

// plainImmediates has the forms of the one-byte opcodes together, for speed.
var plainImmediates = func() (forms [0x100]Immediates) {
	for op, info := range plainOps {
		forms[op] = info.imm
	}
	return forms
}()

func prefixed(prefix, names string) string {
	fields := strings.Fields(names)
	for i, f := range fields {
		switch f {
		case "-":
		case "*":
			fields[i] = prefix
		default:
			fields[i] = prefix + f
		}
	}
	return strings.Join(fields, " ")
}

func atomicRMW(op string) string {
	return strings.ReplaceAll("i32.atomic.rmw.X i64.atomic.rmw.X i32.atomic.rmw8.X_u i32.atomic.rmw16.X_u "+
		"i64.atomic.rmw8.X_u i64.atomic.rmw16.X_u i64.atomic.rmw32.X_u", "X", op)
}

func opTable(size int, runs []opRun) []opInfo {
	table := make([]opInfo, size)
	for _, run := range runs {
		for i, name := range strings.Fields(run.names) {
			if name != "-" {
				table[run.first+i] = opInfo{name, run.imm}
			}
		}
	}
	return table
}

func (op Opcode) info() opInfo {
	var table []opInfo
	switch op >> 16 {
	case 0:
		table = plainOps
	case prefixMisc:
		table = miscOps
	case prefixSIMD:
		table = simdOps
	case prefixAtomic:
		table = atomicOps
	}
	if n := int(op & 0xFFFF); n < len(table) {
		return table[n]
	}
	return opInfo{}
}

// Immediates returns the form of the opcode's immediates, ImmInvalid when there is no such opcode.
func (op Opcode) Immediates() Immediates { return op.info().imm }

// String returns the instruction's name in the text format.
func (op Opcode) String() string {
	if name := op.info().name; name != "" {
		return name
	}
	return fmt.Sprintf("opcode %#x", uint32(op))
}

// OpcodeNames maps the text format's names to opcodes; "select" is the one without types.
func OpcodeNames() map[string]Opcode {
	names := make(map[string]Opcode)
	for prefix, table := range map[Opcode][]opInfo{
		0: plainOps, prefixMisc << 16: miscOps, prefixSIMD << 16: simdOps, prefixAtomic << 16: atomicOps,
	} {
		for n, info := range table {
			if op := prefix | Opcode(n); info.name != "" && op != OpSelectT {
				names[info.name] = op
			}
		}
	}
	return names
}

// AppendOp appends an opcode. Its immediates must follow.
func AppendOp(b []byte, op Opcode) []byte {
	if op <= 0xFF {
		return append(b, byte(op))
	}
	return AppendU32(append(b, byte(op>>16)), uint32(op&0xFFFF))
}
