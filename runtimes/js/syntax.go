package js

import (
	"strings"
	"unicode/utf8"
)

// placeOfSyntax finds in the running script what the interpreter refused without saying where, and says it in Node's words: it
// learns late that a private name is not declared, and of a regular expression it only says what is wrong with it.
func (in *interp) placeOfSyntax(s *turn, message string) (at frame, better string) {
	private, isPrivate := strings.CutPrefix(message, "undefined private field '")
	private = strings.TrimSuffix(private, "'")
	undeclared := "Private field '" + private + "' must be declared in an enclosing class"
	sc := scanner{src: s.Source, pause: in.look}
	for before := (token{}); ; {
		t := sc.next()
		switch {
		case t.kind == tokEOF:
			return frame{}, message
		case isPrivate:
			if t.text == "in" && before.text == private {
				return s.placeOf(before.from), undeclared
			}
			if t.text == private && t.afterDot {
				return s.placeOf(t.from), undeclared
			}
		case t.kind == tokValue && s.Source[t.from] == '/':
			v := in.eval(s.Source[t.from:t.to], s.name(), evalCompileOnly)
			if v.exception() {
				in.free(in.takeException())
				return s.placeOf(t.from), "Invalid regular expression: " + s.Source[t.from:t.to] + ": " + message
			}
			in.free(v)
		}
		before = t
	}
}

// placeOf is the place of a byte of the running script.
func (s *turn) placeOf(at int) frame {
	line := s.Source[strings.LastIndexByte(s.Source[:at], '\n')+1 : at]
	return frame{File: s.name(), Line: 1 + strings.Count(s.Source[:at], "\n"), Col: 1 + utf8.RuneCountInString(line)}
}
