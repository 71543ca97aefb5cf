package wasmbin_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// immediates gives every form of immediates some bytes.
var immediates = map[wasmbin.Immediates][]byte{
	wasmbin.ImmNone:     {},
	wasmbin.ImmBlock:    {0x7F},
	wasmbin.ImmTryTable: {0x40, 2, 0, 5, 1, 3, 2},
	wasmbin.ImmLabel:    {3},
	wasmbin.ImmBrTable:  {2, 7, 8, 9},
	wasmbin.ImmFunc:     {0x80, 1},
	wasmbin.ImmCall:     {4, 1},
	wasmbin.ImmType:     {6},
	wasmbin.ImmTag:      {2},
	wasmbin.ImmLocal:    {5},
	wasmbin.ImmGlobal:   {5},
	wasmbin.ImmTable:    {1},
	wasmbin.ImmTable2:   {1, 2},
	wasmbin.ImmInit:     {9, 3},
	wasmbin.ImmData:     {9},
	wasmbin.ImmElem:     {9},
	wasmbin.ImmMemory:   {0},
	wasmbin.ImmMemory2:  {1, 2},
	wasmbin.ImmMemArg:   {0x42, 3, 0x10}, // align 4, memory 3
	wasmbin.ImmMemLane:  {2, 0x10, 11},
	wasmbin.ImmLane:     {15},
	wasmbin.ImmI32:      {0x7F},
	wasmbin.ImmI64:      {0x80, 0x7F},
	wasmbin.ImmF32:      {0, 0, 0x80, 0x3F},
	wasmbin.ImmF64:      {0, 0, 0, 0, 0, 0, 0xF0, 0x3F},
	wasmbin.ImmV128:     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	wasmbin.ImmSelect:   {1, 0x7E},
	wasmbin.ImmRef:      {0x70},
	wasmbin.ImmFence:    {0},
}

// TestEveryOpcode reads each instruction followed by a nop, which is found only if its immediates have the
// right length.
func TestEveryOpcode(t *testing.T) {
	names := wasmbin.OpcodeNames()
	names["select t"] = wasmbin.OpSelectT
	// One byte: 59 of control, variables, memory and constants, 128 on numbers, 6 on references. Then the prefixes.
	if got, want := len(names), 59+128+6+18+236+67; got != want {
		t.Errorf("%d instructions are known, want %d", got, want)
	}
	for name, op := range names {
		if op == wasmbin.OpEnd {
			continue
		}
		expr := append(wasmbin.AppendOp(nil, op), immediates[op.Immediates()]...)
		length := len(expr)
		expr = append(expr, byte(wasmbin.OpNop), byte(wasmbin.OpEnd), byte(wasmbin.OpEnd))
		r := wasmbin.NewInstrReader(expr)
		var in wasmbin.Instr
		if !r.Next(&in) || in.Op != op || in.Start != 0 || in.End != length {
			t.Errorf("%s: read as %v from %d to %d of %d (%v)", name, in.Op, in.Start, in.End, length, r.Err())
			continue
		}
		if !r.Next(&in) || in.Op != wasmbin.OpNop {
			t.Errorf("%s: followed by %v (%v)", name, in.Op, r.Err())
		}
	}
}

func TestImmediates(t *testing.T) {
	for _, tt := range []struct {
		op    wasmbin.Opcode
		check func(wasmbin.Instr) bool
	}{
		{wasmbin.OpBlock, func(in wasmbin.Instr) bool { r, ok := in.Block.Result(); return ok && r == wasmbin.I32 }},
		{wasmbin.OpTryTable, func(in wasmbin.Instr) bool {
			return in.Block == wasmbin.EmptyBlock && reflect.DeepEqual(in.Catches, []wasmbin.CatchClause{
				{Kind: wasmbin.Catch, Tag: 5, Label: 1}, {Kind: wasmbin.CatchAllRef, Label: 2},
			})
		}},
		{wasmbin.OpBrTable, func(in wasmbin.Instr) bool { return reflect.DeepEqual(in.Labels, []uint32{7, 8, 9}) }},
		{wasmbin.OpCall, func(in wasmbin.Instr) bool { return in.Index == 128 }},
		{wasmbin.OpCallIndirect, func(in wasmbin.Instr) bool { return in.Index == 4 && in.Index2 == 1 }},
		{wasmbin.OpMemoryInit, func(in wasmbin.Instr) bool { return in.Index == 3 && in.Index2 == 9 }},
		{0x28, func(in wasmbin.Instr) bool { return in.Index == 3 && in.Align == 2 && in.Value == 16 }},
		{wasmbin.OpI32Const, func(in wasmbin.Instr) bool { return int32(in.Value) == -1 }},
		{wasmbin.OpI64Const, func(in wasmbin.Instr) bool { return int64(in.Value) == -128 }},
		{wasmbin.OpSelectT, func(in wasmbin.Instr) bool { return len(in.Types) == 1 && in.Types[0] == wasmbin.I64 }},
		{wasmbin.OpRefNull, func(in wasmbin.Instr) bool { return in.Types[0] == wasmbin.FuncRef }},
	} {
		expr := append(wasmbin.AppendOp(nil, tt.op), immediates[tt.op.Immediates()]...)
		if in := firstInstr(t, expr); !tt.check(in) {
			t.Errorf("%v: %+v", tt.op, in)
		}
	}
}

