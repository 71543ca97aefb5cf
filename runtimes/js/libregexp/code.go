// Package libregexp finds all matches of a regular expression as QuickJS's libregexp does, by running the code that the interpreter
// has compiled the pattern to: natively, where the interpreter interprets it once more, and looks at each character through half
// a dozen instructions.
//
// Code comes from the guest's memory and may be anything: a pattern that has something unknown is not decoded, and one that
// takes too many steps is given up. What the format is, libregexp.c says:
//
//	flags (u16)  captures (u8)  registers (u8)  length (u32)  instructions  names of groups
package libregexp

import (
	"encoding/binary"
	"slices"
)

// Flags of a pattern (libregexp.h, LRE_FLAG_*).
const (
	Global     = 1 << 0
	sticky     = 1 << 5
	Indices    = 1 << 6
	NamedGroup = 1 << 7
)

// Instructions (libregexp-opcode.h, REOP_*), with what follows them.
const (
	reChar          = 1 // u16
	reChar32        = 3 // u32
	reDot           = 5
	reAny           = 6
	reSpace         = 7
	reNotSpace      = 8
	reLineStart     = 9
	reLineStartM    = 10
	reLineEnd       = 11
	reLineEndM      = 12
	reGoto          = 13 // i32, from the next instruction, as all jumps
	reSplitGoto     = 14 // i32: tries it first
	reSplitNext     = 15 // i32: tries it last
	reMatch         = 16
	reLookMatch     = 17
	reNegativeMatch = 18
	reSaveStart     = 19 // u8
	reSaveEnd       = 20 // u8
	reSaveReset     = 21 // u8 first, u8 last
	reLoop          = 22 // u8 register, i32
	reLoopSplitGoto = 23 // u8 register, u32 limit, i32: and three like it
	reCheckGoto     = 25
	reCheckNext     = 26
	reSet           = 27 // u8 register, u32
	reWordBoundary  = 28
	reNotBoundary   = 30
	reBackReference = 32 // u8 count, u8 group...
	reBackwardRef   = 34
	reRange         = 36 // u16 count, { u16 low, u16 high }...
	reRange32       = 38 // u16 count, { u32 low, u32 high }...
	reLook          = 40 // i32
	reNegative      = 41 // i32
	reSetPosition   = 42 // u8 register
	reCheckAdvance  = 43 // u8 register
	rePrev          = 44
)

// instruction is one of a pattern's. What it needs of registers was checked when it was decoded.
type instruction struct {
	op     byte
	last   byte   // of groups to reset the last one
	reg    uint16 // the register; of groups to reset the first one
	n      uint32
	target int32    // index of an instruction
	set    *charset // of a jump back to a character that repeats: what may follow at once of the first 256; see runs
	groups string   // a byte each
}

// begin is the first instruction of a pattern that looks for its matches, after those that try each place.
const begin = 3

// charset is what a range matches: the first 256 characters by bits, all by pairs of bounds.
type charset struct {
	low   [4]uint64
	pairs [][2]uint32
}

func (s *charset) has(c uint32) bool {
	if c < 256 {
		return s.low[c>>6]>>(c&63)&1 != 0
	}
	return s.hasHigh(c)
}

func (s *charset) hasHigh(c uint32) bool {
	_, ok := slices.BinarySearchFunc(s.pairs, c, func(p [2]uint32, c uint32) int {
		switch {
		case p[1] < c:
			return -1
		case p[0] > c:
			return 1
		}
		return 0
	})
	return ok
}

func (s *charset) add(low, high uint32) {
	for c := low; c <= min(high, 255); c++ {
		s.low[c>>6] |= 1 << (c & 63)
	}
	s.pairs = append(s.pairs, [2]uint32{low, high})
}

// join adds what another one has of the first 256 characters.
func (s *charset) join(other *charset) {
	for i, bits := range other.low {
		s.low[i] |= bits
	}
}

// spaces are those of the first 256 characters.
var spaces = func() (s charset) {
	for c := range uint32(256) {
		if IsSpace(c) {
			s.add(c, c)
		}
	}
	return s
}()

// A Pattern is a decoded one that looks for its matches: its first three instructions try each place of the text.
type Pattern struct {
	Flags    uint16
	Captures int // the match itself is one, so that there is one at least

	code      []instruction
	registers int
	first     *[256]bool // what of the first 256 characters a match may begin with; nil: it may be anything, or nothing
	lead      *charset   // the repeated character that it begins with; nil: with none, or not at once. See leads

	// Of begins: in which question an instruction was met last, the number of this one, and instructions that may yet be met.
	seen  []int32
	asked int32
	looks int
}

