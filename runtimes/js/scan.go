package js

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A main script that imports or exports is not run as an ES module but as a strict script with top-level await, so
// that its names are there for the next turn and its last expression has a value. scanModule finds its import and
// export statements, which can only stand at the top level, and takes them out, line by line and column by
// column, so that errors keep their place:
//
//	import d, { x as y } from "./m.js"     ;                    and {Spec: "./m.js", Names: [default d, x y]}
//	export const a = 1                     ;      const a = 1
//	export default f()                     void 0,        f()   (an expression)
//	export { a }; export * from "./m.js"   ;                    (the second also imports "./m.js")
//	import.meta                            _importMeta
//
// What is imported is bound by the guest's link before the script runs. It is a scanner, not a parser: it knows
// strings, templates, comments, regular expressions and brackets. What it misjudges, the interpreter refuses.

// importDecl is one import statement.
type importDecl struct {
	Spec  string       `json:"spec"`
	Names []importName `json:"names,omitempty"`
	line  int
}

// importName binds an export; Imported "*" is the namespace.
type importName struct {
	Imported string `json:"imported"`
	Local    string `json:"local"`
}

// moduleScan is a module made into a script.
type moduleScan struct {
	isModule bool
	source   string
	imports  []importDecl
}

// mayBeModule is false for most scripts, at little cost.
func mayBeModule(src string) bool {
	return strings.Contains(src, "import") || strings.Contains(src, "export")
}

func scanModule(src string, pause func()) moduleScan {
	s := scanner{src: src, out: []byte(src), pause: pause}
	var m moduleScan
	for {
		before := s.prev
		t := s.next()
		switch {
		case t.kind == tokEOF:
			m.source = string(s.out)
			return m
		case t.kind != tokWord || t.afterDot:
		case t.text == "import":
			first := t.newline || before.kind == tokEOF || before.text == ";" || before.text == "}"
			if s.importMeta(t) {
				m.isModule = true
			} else if !first {
			} else if d, ok := s.importStatement(t); ok {
				m.isModule = true
				m.imports = append(m.imports, d)
			}
		case t.text == "export" && len(s.brackets) == 0:
			if d, imports, ok := s.exportStatement(t); ok {
				m.isModule = true
				if imports {
					m.imports = append(m.imports, d)
				}
			}
		}
	}
}

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
}

type scanner struct {
	src      string
	out      []byte
	at       int
	brackets []bracket
	prev     token
	value    bool // prev ends an expression

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

// wordsBeforeExpression may be followed by a regular expression.
var wordsBeforeExpression = map[string]bool{
	"return": true, "typeof": true, "instanceof": true, "in": true, "of": true, "new": true, "delete": true,
	"void": true, "throw": true, "case": true, "do": true, "else": true, "yield": true, "await": true, "default": true,
	"extends": true, "export": true, "import": true,
}

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
	case c == '/' && !s.value:
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
			n := strings.IndexAny(rest, "\n\r")
			if n < 0 {
				n = len(rest)
			}
			s.at += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				n = len(rest) - 4
			}
			newline = newline || strings.ContainsAny(rest[:n+4], "\n\r")
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

// nesting tokens begin something that a parser recurses into, without a bracket: functions, operators before
// their operand or grouping to the right, statements in statements, and the types of TypeScript.
var nestingWords = map[string]bool{
	"if": true, "for": true, "while": true, "do": true, "with": true, "new": true, "typeof": true, "void": true, "delete": true,
	"await": true, "yield": true, "keyof": true, "infer": true, "readonly": true, "unique": true, "extends": true, "function": true,
	"class": true, "async": true, "throw": true, "return": true,
}

