package layout

import (
	"encoding/binary"
	"fmt"
)

// kind is what an instruction does to the flow of control.
type kind uint8

const (
	plain  kind = iota // goes on to the next instruction; an indirect call does so, too
	call               // calls an address relative to its end, then goes on
	jump               // goes to an address relative to its end
	branch             // a jump under a condition
	stop               // never goes on: ret, ud2, jmp through a register or memory
)

// An instruction of x86-64, as far as moving it asks for.
type instruction struct {
	size int
	kind kind
	// cond is the condition of a branch, as in its opcode; the lowest bit negates it.
	cond byte
	// relative is where its 4 bytes of an address relative to its end are, or 0. A jump or branch of one byte has none.
	relative int
	// to is that address less that of the instruction; it is set for calls, jumps, branches and what relative is set for.
	to int
}

// What follows an opcode.
const (
	invalid = iota
	none
	modrm      // a ModRM byte, and what that asks for
	modrmImm8  // the same and an immediate of one byte
	modrmImm32 // of four bytes (two with prefix 66)
	imm8
	imm32
	immWord // four bytes; eight with REX.W, two with prefix 66
	group3  // ModRM; an immediate where it is a test
)

// The opcodes that are known, by their first byte, and by the byte after 0F. What wazero does not emit may be missing:
// an instruction that is not known is an error.
var oneByte, twoByte = opcodes(
	// Each line has the first and last opcode, and what follows.
	[][3]int{
		{0x84, 0x8b, modrm}, {0x50, 0x5f, none}, {0x63, 0x63, modrm}, {0x68, 0x68, imm32}, {0x69, 0x69, modrmImm32},
		{0x6a, 0x6a, imm8}, {0x6b, 0x6b, modrmImm8}, {0x80, 0x80, modrmImm8}, {0x81, 0x81, modrmImm32},
		{0x83, 0x83, modrmImm8}, {0x8d, 0x8d, modrm}, {0x90, 0x90, none}, {0x98, 0x99, none}, {0xa4, 0xa5, none},
		{0xa8, 0xa8, imm8}, {0xa9, 0xa9, imm32}, {0xaa, 0xab, none}, {0xb0, 0xb7, imm8}, {0xb8, 0xbf, immWord},
		{0xc0, 0xc1, modrmImm8}, {0xc3, 0xc3, none}, {0xc6, 0xc6, modrmImm8}, {0xc7, 0xc7, modrmImm32},
		{0xd0, 0xd3, modrm}, {0xf6, 0xf7, group3}, {0xfe, 0xff, modrm},
	},
	[][3]int{
		{0x0b, 0x0b, none}, {0x10, 0x17, modrm}, {0x1f, 0x1f, modrm}, {0x28, 0x2f, modrm}, {0x40, 0x4f, modrm},
		{0x50, 0x6f, modrm}, {0x70, 0x73, modrmImm8}, {0x74, 0x76, modrm}, {0x7c, 0x7f, modrm}, {0x90, 0x9f, modrm},
		{0xa3, 0xa3, modrm}, {0xab, 0xab, modrm}, {0xae, 0xb1, modrm}, {0xb6, 0xb8, modrm}, {0xba, 0xba, modrmImm8},
		{0xbb, 0xc1, modrm}, {0xc2, 0xc2, modrmImm8}, {0xc4, 0xc6, modrmImm8}, {0xc8, 0xcf, none}, {0xd0, 0xfe, modrm},
	},
)

func opcodes(one, two [][3]int) (a, b [256]byte) {
	for op := range 8 { // add, or, adc, sbb, and, sub, xor, cmp
		for i, follows := range []byte{modrm, modrm, modrm, modrm, imm8, imm32} {
			a[op<<3+i] = follows
		}
	}
	for table, lines := range map[*[256]byte][][3]int{&a: one, &b: two} {
		for _, l := range lines {
			for op := l[0]; op <= l[1]; op++ {
				table[op] = byte(l[2])
			}
		}
	}
	return a, b
}

const longest = 24 // bytes of prefixes, opcode, operands and immediate, with some to spare

// decode reads the instruction at the start of code.
func decode(code []byte) (in instruction, err error) {
	// The longest instruction has 15 bytes, so no read below needs a check of its own.
	b, n := code, len(code)
	if n < longest {
		b = make([]byte, longest)
		copy(b, code)
	}
	i := 0
	var wide, short bool
prefixes:
	for ; i < 4; i++ {
		switch b[i] {
		case 0x66:
			short = true
		case 0xf0, 0xf2, 0xf3:
		default:
			break prefixes
		}
	}
	if b[i]&0xf0 == 0x40 { // REX
		wide = b[i]&8 != 0
		i++
	}
	op := b[i]
	i++
	follows := oneByte[op]
	switch {
	case op == 0x0f:
		op = b[i]
		i++
		switch {
		case op == 0x38:
			i++
			follows = modrm
		case op == 0x3a:
			i++
			follows = modrmImm8
		case op&0xf0 == 0x80:
			in.kind, in.cond, in.relative, follows = branch, op&15, i, imm32
		default:
			follows = twoByte[op]
			if op == 0x0b {
				in.kind = stop
			}
		}
	case op&0xf0 == 0x70:
		in.kind, in.cond, follows = branch, op&15, imm8
	case op == 0xe8:
		in.kind, in.relative, follows = call, i, imm32
	case op == 0xe9:
		in.kind, in.relative, follows = jump, i, imm32
	case op == 0xeb:
		in.kind, follows = jump, imm8
	case op == 0xc3:
		in.kind = stop
	case op == 0xff:
		switch to, register := b[i]>>3&7, b[i] >= 0xc0; {
		case to == 4 && register:
			in.kind = stop
		case to == 3 || to == 4 || to == 5 || to == 7: // a far call or jump, a jump through memory
			return in, unknown(code)
		}
	}
	if follows == group3 {
		follows = modrm
		if b[i]>>3&7 < 2 {
			follows = modrmImm32
			if op == 0xf6 {
				follows = modrmImm8
			}
		}
	}
	switch follows {
	case invalid:
		return in, unknown(code)
	case modrm, modrmImm8, modrmImm32:
		mod, rm := b[i]>>6, b[i]&7
		i++
		switch {
		case mod == 3:
		case rm == 4: // SIB
			if mod == 0 && b[i]&7 == 5 {
				i += 4
			}
			i++
		case mod == 0 && rm == 5: // relative to the next instruction
			in.relative = i
			i += 4
		}
		switch mod {
		case 1:
			i++
		case 2:
			i += 4
		}
	}
	switch follows {
	case imm8, modrmImm8:
		i++
	case imm32, modrmImm32:
		i += 4
		if short {
			i -= 2
		}
	case immWord:
		i += 4
		if wide {
			i += 4
		} else if short {
			i -= 2
		}
	}
	if in.kind != plain && in.kind != stop && short || i > n {
		return in, unknown(code)
	}
	in.size = i
	switch {
	case in.relative != 0:
		in.to = i + int(int32(binary.LittleEndian.Uint32(b[in.relative:])))
	case in.kind == jump || in.kind == branch:
		in.to = i + int(int8(b[i-1]))
	}
	return in, nil
}

func unknown(code []byte) error {
	return fmt.Errorf("%w: no known instruction: % x", ErrUnknown, code[:min(len(code), 16)])
}
