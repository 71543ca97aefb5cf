package layout

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// kind is what an instruction does to the flow of control.
type kind uint8

const (
	plain  kind = iota // goes on to the next instruction; an indirect call does so, too
	call               // calls an address relative to its end, then goes on
	jump               // goes to an address relative to its end
	branch             // a jump under a condition
	stop               // never goes on: ret, ud2, jmp through a register
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

// hasData tells whether the instruction reads data, or takes its address, by where it lies from there.
func (in *instruction) hasData() bool { return in.kind == plain && in.relative != 0 && in.to != 0 }

// decode reads the instruction at the start of code.
func decode(code []byte) (in instruction, err error) {
	x, err := x86asm.Decode(code, 64)
	if err != nil {
		return in, unknown(code)
	}
	in.size = x.Len
	switch x.PCRel {
	case 0:
	case 1:
		in.to = x.Len + int(int8(code[x.PCRelOff]))
	case 4:
		in.relative, in.to = x.PCRelOff, x.Len+int(int32(binary.LittleEndian.Uint32(code[x.PCRelOff:])))
	default:
		return in, unknown(code)
	}
	_, direct := x.Args[0].(x86asm.Rel)
	switch x.Op {
	case x86asm.CALL:
		if direct {
			in.kind = call
		}
	case x86asm.JMP:
		_, register := x.Args[0].(x86asm.Reg)
		switch {
		case direct:
			in.kind = jump
		case register:
			in.kind = stop
		default:
			return in, unknown(code)
		}
	case x86asm.RET, x86asm.UD2:
		in.kind = stop
	case x86asm.LCALL, x86asm.LJMP, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ, x86asm.INT, x86asm.INTO, x86asm.ICEBP, x86asm.HLT,
		x86asm.SYSCALL, x86asm.SYSENTER, x86asm.SYSEXIT, x86asm.SYSRET, x86asm.XBEGIN, x86asm.XABORT:
		return in, unknown(code)
	default:
		if !direct {
			break
		}
		// The opcode is the byte before the address: 70+cond, or 0F 80+cond.
		opcode := code[x.PCRelOff-1]
		if opcode&0xf0 != 0x70 && opcode&0xf0 != 0x80 {
			return in, unknown(code) // loop, jrcxz
		}
		in.kind, in.cond = branch, opcode&15
	}
	return in, nil
}

func unknown(code []byte) error {
	return fmt.Errorf("%w: no known instruction: % x", ErrUnknown, code[:min(len(code), 16)])
}
