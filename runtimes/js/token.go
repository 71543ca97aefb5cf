package js

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The scanner reads JavaScript and TypeScript token by token, for what has to be known of a source before the interpreter
// has it. Whether a slash divides or begins a regular expression is a guess from what is before it; where that can be wrong,
// a careful scanner says that it is unsure.

type tokenKind byte

const (
	tokEOF      tokenKind = iota
	tokWord               // identifier or keyword
	tokPunct              // one punctuator; brackets alone
	tokString             // its text is what it denotes
	tokValue              // number, regular expression or template without substitution
	tokTemplate           // a template up to its first ${
)

type token struct {
	kind     tokenKind
	text     string
	from, to int
	newline  bool // a line break comes before it
	afterDot bool // it is a property's name
}

// bracket is an open bracket. value says that what it closes ends an expression, so that a slash after it divides.
type bracket struct {
	open  byte // ( [ { or ` for ${
	value bool
	call  bool // it has the arguments of a call, and no parameters
}

type scanner struct {
	src      string
	out      []byte
	at       int
	brackets []bracket
	closed   bracket // the last one that was closed
	prev     token
	value    bool // prev ends an expression

	careful bool // what a parser must not be given may not hide in what is taken for a string, an expression or a comment
	unsure  bool // of a careful scanner: something that was read may be something else

	pause   func() // called now and then, unless nil; it may unwind
	counted int    // tokens
	line    int    // line breaks before lineAt
	lineAt  int
}

// pauseEvery is how many tokens, or bytes of one, are read between pauses: about a millisecond's.
const pauseEvery = 1 << 15

// lineOf is the line, from 1, of a place that is not before the last one that was asked for.
func (s *scanner) lineOf(at int) int {
	s.line += strings.Count(s.src[s.lineAt:at], "\n")
	s.lineAt = at
	return s.line + 1
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// wordsBeforeExpression may be followed by a regular expression.
var wordsBeforeExpression = wordSet("return typeof instanceof in of new delete void throw case do else yield await default extends export import")

// next reads a token and keeps track of brackets.
func (s *scanner) next() token {
	newline := s.skipSpace()
	t := token{from: s.at, newline: newline, afterDot: s.prev.kind == tokPunct && (s.prev.text == "." || s.prev.text == "?.")}
	if s.at >= len(s.src) {
		t.to = s.at
		return t
	}
	c := s.src[s.at]
	value := true
	switch {
	case c == '"' || c == '\'':
		var closed bool
		if t.text, closed = s.str(c); closed {
			t.kind = tokString
		} else {
			t.kind = tokValue // the interpreter will refuse it
		}
	case c == '`':
		s.at++
		t.kind, value = s.template()
	case c >= '0' && c <= '9' || c == '.' && s.peekDigit():
		t.kind = tokValue
		s.number()
	case isWordStart(c):
		t.kind = tokWord
		s.word()
		t.text = s.src[t.from:s.at]
		value = t.afterDot || !wordsBeforeExpression[t.text]
	case c == '/' && s.regexpFollows(newline):
		t.kind = tokValue
		s.regexp()
	default:
		t.kind = tokPunct
		t.text, value = s.punct(c)
		if c == '}' && t.text == "`" { // back in a template
			t.kind, value = s.template()
		}
	}
	t.to = s.at
	s.prev, s.value = t, value
	if s.counted += 1 + (t.to-t.from)/32; s.counted >= pauseEvery && s.pause != nil {
		s.counted = 0
		s.pause()
	}
	return t
}

// regexpFollows says whether a slash here begins a regular expression.
func (s *scanner) regexpFollows(newline bool) bool {
	if !s.careful || !s.eitherWay(newline) {
		return !s.value
	}
	line := s.src[s.at+1:]
	if n := strings.IndexAny(line, lineBreaks); n >= 0 {
		line = line[:n]
	}
	// A regular expression would have to end on this line.
	s.unsure = s.unsure || strings.Contains(line, "/")
	return false
}

// eitherWay says whether what is before this place may end an expression as well as not: where a statement can end
// without a semicolon, after brackets of several meanings, and after words that are names in some places.
func (s *scanner) eitherWay(newline bool) bool {
	p := s.prev
	switch p.kind {
	case tokPunct:
		switch p.text {
		case "}", ">", "++", "--":
			return true
		case ")":
			return newline || !s.value
		case "!":
			return p.newline
		}
	case tokWord:
		if !p.afterDot && maybeNames[p.text] {
			return true
		}
	}
	return newline && s.value
}

var maybeNames = wordSet("of await yield break continue debugger async as satisfies")

const lineBreaks = "\n\r\u2028\u2029"

// skipSpace skips blanks and comments; true when there was a line break.
func (s *scanner) skipSpace() (newline bool) {
	for s.at < len(s.src) {
		rest := s.src[s.at:]
		switch c := rest[0]; {
		case c == '\n' || c == '\r':
			newline = true
			s.at++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			s.at++
		case strings.HasPrefix(rest, "//") || s.at == 0 && strings.HasPrefix(rest, "#!"):
			n := strings.IndexAny(rest, lineBreaks)
			if n < 0 {
				n = len(rest)
			}
			s.at += n
		case s.careful && (strings.HasPrefix(rest, "<!--") || newline && strings.HasPrefix(rest, "-->")):
			s.unsure = true // a comment as in HTML, or not
			return newline
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				n = len(rest) - 4
			}
			newline = newline || strings.ContainsAny(rest[:n+4], lineBreaks)
			s.at += n + 4
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && r != '\uFEFF' {
				return newline
			}
			newline = newline || r == '\u2028' || r == '\u2029'
			s.at += n
		default:
			return newline
		}
	}
	return newline
}

