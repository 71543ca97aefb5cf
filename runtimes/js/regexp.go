package js

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Looking for all matches of a pattern in a long text is done here, in place of the interpreter, which takes some ten times as long: it
// is itself interpreted, and looks at each character through half a dozen of the pattern's instructions. The guest's
// language.js asks for it, where no program can tell the difference, and makes the results.
//
// What runs is the code that the interpreter has compiled the pattern to (libregexp.c); [interp.probeRegExp] checks that it is
// what this file knows:
//
//	flags (u16)  captures (u8)  registers (u8)  length (u32)  instructions  names of groups
//
// A pattern that ignores case, or has anything else that is not known here, is left to the interpreter, and so is one that
// takes too many steps.

// Flags of a pattern (libregexp.h, LRE_FLAG_*).
const (
	patternGlobal  = 1 << 0
	patternSticky  = 1 << 5
	patternIndices = 1 << 6
	patternNamed   = 1 << 7
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

// pattern is a decoded one that looks for its matches: its first three instructions try each place of the text.
type pattern struct {
	code      []instruction
	flags     uint16
	captures  int
	registers int
	first     *[256]bool // what of the first 256 characters a match may begin with; nil: it may be anything, or nothing
	lead      *charset   // the repeated character that it begins with; nil: with none, or not at once. See leads
}

// decode reads a pattern's code, which may be anything; nil when it is not all known.
func decode(b []byte) *pattern {
	const header = 8
	if len(b) < header || uint64(binary.LittleEndian.Uint32(b[4:])) > uint64(len(b)-header) {
		return nil
	}
	p := &pattern{flags: binary.LittleEndian.Uint16(b), captures: int(b[2]), registers: int(b[3])}
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
	const begin = 3
	n := len(p.code)
	if n <= begin || p.captures == 0 || p.code[n-1].op != reMatch || p.flags&patternSticky != 0 || p.code[0].op != reSplitGoto ||
		p.code[0].target != begin || p.code[1].op != reAny || p.code[2].op != reGoto || p.code[2].target != 0 {
		return nil
	}
	p.runs()
	p.leads(begin)
	set := &charset{}
	if p.begins(begin, set, make([]bool, n)) {
		p.first = new([256]bool)
		for c := range p.first {
			p.first[c] = set.has(uint32(c))
		}
	}
	return p
}

// runs finds the repetitions of one character that may take all that there is at once: where what comes after them begins with
// another one, or is the end of the pattern or of the text, giving some of it back is of no use.
//
//	i  character   i+1  reSplitGoto i
func (p *pattern) runs() {
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
		p.begins(i, &repeated, make([]bool, len(p.code)))
		rest := i + 2
		for rest < len(p.code) && (p.code[rest].op == reSaveStart || p.code[rest].op == reSaveEnd) {
			rest++
		}
		apart := rest < len(p.code) && (p.code[rest].op == reMatch || p.code[rest].op == reLineEnd)
		if !apart && p.begins(rest, &next, make([]bool, len(p.code))) {
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
func (p *pattern) leads(i int) {
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
func (p *pattern) allows(in *instruction) bool {
	registers := uint16(2 * p.captures)
	last := registers + uint16(p.registers) - 1
	switch in.op {
	case reSaveStart, reSaveEnd:
		in.reg = 2*in.reg + uint16(in.op-reSaveStart)
		return in.reg < registers
	case reSaveReset:
		return in.reg <= uint16(in.last) && int(in.last) < p.captures
	case reLoop, reLoopSplitGoto, reLoopSplitGoto + 1, reSet, reSetPosition, reCheckAdvance:
		in.reg += registers
		return in.reg <= last
	case reCheckGoto, reCheckNext: // the position is in the register after the counter
		in.reg += registers
		return in.reg+1 <= last
	case reBackReference, reBackwardRef:
		return !slices.ContainsFunc([]byte(in.groups), func(g byte) bool { return int(g) >= p.captures })
	}
	return true
}

// begins adds what a match of the code from i on may begin with; false when that is not known, or may be nothing.
func (p *pattern) begins(i int, set *charset, seen []bool) bool {
	for ; i < len(p.code) && !seen[i]; i++ {
		seen[i] = true
		switch in := &p.code[i]; in.op {
		case reChar, reChar32:
			set.add(in.n, in.n)
			return true
		case reRange, reRange32:
			for j, bits := range in.set.low {
				set.low[j] |= bits
			}
			return true
		case reSpace:
			for c := range uint32(256) {
				if isSpace(c) {
					set.add(c, c)
				}
			}
			return true
		case reGoto, reLook, reNegative: // what looks ahead only narrows what comes after it
			i = int(in.target) - 1
		case reSplitGoto, reSplitNext:
			if !p.begins(int(in.target), set, seen) {
				return false
			}
		case reSaveStart, reSaveEnd, reSaveReset, reSet, reSetPosition, reWordBoundary, reNotBoundary, reLineStart, reLineStartM:
		default:
			return false
		}
	}
	return i < len(p.code)
}

// isSpace is \s (libunicode.h, lre_is_space).
func isSpace(c uint32) bool {
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

// A search runs a pattern over a text of one or two bytes a character, without surrogate pairs.
type search[unit uint8 | uint16] struct {
	*pattern
	text []unit
	regs []int
	// stack has what is to be tried when a way fails: { instruction, position, bp of the one before << 2 | kind }, and on top
	// of each what registers held before: { register, value }.
	stack []int
	steps int    // that are left; what moves or compares much counts as several
	rest  int    // of them when pause is next called
	pause func() // called now and then
}

// Kinds of what lies on a stack.
const (
	atSplit    = 0
	atLook     = 1
	atNegative = 2
)

const (
	// maxMatchStack bounds a stack.
	maxMatchStack = 1 << 20
	// wordsPerStep is how much of a stack or a text is looked at in the time of a step.
	wordsPerStep  = 8
	stepsPerPause = 1 << 16
)

var errGaveUp = errors.New("too many steps")

// all are the positions of the captures of all matches, one match after another, as a global pattern finds them; -1 is no position.
func (m *search[unit]) all(most int) (found []int32, err error) {
	m.regs = make([]int, 2*m.captures+m.registers)
	narrow := ^unit(0) == 0xff
	for at := 0; at <= len(m.text); {
		if m.first != nil {
			from := at
			for at < len(m.text) && uint32(m.text[at]) < 256 && !m.first[m.text[at]&255] {
				at++
			}
			m.steps -= (at - from) / wordsPerStep
		}
		ok, err := m.match(at)
		if err != nil {
			return nil, err
		}
		if !ok {
			from := at
			for at++; m.lead != nil && narrow && at < len(m.text) && m.lead.has(uint32(m.text[at])); at++ {
			}
			m.steps -= (at - from) / wordsPerStep
			continue
		}
		if m.regs[0] != at || m.regs[1] < at {
			return nil, errGaveUp // the program has damaged the pattern
		}
		for _, r := range m.regs[:2*m.captures] {
			found = append(found, int32(r))
		}
		if len(found) > most {
			return nil, errGaveUp
		}
		end := m.regs[1]
		if end == m.regs[0] {
			end++
		}
		at = end
	}
	return found, nil
}

// match says whether the pattern matches at a place; what it captured is in regs then.
func (m *search[unit]) match(at int) (ok bool, err error) {
	for i := range m.regs {
		m.regs[i] = -1
	}
	m.stack, ok, err = m.run(at, m.stack[:0])
	return ok, err
}

// run is match with a stack, which it returns. Before the first choice nothing is kept: a way that fails then is the last one.
func (m *search[unit]) run(at int, s []int) (stack []int, ok bool, err error) {
	const begin = 3 // after the instructions that try each place
	var (
		pc, bp = begin, 0
		code   = m.code
		regs   = m.regs
		text   = m.text
		narrow = ^unit(0) == 0xff
		c      uint32
	)
	for {
		if m.steps--; m.steps < m.rest {
			if m.steps < 0 || len(s) > maxMatchStack {
				return s, false, errGaveUp
			}
			m.rest = max(0, m.steps-stepsPerPause)
			m.pause()
		}
		in := &code[pc]
		pc++
		good := true
		switch in.op {
		case reMatch:
			return s, true, nil
		case reChar, reChar32:
			if good = at < len(text); good {
				c, at = uint32(text[at]), at+1
				good = c == in.n
			}
		case reRange, reRange32:
			if good = at < len(text); good {
				c, at = uint32(text[at]), at+1
				good = in.set.has(c)
			}
		case reDot:
			if good = at < len(text); good {
				c, at = uint32(text[at]), at+1
				good = !isLineEnd(c)
			}
		case reAny:
			if good = at < len(text); good {
				at++
			}
		case reSpace, reNotSpace:
			if good = at < len(text); good {
				c, at = uint32(text[at]), at+1
				good = isSpace(c) == (in.op == reSpace)
			}
		case rePrev:
			if good = at > 0; good {
				at--
			}
		case reGoto:
			pc = int(in.target)
		case reSplitNext:
			s = append(s, int(in.target), at, bp<<2|atSplit)
			bp = len(s)
		case reSplitGoto:
			if in.set != nil && narrow {
				from := at
				for ; at < len(text) && in.set.has(uint32(text[at])); at++ {
				}
				m.steps -= (at - from) / wordsPerStep
				continue
			}
			s = append(s, pc, at, bp<<2|atSplit)
			bp = len(s)
			pc = int(in.target)
		case reLook:
			s = append(s, int(in.target), at, bp<<2|atLook)
			bp = len(s)
		case reNegative:
			s = append(s, int(in.target), at, bp<<2|atNegative)
			bp = len(s)
		case reSaveStart, reSaveEnd:
			if bp > 0 {
				s = append(s, int(in.reg), regs[in.reg])
			}
			regs[in.reg] = at
		case reSaveReset:
			from, to := 2*int(in.reg), 2*int(in.last)+2
			m.steps -= (to - from) * 2 / wordsPerStep
			for r := from; r < to; r++ {
				if bp > 0 {
					s = append(s, r, regs[r])
				}
				regs[r] = -1
			}
		case reSet:
			if bp > 0 {
				s = m.keep(s, bp, in.reg)
			}
			regs[in.reg] = int(in.n)
		case reSetPosition:
			if bp > 0 {
				s = m.keep(s, bp, in.reg)
			}
			regs[in.reg] = at
		case reCheckAdvance:
			good = regs[in.reg] != at
		case reLoop:
			left := regs[in.reg] - 1
			if bp > 0 {
				s = m.keep(s, bp, in.reg)
			}
			regs[in.reg] = left
			if left != 0 {
				pc = int(in.target)
			}
		case reLoopSplitGoto, reLoopSplitGoto + 1, reCheckGoto, reCheckNext:
			left := regs[in.reg] - 1
			if bp > 0 {
				s = m.keep(s, bp, in.reg)
			}
			regs[in.reg] = left
			switch {
			case left > int(in.n):
				pc = int(in.target)
			case in.op >= reCheckGoto && regs[in.reg+1] == at && left != int(in.n):
				good = false
			case left == 0:
			case in.op == reLoopSplitGoto || in.op == reCheckGoto:
				s = append(s, pc, at, bp<<2|atSplit)
				bp = len(s)
				pc = int(in.target)
			default:
				s = append(s, int(in.target), at, bp<<2|atSplit)
				bp = len(s)
			}
		case reLineStart:
			good = at == 0
		case reLineStartM:
			if at > 0 {
				c = uint32(text[at-1])
				good = isLineEnd(c)
			}
		case reLineEnd:
			good = at == len(text)
		case reLineEndM:
			if at < len(text) {
				c = uint32(text[at])
				good = isLineEnd(c)
			}
		case reWordBoundary, reNotBoundary:
			left, right := false, false
			if at > 0 {
				c = uint32(text[at-1])
				left = isWord(c)
			}
			if at < len(text) {
				c = uint32(text[at])
				right = isWord(c)
			}
			good = (left != right) == (in.op == reWordBoundary)
		case reBackReference, reBackwardRef:
			at, good = m.again(in, at)
		case reLookMatch:
			if bp == 0 {
				return s, false, errGaveUp
			}
			top := len(s)
			for kind, at0 := -1, 0; kind != atLook; { // give up the choices in it, but keep what undoes its captures
				if bp == 0 {
					return s, false, errGaveUp
				}
				at0 = bp
				pc, at, kind = s[at0-3], s[at0-2], s[at0-1]&3
				bp = s[at0-1] >> 2
				s[at0-1] = len(s)
				s = s[:at0-3]
			}
			m.steps -= (top - len(s)) / wordsPerStep
			if len(s) != 0 {
				for from := len(s); from < top; {
					next := s[:cap(s)][from+2]
					for from += 3; from < next; from++ {
						s = append(s, s[:cap(s)][from])
					}
				}
			}
		case reNegativeMatch:
			for kind := -1; kind != atNegative; {
				if bp == 0 {
					return s, false, errGaveUp
				}
				s = m.undo(s, bp)
				kind, bp = s[len(s)-1]&3, s[len(s)-1]>>2
				s = s[:len(s)-3]
			}
			good = false
		}
		if good {
			continue
		}
		for kind := atLook; kind == atLook; {
			if bp == 0 {
				return s, false, nil
			}
			s = m.undo(s, bp)
			pc, at, kind, bp = s[len(s)-3], s[len(s)-2], s[len(s)-1]&3, s[len(s)-1]>>2
			s = s[:len(s)-3]
		}
	}
}

// keep puts on the stack what a register holds, unless it is there since the last choice.
func (m *search[unit]) keep(s []int, bp int, reg uint16) []int {
	i := len(s)
	for i > bp && s[i-2] != int(reg) {
		i -= 2
	}
	m.steps -= (len(s) - i) / wordsPerStep
	if i <= bp {
		s = append(s, int(reg), m.regs[reg])
	}
	return s
}

// undo gives registers back what they held at the last choice.
func (m *search[unit]) undo(s []int, bp int) []int {
	for ; len(s) > bp; s = s[:len(s)-2] {
		m.regs[s[len(s)-2]] = s[len(s)-1]
	}
	return s
}

// again moves past what a group captured, if that comes again; what captured nothing is everywhere.
func (m *search[unit]) again(in *instruction, at int) (int, bool) {
	for _, g := range []byte(in.groups) {
		from, to := m.regs[2*int(g)], m.regs[2*int(g)+1]
		if from < 0 || to < 0 {
			continue
		}
		if from > to {
			return at, true
		}
		m.steps -= (to - from) / wordsPerStep
		start, end := at, at+to-from
		if in.op == reBackwardRef {
			start, end = at-(to-from), at
		}
		if start < 0 || end > len(m.text) || !slices.Equal(m.text[from:to], m.text[start:end]) {
			return at, false
		}
		if in.op == reBackwardRef {
			return start, true
		}
		return end, true
	}
	return at, true
}

// Forms of what opMatches tells. Where it is a list, a capture that there is not is undefined in it.
const (
	formSplit    = 0 // a list of what lies between the matches, and the captures of each between two
	formMatched  = 1 // a list of the matches
	formReplaced = 2 // the text with each match replaced
	formCalls    = 3 // a list: the number of captures, of each match what lies before it and its captures, and what lies behind the last one
	formPlaces   = 4 // where the matches begin: an ArrayBuffer of i32
)

// matches is opMatches.
func (in *interp) matches(a arguments) uint64 {
	form, by := a.int(2), ""
	if form == formReplaced {
		by = a.text(3, maxReplacement+1)
	}
	out, steps, ok := in.tellMatches(a.value(0), a.value(1), form, by)
	in.g.Charge(fuelPerStep * uint64(steps))
	if !ok {
		return in.null()
	}
	switch form {
	case formReplaced:
		return in.box(in.newString(string(out)))
	case formPlaces:
		return in.buffer(len(out), func(b []byte) { copy(b, out) })
	}
	return in.box(in.readObject(out))
}

// readObject makes an object of what the interpreter might have written of it.
func (in *interp) readObject(b []byte) value {
	p, ok := in.alloc(len(b))
	if !ok {
		return value(in.call("JS_ThrowOutOfMemory", uint64(in.b.Ctx)))
	}
	in.put(p, b)
	v := value(in.call("JS_ReadObject", uint64(in.b.Ctx), uint64(p), uint64(len(b)), 0))
	in.release(p)
	return v
}

// maxPlaces bounds the matches whose places are told: the program takes one after the other, and may stop after the first ones.
const maxPlaces = 64 << 10

// fuelPerStep is what a step costs the guest: about what it computes in the same time.
const fuelPerStep = 16

// Bounds of what is searched and told, in characters or bytes: the host holds both, and the positions that were found.
const (
	maxSearched    = 4 << 20
	maxTold        = 8 << 20
	maxReplacement = 1 << 10
)

// tellMatches looks for a pattern v in a text; false: it is the interpreter's work.
func (in *interp) tellMatches(v, text value, form int32, by string) (out []byte, steps int, ok bool) {
	h := heap{in.g.Memory(), in.b}
	code := h.pattern(v)
	p := decode(code)
	if steps = len(code) / wordsPerStep; p == nil || !p.fits(form) || text.tag() != tagString || len(by) > maxReplacement {
		return nil, steps, false
	}
	units, wide, ok := h.chars(uint32(text), maxSearched+1)
	if !ok || len(units) > maxSearched {
		return nil, steps, false
	}
	if !wide {
		out, searched, ok := tell(p, units, form, by, in.look)
		return out, steps + searched, ok
	}
	chars := make([]uint16, len(units)/2)
	for i := range chars {
		chars[i] = binary.LittleEndian.Uint16(units[2*i:])
	}
	out, searched, ok := tell(p, chars, form, by, in.look)
	return out, steps + searched, ok
}

// fits says whether results of a pattern can be told in a form: without names of groups and indices.
func (p *pattern) fits(form int32) bool {
	const named = patternNamed | patternIndices
	return form == formSplit || p.flags&patternGlobal != 0 && (form == formMatched || form == formPlaces || p.flags&named == 0)
}

// tell is what was found, and how many steps that took.
func tell[unit uint8 | uint16](p *pattern, text []unit, form int32, by string, pause func()) (out []byte, steps int, ok bool) {
	for _, c := range text {
		if uint32(c)>>11 == 0xd800>>11 { // half of a surrogate pair, which may have to be parted
			return nil, len(text) / wordsPerStep, false
		}
	}
	const leastSteps, stepsPerUnit = 2 << 20, 64
	most := leastSteps + stepsPerUnit*len(text)
	m := search[unit]{pattern: p, text: text, steps: most, rest: most - stepsPerPause, pause: pause}
	mostFound := maxTold / 8
	if form == formPlaces {
		mostFound = maxPlaces * 2 * p.captures
	}
	found, err := m.all(mostFound)
	steps = most - m.steps + len(text)/wordsPerStep // which is looked through first, and copied
	if err != nil {
		return nil, steps, false
	}
	t := teller[unit]{text: text, width: 2 * p.captures}
	t.bytes, _ = any(text).([]byte)
	switch form {
	case formReplaced:
		t.replaced(found, by)
	case formPlaces:
		for match := range slices.Chunk(found, t.width) {
			t.out = binary.LittleEndian.AppendUint32(t.out, uint32(match[0]))
		}
	default:
		t.list(found, form)
	}
	return t.out, steps + len(t.out)/wordsPerStep, len(t.out) <= maxTold
}

// A teller writes what was found in a text.
type teller[unit uint8 | uint16] struct {
	text  []unit
	bytes []byte // the same, where characters are bytes
	width int    // positions for each match
	out   []byte
	items uint32 // of the list
}

// How the interpreter writes a list (quickjs.c, JS_WriteObject): a version, a checksum or that there is none, the number of names,
// and then the list and its items, each with a tag. Numbers are LEB128.
const (
	writtenHead      = "\x1d\xff\xff\xff\xff\x00"
	writtenUndefined = 2
	writtenInt       = 5
	writtenString    = 7 // number of characters << 1 | whether they have two bytes, characters
	writtenArray     = 9 // number of items, items
)

// item adds one to the list.
func (t *teller[unit]) item(from, to int32) {
	t.items++
	if from < 0 || to < 0 {
		t.out = append(t.out, writtenUndefined)
		return
	}
	to = max(from, to)
	piece, wide := t.text[from:to], uint64(0)
	if t.bytes == nil && slices.ContainsFunc(piece, func(c unit) bool { return c > 0xff }) {
		wide = 1
	}
	t.out = binary.AppendUvarint(append(t.out, writtenString), uint64(len(piece))<<1|wide)
	if t.bytes != nil {
		t.out = append(t.out, t.bytes[from:to]...)
		return
	}
	for _, c := range piece {
		if t.out = append(t.out, byte(c)); wide != 0 {
			t.out = append(t.out, byte(uint16(c)>>8))
		}
	}
}

func (t *teller[unit]) list(found []int32, form int32) {
	t.out = make([]byte, 0, min(maxTold, len(t.text)+2*len(found))) // about what it takes
	if form == formCalls {
		t.items++
		t.out = binary.AppendVarint(append(t.out, writtenInt), int64(t.width/2))
	}
	end, size := int32(0), int32(len(t.text)) // of the match before
	for match := range slices.Chunk(found, t.width) {
		if len(t.out) > maxTold {
			return
		}
		if form == formSplit && (match[0] == size || match[1] == end) { // it is empty, and parts nothing
			continue
		}
		if form == formSplit || form == formCalls {
			t.item(end, match[0])
		}
		end = match[1]
		switch form {
		case formSplit:
			match = match[2:]
		case formMatched:
			match = match[:2]
		}
		for i := 0; i < len(match); i += 2 {
			t.item(match[i], match[i+1])
		}
	}
	if form == formSplit || form == formCalls {
		t.item(end, size)
	}
	head := binary.AppendUvarint(append([]byte(writtenHead), writtenArray), uint64(t.items))
	t.out = slices.Insert(t.out, 0, head...)
}

func (t *teller[unit]) add(from, to int32) {
	if from < 0 || to < from || len(t.out) > maxTold {
		return
	}
	for _, c := range t.text[from:to] {
		if c < utf8.RuneSelf {
			t.out = append(t.out, byte(c))
		} else {
			t.out = utf8.AppendRune(t.out, rune(c))
		}
	}
}

// replaced writes the text with by for each match, in which $ may stand for parts of it (ECMA-262, GetSubstitution).
func (t *teller[unit]) replaced(found []int32, by string) {
	end, size := int32(0), int32(len(t.text))
	for match := range slices.Chunk(found, t.width) {
		t.add(end, match[0])
		end = match[1]
		for rest := by; len(t.out) <= maxTold; {
			plain, after, ok := strings.Cut(rest, "$")
			t.out = append(t.out, plain...)
			if !ok {
				break
			}
			taken := 1
			switch group, digits := t.groupNumber(after); {
			case after == "":
				t.out, taken = append(t.out, '$'), 0
			case after[0] == '$':
				t.out = append(t.out, '$')
			case after[0] == '&':
				t.add(match[0], match[1])
			case after[0] == '`':
				t.add(0, match[0])
			case after[0] == '\'':
				t.add(match[1], size)
			case digits > 0:
				t.add(match[2*group], match[2*group+1])
				taken = digits
			default:
				t.out, taken = append(t.out, '$'), 0
			}
			rest = after[taken:]
		}
	}
	t.add(end, size)
}

// groupNumber is the group that a text begins with the number of, and how many digits say so: two, if there is such a group.
func (t *teller[unit]) groupNumber(s string) (group, digits int) {
	for _, n := range []int{2, 1} {
		if len(s) < n {
			continue
		}
		if g, err := strconv.ParseUint(s[:n], 10, 8); err == nil && g > 0 && int(g) < t.width/2 {
			return int(g), n
		}
	}
	return 0, 0
}

// pattern is the code of v, a RegExp; nil when it is none.
//
//	JSRegExp  JSString *source  JSString *code, whose characters are elsewhere: at the address in their place
func (h heap) pattern(v value) []byte {
	o, ok := objectAt(v)
	if !ok || h.class(o) != classRegExp {
		return nil
	}
	const codeAt, maxCode = 28, 64 << 10
	code := h.u32(uint32(o) + codeAt)
	b, _ := h.mem.Read(h.u32(code+charsAt), min(h.u32(code)&^(1<<31), maxCode))
	return b
}

// probeRegExp checks that patterns are compiled to what is known here: all instructions, on texts of each kind, find what they should.
func (in *interp) probeRegExp() error {
	for _, probe := range []struct{ source, want string }{
		{`[/(a)|b(?=c)|(?!b)[c-e\u0100-\u0200]+?\1$|\w{2}/g, "xabcde"]`, `[2,"","xa",null,"","b",null,"","cde",null,""]`},
		{`[/(?<=(\d))(?:\s|[^\S])+(x*)*\b|^.\B/gm, "1  x\n2xx é\u0100"]`, `[3,"1","  x","1","x","\n","2",null,null,"xx éĀ"]`},
		{`[/[\u{10000}-\u{10ffff}]|(?:ab?){2,3}?|\D\W$/gu, "aab\u0101!"]`, `[1,"","aab","","ā!",""]`},
	} {
		v, err := in.evalTrusted(probe.source, "cloche:probe")
		if err != nil {
			return err
		}
		list, _ := objectAt(v)
		h := heap{in.g.Memory(), in.b}
		items, _ := h.array(list)
		told, _, ok := in.tellMatches(value(h.u64(items)), value(h.u64(items+8)), formCalls, "")
		in.free(v)
		if !ok {
			return fmt.Errorf("patterns are not compiled as they should be: %s", probe.source)
		}
		v = in.readObject(told)
		got, _ := in.plainJSON(nil, v)
		in.free(v)
		if string(got) != probe.want {
			return fmt.Errorf("patterns are not compiled as they should be, or lists are not written so: %s gives %s, not %s", probe.source, got, probe.want)
		}
	}
	return nil
}