// tooDeep says on which line src nests deeper than most, 0 when it does not, and whether a chain is too long there. It counts
// open brackets and, in each of them, the tokens since the last separator that may nest without one. It may count too many, never too few. What nests to its left, a
// chain such as a.b().c[0], what programs may well have many of, else if, and strings that are added, which esbuild joins one by
// one, are bounded by maxLinks instead.
func tooDeep(src string, most int) (line int, long bool) {
	s := scanner{src: src}
	open := []nesting{{}} // in each open bracket, and outside of all
	total := 0
	reset := func() {
		last := &open[len(open)-1]
		total -= last.tokens
		last.tokens, last.links, last.joins = 0, 0, 0
	}
	for {
		before, value := s.prev, s.value
		t := s.next()
		if t.kind == tokEOF {
			return 0, false
		}
		nests := false
		here := &open[len(open)-1]
		if links(t, src[t.from], value) {
			here.links++
		} else if !t.afterDot && t.text != ")" && t.text != "]" {
			here.links = 0
		}
		switch {
		case t.kind == tokWord && !t.afterDot:
			if value && (t.newline || before.text == "}") || before.text == ":" && t.text == "case" {
				reset() // a statement begins
			}
			nests = nestingWords[t.text]
			if t.text == "if" && before.text == "else" {
				nests = false
				here.elses++
			}
		case t.kind == tokPunct:
			switch t.text {
			case ";", ",":
				reset()
			case "=>", "?", "~", ":", "<":
				nests = true
			case "=", "!":
				nests = !s.compares(t)
			case "+", "-", "++", "--", "*":
				nests = !value || before.text == "*"
			}
			if t.text == "+" && isQuote(src[before.from]) {
				here.joins++
			}
		}
		if t.kind == tokTemplate && src[t.from] == '}' {
			reset() // a substitution ends, and the next one begins
		}
		if nests {
			here.tokens++
			total++
		}
		long = max(here.links, here.elses, here.joins) > maxLinks
		for len(open) <= len(s.brackets) {
			open = append(open, nesting{})
		}
		for len(open) > len(s.brackets)+1 {
			last := len(open) - 1
			total -= open[last].tokens
			open = open[:last]
			if t.text == "}" && !s.value {
				reset() // a block ends, and with it its statement
			}
		}
		if long || total+len(s.brackets) > most {
			return 1 + strings.Count(src[:t.from], "\n"), long
		}
	}
}

// nesting is what tooDeep has counted inside a bracket.
type nesting struct {
	tokens int // that may nest, since the last separator
	links  int // of the chain that is being read
	elses  int // else if
	joins  int // of strings, since the last separator
}

// maxLinks is how long a chain may be. The host's stack grows by 4 KiB for each link.
const maxLinks = 1000

