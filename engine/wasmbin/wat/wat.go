// Package wat reads and prints modules in the WebAssembly text format, for tests and for looking at what a
// pass has done.
//
// [Print] writes any module. [Parse] reads a large enough part of the format to write tests in it: all
// sections, names, inline exports, every instruction except those with 128-bit immediates, and folded plain
// instructions such as (i32.add (local.get 0) (i32.const 1)). Blocks are written flat, closed by end. It is
// not for untrusted input.
package wat

import (
	"fmt"
	"strings"
)

// node is a list, or an atom: a word or a string.
type node struct {
	atom   string
	str    bool
	list   []node
	isList bool
	line   int
}

// head is a list's first word, "" for anything else.
func (n node) head() string {
	if len(n.list) > 0 {
		return n.list[0].atom
	}
	return ""
}

// syntaxError is how the parser leaves on bad input; Parse recovers it.
type syntaxError struct{ error }

func failf(line int, format string, args ...any) {
	panic(syntaxError{fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))})
}

// scanner splits text into nodes.
type scanner struct {
	src  string
	pos  int
	line int
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\n':
			s.line++
			s.pos++
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case strings.HasPrefix(s.src[s.pos:], ";;"):
			end := strings.IndexByte(s.src[s.pos:], '\n')
			if end < 0 {
				end = len(s.src) - s.pos
			}
			s.pos += end
		default:
			return
		}
	}
}

// nodes reads up to the closing parenthesis, or to the end of the text at the top.
func (s *scanner) nodes(top bool) []node {
	var nodes []node
	for {
		s.space()
		if s.pos >= len(s.src) {
			if !top {
				failf(s.line, "missing )")
			}
			return nodes
		}
		switch line := s.line; s.src[s.pos] {
		case '(':
			s.pos++
			nodes = append(nodes, node{isList: true, list: s.nodes(false), line: line})
		case ')':
			if top {
				failf(line, "unexpected )")
			}
			s.pos++
			return nodes
		case '"':
			nodes = append(nodes, node{atom: s.string(), str: true, line: line})
		default:
			start := s.pos
			for s.pos < len(s.src) && !strings.ContainsRune(" \t\r\n()\";", rune(s.src[s.pos])) {
				s.pos++
			}
			if s.pos == start {
				failf(line, "unexpected %q", s.src[s.pos])
			}
			nodes = append(nodes, node{atom: s.src[start:s.pos], line: line})
		}
	}
}

// string reads a quoted string with the escapes \n \t \" \\ and \hh.
func (s *scanner) string() string {
	var b strings.Builder
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; c {
		case '"':
			s.pos++
			return b.String()
		case '\\':
			rest := s.src[s.pos+1:]
			if i := strings.IndexAny(rest, `nt"\`); i == 0 {
				b.WriteByte(map[byte]byte{'n': '\n', 't': '\t', '"': '"', '\\': '\\'}[rest[0]])
				s.pos++
				continue
			}
			var v byte
			if _, err := fmt.Sscanf(rest, "%2x", &v); err != nil {
				failf(s.line, "bad escape in string")
			}
			b.WriteByte(v)
			s.pos += 2
		default:
			b.WriteByte(c)
		}
	}
	failf(s.line, "string without end")
	return ""
}