func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '#' || c == '\\' || c >= utf8.RuneSelf
}

func (s *scanner) word() {
	for s.at++; s.at < len(s.src); s.at++ {
		c := s.src[s.at]
		if !isWordStart(c) && (c < '0' || c > '9') {
			return
		}
		if c >= utf8.RuneSelf {
			r, _ := utf8.DecodeRuneInString(s.src[s.at:])
			if unicode.IsSpace(r) || r == '\uFEFF' {
				return
			}
		}
	}
}

func (s *scanner) peekDigit() bool {
	return s.at+1 < len(s.src) && s.src[s.at+1] >= '0' && s.src[s.at+1] <= '9'
}

func (s *scanner) number() {
	begin := s.at
	hex := len(s.src) > begin+1 && s.src[begin] == '0' && s.src[begin+1]|0x20 == 'x'
	for s.at < len(s.src) {
		c := s.src[s.at]
		signed := (c == '+' || c == '-') && s.at > begin && s.src[s.at-1]|0x20 == 'e' && !hex
		if !signed && c != '.' && !isWordStart(c) && (c < '0' || c > '9') {
			return
		}
		s.at++
	}
}

// str reads a string and returns what it denotes; an unclosed one ends with its line.
func (s *scanner) str(quote byte) (text string, closed bool) {
	var b strings.Builder
	for s.at++; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == quote:
			s.at++
			return b.String(), true
		case c == '\n':
			return b.String(), false
		case c == '\\' && s.at+1 < len(s.src):
			s.at++
			switch e := s.src[s.at]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '\r':
				if strings.HasPrefix(s.src[s.at:], "\r\n") {
					s.at++
				}
			default:
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), false
}

// template reads on in a template, to its end or to the next substitution.
func (s *scanner) template() (kind tokenKind, value bool) {
	for ; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '\\':
			s.at++
		case c == '`':
			s.at++
			return tokValue, true
		case c == '$' && strings.HasPrefix(s.src[s.at:], "${"):
			s.at += 2
			s.brackets = append(s.brackets, bracket{open: '`', value: true})
			return tokTemplate, false
		}
	}
	s.at = len(s.src)
	return tokValue, true
}

func (s *scanner) regexp() {
	class := false
	for s.at++; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '\n':
			return
		case c == '\\':
			s.at++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for s.at++; s.at < len(s.src) && isWordStart(s.src[s.at]); s.at++ {
			}
			return
		}
	}
	s.at = len(s.src)
}

// punct reads a punctuator. A closing brace that ends a substitution gives "`".
func (s *scanner) punct(c byte) (text string, value bool) {
	s.at++
	switch c {
	case '(':
		head := s.prev.kind == tokWord && !s.prev.afterDot &&
			(s.prev.text == "if" || s.prev.text == "while" || s.prev.text == "for" || s.prev.text == "with" || s.careful && s.prev.text == "await")
		s.brackets = append(s.brackets, bracket{c, !head, s.value && s.prev.text != "async"})
		return "(", false
	case '[':
		s.brackets = append(s.brackets, bracket{open: c, value: true})
		return "[", false
	case '{':
		s.brackets = append(s.brackets, bracket{open: c, value: s.objectFollows()})
		return "{", false
	case ')', ']', '}':
		if len(s.brackets) == 0 {
			return string(c), true
		}
		b := s.brackets[len(s.brackets)-1]
		s.brackets, s.closed = s.brackets[:len(s.brackets)-1], b
		if c == '}' && b.open == '`' {
			return "`", false
		}
		return string(c), b.value
	}
	rest := s.src[s.at-1:]
	if c == '!' && s.value && s.careful && !strings.HasPrefix(rest, "!=") {
		return "!", true // TypeScript's, which says that a value is there; at the beginning of a line it is not, and its value is none
	}
	for _, p := range [...]string{"=>", "?.", "++", "--"} {
		if strings.HasPrefix(rest, p) {
			s.at++
			return p, (p == "++" || p == "--") && s.value
		}
	}
	return string(c), false
}

// objectFollows says whether a brace here begins an object literal, and not a block or a body.
func (s *scanner) objectFollows() bool {
	switch p := s.prev; p.kind {
	case tokPunct:
		switch p.text {
		case ")", ";", "{", "}", "=>":
			return false
		case ":": // of a label or case, or of a property or condition
			return len(s.brackets) > 0 && (s.brackets[len(s.brackets)-1].open != '{' || s.brackets[len(s.brackets)-1].value)
		}
		return true
	case tokWord:
		return !p.afterDot && wordsBeforeExpression[p.text] && p.text != "do" && p.text != "else" && p.text != "default"
	case tokTemplate:
		return true
	}
	return false
}
