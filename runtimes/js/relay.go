package js

import (
	"strings"
	"unicode/utf8"
)

// segment says where a piece of generated code came from. Lines and columns count from 0, columns in UTF-16 units.
type segment struct{ column, line, origColumn int }

// decodeMappings reads the mappings of a source map with one source: the segments of each line of the output.
func decodeMappings(mappings string) [][]segment {
	var lines [][]segment
	line, origColumn := 0, 0 // these run on over all segments
	for _, text := range strings.Split(mappings, ";") {
		var segments []segment
		column := 0
		for _, s := range strings.Split(text, ",") {
			fields := decodeVLQ(s)
			if len(fields) < 4 { // column, source, line, column
				continue
			}
			column += fields[0]
			line += fields[2]
			origColumn += fields[3]
			segments = append(segments, segment{column, line, origColumn})
		}
		lines = append(lines, segments)
	}
	return lines
}

// relay moves the lines of code to where they came from, and what is on them to its columns. It adds line breaks before a
// line that came from further down, and joins a line to the one before it when it did not: esbuild ends each
// statement with a semicolon, so that lines may be joined unless a comment ends the first of them or they are lines
// of one template. Blanks between tokens are added or taken away, so that tokens that have a segment stand in its column. last is
// the last line of the source.
func relay(code string, segments [][]segment, last int) string {
	r := relayer{code: code, targets: map[int]segment{}}
	r.scan()
	at := 0 // where the line begins in code
	comment := false
	for i, line := range strings.Split(code, "\n") {
		origin := -1
		if i < len(segments) {
			origin = r.place(line, at, segments[i], last)
		}
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		switch {
		case i > 0 && (r.breaks[at-1] || comment && origin <= r.line):
			r.newLine()
			if r.breaks[at-1] {
				indent = 0 // the blanks are the template's
				r.write(line[:len(line)-len(text)])
			}
		case origin > r.line:
			for r.line < origin {
				r.newLine()
			}
		case i > 0:
			indent = 1
			if text == ");" || text == ")" {
				indent = 0
			}
		}
		r.tokens(at+len(line)-len(text), at+len(line), indent)
		comment = strings.Contains(line, "//")
		at += len(line) + 1
	}
	return r.out.String()
}

type relayer struct {
	code    string
	starts  []int           // where tokens begin
	ends    []int           // where they end
	breaks  map[int]bool    // line breaks inside templates
	targets map[int]segment // by place in code
	next    int             // the next token to write
	before  segment         // the last one of the lines that were placed

	out          strings.Builder
	line, column int // where out ends
}

func (r *relayer) scan() {
	r.breaks = map[int]bool{}
	s := scanner{src: r.code, out: []byte(r.code)}
	for {
		t := s.next()
		if t.kind == tokEOF {
			return
		}
		r.starts, r.ends = append(r.starts, t.from), append(r.ends, t.to)
		if t.kind != tokValue && t.kind != tokTemplate {
			continue
		}
		for i := t.from; i < t.to; i++ {
			if r.code[i] == '\n' {
				r.breaks[i] = true
			}
		}
	}
}

// place notes the segments of a line, which begins at in code, and returns the original line of the first one
// that is not before the line's text, or -1.
func (r *relayer) place(line string, at int, segments []segment, last int) int {
	origin := -1
	indent := len(line) - len(strings.TrimLeft(line, " "))
	offset, column := 0, 0 // the same place, in bytes and in units
	before := r.before
	if len(segments) > 0 {
		r.before = segments[len(segments)-1]
	}
	for i, s := range segments {
		if i == 0 && len(segments) > 1 && s.line == before.line && s.origColumn == before.origColumn {
			continue // esbuild carries the last place on to a line whose beginning has none
		}
		for column < s.column && offset < len(line) {
			c, n := utf8.DecodeRuneInString(line[offset:])
			offset, column = offset+n, column+unitsOf(c)
		}
		s.line = min(s.line, last)
		if origin < 0 && s.column >= indent {
			origin = s.line
		}
		r.targets[at+offset] = s
	}
	return origin
}

// tokens writes the code from one place to another, with so many blanks before it at least.
func (r *relayer) tokens(from, to, gap int) {
	for r.next < len(r.starts) && r.starts[r.next] < to {
		i := r.next
		start, end := r.starts[i], min(r.ends[i], to)
		if start < from { // a token that began on a line before
			start = from
		}
		between := r.code[from:start]
		blank := strings.Trim(between, " ") == ""
		if !blank {
			r.write(strings.Repeat(" ", gap) + between)
			gap = 0
		} else {
			gap += len(between)
		}
		target, ok := r.targets[start]
		if ok = ok && target.line == r.line; ok && gap > 0 && r.column+gap > target.origColumn && blank && r.mayJoin(start) {
			gap = max(0, target.origColumn-r.column)
		}
		if ok && start == r.starts[i] {
			gap = max(gap, target.origColumn-r.column)
		}
		r.write(strings.Repeat(" ", gap))
		r.write(r.code[start:end])
		from, gap = end, 0
		if r.ends[i] > to { // it goes on on the next line
			return
		}
		r.next++
	}
	r.write(r.code[from:to])
}

// mayJoin says whether the blanks before the token at a place mean nothing.
func (r *relayer) mayJoin(start int) bool {
	if r.column == 0 {
		return true
	}
	const apart = "(){}[],;"
	if r.code[start] == '/' { // of a comment
		return false
	}
	before := strings.TrimRight(r.code[:start], " \n")
	return strings.IndexByte(apart, r.code[start]) >= 0 ||
		before != "" && strings.IndexByte(apart, before[len(before)-1]) >= 0
}

func (r *relayer) newLine() {
	r.out.WriteByte('\n')
	r.line, r.column = r.line+1, 0
}

// write adds text without line breaks.
func (r *relayer) write(text string) {
	r.out.WriteString(text)
	r.column += units(text)
}

// units is the length of text in UTF-16.
func units(text string) int {
	n := 0
	for _, c := range text {
		n += unitsOf(c)
	}
	return n
}

func unitsOf(c rune) int {
	if c > 0xffff {
		return 2
	}
	return 1
}