// maxLooks bounds what finding out about a pattern takes, which for a long one goes with the square of its length.
const maxLooks = 1 << 17

// Decode reads a pattern's code. It is nil when not all of it is known, and for patterns that [All] does not run: those that are
// sticky or ignore case.
func Decode(b []byte) *Pattern {
	const header = 8
	if len(b) < header || uint64(binary.LittleEndian.Uint32(b[4:])) > uint64(len(b)-header) {
		return nil
	}
	p := &Pattern{Flags: binary.LittleEndian.Uint16(b), Captures: int(b[2]), registers: int(b[3])}
	b = b[header : header+binary.LittleEndian.Uint32(b[4:])]
	at := make([]int, len(b)) // index + 1 of the instruction that begins there
	var jumps []int           // targets by instruction, as offsets; -1: none
	for pc := 0; pc < len(b); {
		at[pc] = len(p.code) + 1
		in, size, jump := decodeOne(b[pc:])
		if size == 0 || !p.allows(&in) {
			return nil
		}
		if pc += size; jump != nil {
			jumps = append(jumps, pc+int(*jump))
		} else {
			jumps = append(jumps, -1)
		}
		p.code = append(p.code, in)
	}
	for i, to := range jumps {
		if to == -1 {
			continue
		}
		if to < 0 || to >= len(b) || at[to] == 0 {
			return nil
		}
		p.code[i].target = int32(at[to] - 1)
	}
	n := len(p.code)
	if n <= begin || p.Captures == 0 || p.code[n-1].op != reMatch || p.Flags&sticky != 0 || p.code[0].op != reSplitGoto ||
		p.code[0].target != begin || p.code[1].op != reAny || p.code[2].op != reGoto || p.code[2].target != 0 {
		return nil
	}
	p.seen, p.looks = make([]int32, n), maxLooks
	set := &charset{}
	if p.begin(begin, set) {
		p.first = new([256]bool)
		for c := range p.first {
			p.first[c] = set.has(uint32(c))
		}
	}
	p.runs()
	p.leads(begin)
	return p
}

// runs finds the repetitions of one character that may take all that there is at once: where what comes after them begins with
// another one, or is the end of the pattern or of the text, giving some of it back is of no use.
//
//	i  character   i+1  reSplitGoto i
func (p *Pattern) runs() {
	for i := range p.code[:len(p.code)-1] {
		jump := &p.code[i+1]
		switch p.code[i].op {
		case reChar, reChar32, reRange, reRange32, reSpace:
		default:
			continue
		}
		if jump.op != reSplitGoto || int(jump.target) != i {
			continue
		}
		var repeated, next charset
		if !p.begin(i, &repeated) {
			return // too much was looked at
		}
		rest := i + 2
		for rest < len(p.code) && (p.code[rest].op == reSaveStart || p.code[rest].op == reSaveEnd) {
			rest++
		}
		apart := rest < len(p.code) && (p.code[rest].op == reMatch || p.code[rest].op == reLineEnd)
		if !apart && p.begin(rest, &next) {
			apart = true
			for j := range next.low {
				apart = apart && repeated.low[j]&next.low[j] == 0
			}
		}
		if apart {
			jump.set = &repeated
		}
	}
}

// leads sees whether a pattern begins with a repetition that takes all there is at once. Where no match begins at a place, none
// does at the next ones that the repetition has taken: it would end where it did, and what captured its beginning is not asked for.
func (p *Pattern) leads(i int) {
	for p.code[i].op == reSaveStart {
		i++
	}
	if i+1 < len(p.code) && p.code[i+1].op == reSplitGoto && !slices.ContainsFunc(p.code, func(in instruction) bool { return in.groups != "" }) {
		p.lead = p.code[i+1].set
	}
}