// compares says whether t, = or !, belongs to ==, !=, === or !==, which nest to their left.
func (s *scanner) compares(t token) bool {
	if strings.HasPrefix(s.src[t.to:], "=") {
		return true
	}
	return t.text == "=" && t.from > 0 && (s.src[t.from-1] == '=' || s.src[t.from-1] == '!')
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// links says whether t, which begins with that byte, makes a chain longer; value, whether what comes before it is a value.
func links(t token, begin byte, value bool) bool {
	switch t.text {
	case ".", "?.":
		return true
	case "(", "[":
		return value
	}
	return value && begin == '`'
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
			s.brackets = append(s.brackets, bracket{'`', true})
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
			(s.prev.text == "if" || s.prev.text == "while" || s.prev.text == "for" || s.prev.text == "with")
		s.brackets = append(s.brackets, bracket{c, !head})
		return "(", false
	case '[':
		s.brackets = append(s.brackets, bracket{c, true})
		return "[", false
	case '{':
		s.brackets = append(s.brackets, bracket{c, s.objectFollows()})
		return "{", false
	case ')', ']', '}':
		if len(s.brackets) == 0 {
			return string(c), true
		}
		b := s.brackets[len(s.brackets)-1]
		s.brackets = s.brackets[:len(s.brackets)-1]
		if c == '}' && b.open == '`' {
			return "`", false
		}
		return string(c), b.value
	}
	rest := s.src[s.at-1:]
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

// blank replaces a piece of the source by spaces, but for its line breaks, after a replacement that it begins with.
func (s *scanner) blank(from, to int, with string) {
	to = min(to, len(s.out))
	for i := from + copy(s.out[from:to], with); i < to; i++ {
		if s.out[i] != '\n' && s.out[i] != '\r' {
			s.out[i] = ' '
		}
	}
}

// importMeta turns import.meta into a name. When it is something else, nothing is read.
func (s *scanner) importMeta(t token) bool {
	save := *s
	if dot := s.next(); dot.text == "." {
		if name := s.next(); name.text == "meta" && name.to-t.from == len("import.meta") {
			copy(s.out[t.from:name.to], "_importMeta")
			return true
		}
	}
	s.restore(save)
	return false
}

// restore goes back to where the scanner was. No bracket of old is written over: what is read ahead is one token, or begins
// where none is open.
func (s *scanner) restore(old scanner) { *s = old }

// importStatement reads the rest of an import statement and blanks it. False, with nothing read, when t begins none.
func (s *scanner) importStatement(t token) (d importDecl, ok bool) {
	save := *s
	if len(s.brackets) == 0 {
		d.line = s.lineOf(t.from)
		if d.Names, ok = s.importClause(); ok {
			if spec := s.next(); spec.kind == tokString {
				d.Spec = spec.text
				s.blank(t.from, s.statementEnd(spec), ";")
				return d, true
			}
		}
	}
	s.restore(save)
	return d, false
}

// importClause reads "a, * as b, { c as d } from", or nothing before a string.
func (s *scanner) importClause() (names []importName, ok bool) {
	save := *s
	t := s.next()
	if t.kind == tokString {
		s.restore(save)
		return nil, true
	}
	if t.kind == tokWord && t.text != "from" || t.kind == tokWord && s.peek().text == "from" {
		names = append(names, importName{"default", t.text})
		if t = s.next(); t.text == "," {
			t = s.next()
		}
	}
	switch t.text {
	case "*":
		if as := s.next(); as.text != "as" {
			return nil, false
		}
		names = append(names, importName{"*", s.next().text})
		t = s.next()
	case "{":
		list, ok := s.nameList()
		if !ok {
			return nil, false
		}
		names = append(names, list...)
		t = s.next()
	}
	return names, t.kind == tokWord && t.text == "from" && len(names) >= 0
}

// nameList reads "a, b as c }".
func (s *scanner) nameList() (names []importName, ok bool) {
	for {
		t := s.next()
		if t.text == "}" && t.kind == tokPunct {
			return names, true
		}
		if t.kind != tokWord && t.kind != tokString {
			return nil, false
		}
		n := importName{t.text, t.text}
		if s.peek().text == "as" {
			s.next()
			n.Local = s.next().text
		}
		names = append(names, n)
		if s.peek().text == "," {
			s.next()
		}
	}
}

// peek reads a token and goes back.
func (s *scanner) peek() token {
	save := *s
	t := s.next()
	s.restore(save)
	return t
}

// statementEnd is where an import or export statement ends whose specifier was just read: after its
// attributes (with {...}) and its semicolon.
func (s *scanner) statementEnd(spec token) int {
	end := spec.to
	if t := s.peek(); t.kind == tokWord && (t.text == "with" || t.text == "assert" && !t.newline) {
		s.next()
		if s.next().text == "{" {
			for depth := len(s.brackets); len(s.brackets) >= depth; {
				if s.next().kind == tokEOF {
					break
				}
			}
		}
		end = s.at
	}
	if t := s.peek(); t.text == ";" && t.kind == tokPunct {
		s.next()
		end = t.to
	}
	return end
}

// exportStatement takes out the export in a statement. imports says that d is imported by it. False, with
// nothing read, when t begins none.
func (s *scanner) exportStatement(t token) (d importDecl, imports, ok bool) {
	save := *s
	d.line = s.lineOf(t.from)
	from := func() (importDecl, bool, bool) {
		spec := s.next()
		d.Spec = spec.text
		s.blank(t.from, s.statementEnd(spec), ";")
		return d, true, spec.kind == tokString
	}
	switch n := s.next(); {
	case n.kind == tokPunct && n.text == "*":
		n = s.next()
		if n.text == "as" {
			s.next()
			n = s.next()
		}
		if n.text == "from" {
			return from()
		}
	case n.kind == tokPunct && n.text == "{":
		if _, ok := s.nameList(); ok {
			if s.peek().text == "from" {
				s.next()
				return from()
			}
			s.blank(t.from, s.statementEnd(s.prev), ";")
			return d, false, true
		}
	case n.kind == tokWord && n.text == "default":
		s.exportDefault(t, n)
		return d, false, true
	case n.kind == tokWord:
		s.restore(save)
		s.blank(t.from, t.to, ";")
		return d, false, true
	}
	s.restore(save)
	return d, false, false
}

// exportDefault keeps a named declaration and makes anything else an expression.
func (s *scanner) exportDefault(export, def token) {
	save := *s
	named := false
	t := s.next()
	if t.text == "async" {
		t = s.next()
	}
	if t.kind == tokWord && (t.text == "function" || t.text == "class") {
		n := s.next()
		if n.text == "*" {
			n = s.next()
		}
		named = n.kind == tokWord && n.text != "extends"
	}
	s.restore(save)
	if named {
		s.blank(export.from, def.to, ";")
		return
	}
	s.blank(export.from, def.to, "void 0,")
	s.value = false
}