func TestInstrReaderErrors(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"no end", "\x01", "offset 0x1: unexpected end"},
		{"open block", "\x02\x40\x0b", "offset 0x3: unexpected end"},
		{"after the end", "\x0b\x01", "offset 0x1: instructions after the end"},
		{"unknown", "\x06", "offset 0x0: unknown opcode 0x6"},
		{"unknown vector", "\x01\xfd\xff\x01\xfd\x9a\x01", "offset 0x4: unknown opcode 0xfd009a"},
		{"relaxed vector", "\xfd\x80\x02", "offset 0x0: unknown opcode 0xfd0100"},                                                // for wazero i16x8.abs, and a block begins
		{"long vector", "\x01\xfd\xd5\x00\x00\x00\x00", "offset 0x1: the number of an opcode is written longer than it must be"}, // for wazero i64x2.mul, unreachable
		{"long misc", "\xfc\x8a\x80\x00\x00\x00", "offset 0x0: the number of an opcode is written longer than it must be"},
		{"huge vector", "\xfd\xff\xff\xff\xff\x0f", "offset 0x0: unknown opcode 0xfdffff"},
		{"huge br_table", "\x0e\xff\xff\xff\xff\x0f\x00", "offset 0x1: count 4294967295 is past the end"},
		{"block type", "\x02\x41", "offset 0x1: unknown value type 0x41"},
		{"long block type", "\x02\xff\x7e", "offset 0x1: unknown block type -129"},
		{"catch", "\x1f\x40\x01\x09\x00", "offset 0x3: unknown catch clause 0x9"},
		{"i32 too large", "\x41\xff\xff\xff\xff\x0f", "offset 0x1: number does not fit in 32 bits"},
		{"short vector constant", "\xfd\x0c\x00", "offset 0x2: length 16 is past the end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in wasmbin.Instr
			r := wasmbin.NewInstrReader([]byte(tt.in))
			for r.Next(&in) {
			}
			if err := r.Err(); err == nil || err.Error() != tt.want {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
		})
	}
}

// FuzzInstrReader checks that instructions lie end to end, whatever the bytes are.
func FuzzInstrReader(f *testing.F) {
	for _, bytes := range immediates {
		f.Add(bytes)
	}
	for _, op := range wasmbin.OpcodeNames() {
		f.Add(append(append(wasmbin.AppendOp(nil, op), immediates[op.Immediates()]...), 0x0B))
	}
	m, err := wat.Parse(everything)
	if err != nil {
		f.Fatal(err)
	}
	for _, fn := range m.Funcs {
		f.Add(fn.Body[1:])
	}
	f.Fuzz(func(t *testing.T, expr []byte) {
		var in wasmbin.Instr
		r := wasmbin.NewInstrReader(expr)
		end := 0
		for r.Next(&in) {
			if in.Start != end || in.End <= in.Start || in.End > len(expr) {
				t.Fatalf("%v lies at %d to %d, after %d of %d", in.Op, in.Start, in.End, end, len(expr))
			}
			end = in.End
		}
		if r.Err() == nil && end != len(expr) {
			t.Errorf("stopped at %d of %d without an error", end, len(expr))
		}
	})
}

func TestSplitBodyLocals(t *testing.T) {
	group := func(n uint32) []byte {
		return append(wasmbin.AppendLocals(nil, []wasmbin.LocalGroup{{Count: 1, Type: wasmbin.I64}, {Count: n, Type: wasmbin.I32}}), 0x0b)
	}
	if locals, expr, err := wasmbin.SplitBody(group(49_999)); err != nil || len(locals) != 2 || len(expr) != 1 {
		t.Errorf("50,000 locals: %v %v %v", locals, expr, err)
	}
	for _, n := range []uint32{50_000, 1<<32 - 1} {
		if _, _, err := wasmbin.SplitBody(group(n)); err == nil || !strings.Contains(err.Error(), "more than 50000") {
			t.Errorf("%d locals: %v", n, err)
		}
	}
}
