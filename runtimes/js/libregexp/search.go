package libregexp

import (
	"errors"
	"slices"
)

// A search runs a pattern over a text of one or two bytes a character, without surrogate pairs.
type search[unit uint8 | uint16] struct {
	*Pattern
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
	// WordsPerStep is how much of a stack or a text is looked at in the time of a step.
	WordsPerStep  = 8
	stepsPerPause = 1 << 16
	// leastSteps and stepsPerUnit are how many steps are taken before a pattern is given up.
	leastSteps, stepsPerUnit = 2 << 20, 64
)

// ErrGaveUp is returned by [All].
var ErrGaveUp = errors.New("too many steps or matches")

// All is where a pattern matches a text, whose characters have one or two bytes and which has no surrogate pairs: the first width
// of the positions of the captures of each match, at most two for each capture, one match after another, as a global pattern finds
// them, and -1 for a capture that there is not. steps says how long that took. pause is called now and then. With more than most
// positions it fails, as for a pattern that takes some 64 steps for each character, or that its owner has damaged.
func All[unit uint8 | uint16](p *Pattern, text []unit, width, most int, pause func()) (found []int32, steps int, err error) {
	all := leastSteps + stepsPerUnit*len(text)
	m := search[unit]{Pattern: p, text: text, steps: all, rest: all - stepsPerPause, pause: pause}
	found, err = m.all(width, most)
	return found, all - m.steps, err
}

// all is [All].
func (m *search[unit]) all(width, most int) (found []int32, err error) {
	m.regs = make([]int, 2*m.Captures+m.registers)
	narrow := ^unit(0) == 0xff
	for at := 0; at <= len(m.text); {
		if m.first != nil {
			from := at
			for at < len(m.text) && uint32(m.text[at]) < 256 && !m.first[m.text[at]&255] {
				at++
			}
			m.steps -= (at - from) / WordsPerStep
		}
		ok, err := m.match(at)
		if err != nil {
			return nil, err
		}
		if !ok {
			from := at
			for at++; m.lead != nil && narrow && at < len(m.text) && m.lead.has(uint32(m.text[at])); at++ {
			}
			m.steps -= (at - from) / WordsPerStep
			continue
		}
		if m.regs[0] != at || m.regs[1] < at {
			return nil, ErrGaveUp // the program has damaged the pattern
		}
		for _, r := range m.regs[:width] {
			found = append(found, int32(r))
		}
		if len(found) > most {
			return nil, ErrGaveUp
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
	m.steps -= len(m.regs) / WordsPerStep
	for i := range m.regs {
		m.regs[i] = -1
	}
	m.stack, ok, err = m.run(at, m.stack[:0])
	return ok, err
}

// run is match with a stack, which it returns. Before the first choice nothing is kept: a way that fails then is the last one.
func (m *search[unit]) run(at int, s []int) (stack []int, ok bool, err error) {
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
				return s, false, ErrGaveUp
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
				good = IsSpace(c) == (in.op == reSpace)
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
				m.steps -= (at - from) / WordsPerStep
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
			m.steps -= (to - from) * 2 / WordsPerStep
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
				return s, false, ErrGaveUp
			}
			top := len(s)
			for kind, at0 := -1, 0; kind != atLook; { // give up the choices in it, but keep what undoes its captures
				if bp == 0 {
					return s, false, ErrGaveUp
				}
				at0 = bp
				pc, at, kind = s[at0-3], s[at0-2], s[at0-1]&3
				bp = s[at0-1] >> 2
				s[at0-1] = len(s)
				s = s[:at0-3]
			}
			m.steps -= (top - len(s)) / WordsPerStep
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
					return s, false, ErrGaveUp
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
	m.steps -= (len(s) - i) / WordsPerStep
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
	m.steps -= len(in.groups) / WordsPerStep
	for _, g := range []byte(in.groups) {
		from, to := m.regs[2*int(g)], m.regs[2*int(g)+1]
		if from < 0 || to < 0 {
			continue
		}
		if from > to {
			return at, true
		}
		m.steps -= (to - from) / WordsPerStep
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