// decodeOne reads the instruction that b begins with, its size and the distance of its jump; size 0: it is not known.
func decodeOne(b []byte) (in instruction, size int, jump *int32) {
	var padded [10]byte // the longest one of fixed size
	copy(padded[:], b)
	u8, u16, u32 := padded[1], binary.LittleEndian.Uint16(padded[1:]), binary.LittleEndian.Uint32(padded[1:])
	distance := func(at int) *int32 {
		d := int32(binary.LittleEndian.Uint32(padded[at:]))
		return &d
	}
	in = instruction{op: padded[0]}
	switch in.op {
	case reChar:
		in.n, size = uint32(u16), 3
	case reChar32:
		in.n, size = u32, 5
	case reDot, reAny, reSpace, reNotSpace, reLineStart, reLineStartM, reLineEnd, reLineEndM, reMatch, reLookMatch, reNegativeMatch,
		reWordBoundary, reNotBoundary, rePrev:
		size = 1
	case reGoto, reSplitGoto, reSplitNext, reLook, reNegative:
		size, jump = 5, distance(1)
	case reSaveStart, reSaveEnd, reSetPosition, reCheckAdvance:
		in.reg, size = uint16(u8), 2
	case reSaveReset:
		in.reg, in.last, size = uint16(u8), padded[2], 3
	case reLoop:
		in.reg, size, jump = uint16(u8), 6, distance(2)
	case reLoopSplitGoto, reLoopSplitGoto + 1, reCheckGoto, reCheckNext:
		in.reg, in.n, size, jump = uint16(u8), binary.LittleEndian.Uint32(padded[2:]), 10, distance(6)
	case reSet:
		in.reg, in.n, size = uint16(u8), binary.LittleEndian.Uint32(padded[2:]), 6
	case reBackReference, reBackwardRef:
		if size = 2 + int(u8); size <= len(b) {
			in.groups = string(b[2:size])
		}
	case reRange, reRange32:
		width := 2 + int(in.op-reRange)
		if size = 3 + 2*width*int(u16); size > len(b) || u16 == 0 {
			return in, 0, nil
		}
		in.set = readSet(b[3:size], width)
	}
	if size > len(b) {
		size = 0
	}
	return in, size, jump
}

// readSet reads pairs of bounds of two or four bytes each. A last one of 0xffff in two bytes has no end.
func readSet(b []byte, width int) *charset {
	s := &charset{}
	for ; len(b) > 0; b = b[2*width:] {
		if width == 4 {
			s.add(binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]))
			continue
		}
		low, high := uint32(binary.LittleEndian.Uint16(b)), uint32(binary.LittleEndian.Uint16(b[2:]))
		if high == 0xffff && len(b) == 2*width {
			high = 0x7fffffff
		}
		s.add(low, high)
	}
	return s
}

// allows makes an instruction's register an index, and says whether all that it names exist.
func (p *Pattern) allows(in *instruction) bool {
	registers := uint16(2 * p.Captures)
	last := registers + uint16(p.registers) - 1
	switch in.op {
	case reSaveStart, reSaveEnd:
		in.reg = 2*in.reg + uint16(in.op-reSaveStart)
		return in.reg < registers
	case reSaveReset:
		return in.reg <= uint16(in.last) && int(in.last) < p.Captures
	case reLoop, reLoopSplitGoto, reLoopSplitGoto + 1, reSet, reSetPosition, reCheckAdvance:
		in.reg += registers
		return in.reg <= last
	case reCheckGoto, reCheckNext: // the position is in the register after the counter
		in.reg += registers
		return in.reg+1 <= last
	case reBackReference, reBackwardRef:
		return !slices.ContainsFunc([]byte(in.groups), func(g byte) bool { return int(g) >= p.Captures })
	}
	return true
}

// begin adds what a match of the code from i on may begin with; false when that is not known, or may be nothing.
func (p *Pattern) begin(i int, set *charset) bool {
	p.asked++
	return p.begins(i, set)
}

// begins is begin for what was not met yet.
func (p *Pattern) begins(i int, set *charset) bool {
	for ; i < len(p.code) && p.seen[i] != p.asked; i++ {
		p.seen[i] = p.asked
		if p.looks--; p.looks < 0 {
			return false
		}
		switch in := &p.code[i]; in.op {
		case reChar, reChar32:
			set.add(in.n, in.n)
			return true
		case reRange, reRange32:
			set.join(in.set)
			return true
		case reSpace:
			set.join(&spaces)
			return true
		case reGoto, reLook, reNegative: // what looks ahead only narrows what comes after it
			i = int(in.target) - 1
		case reSplitGoto, reSplitNext:
			if !p.begins(int(in.target), set) {
				return false
			}
		case reSaveStart, reSaveEnd, reSaveReset, reSet, reSetPosition, reWordBoundary, reNotBoundary, reLineStart, reLineStartM:
		default:
			return false
		}
	}
	return i < len(p.code)
}

// IsSpace is \s (libunicode.h, lre_is_space).
func IsSpace(c uint32) bool {
	switch {
	case c >= 9 && c <= 13, c == ' ', c == 0xa0:
		return true
	case c < 256:
		return false
	}
	return c == 0x1680 || c >= 0x2000 && c <= 0x200a || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff
}

func isLineEnd(c uint32) bool { return c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029 }

func isWord(c uint32) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
