package js

import (
	"fmt"
	"strings"
)

// nestingWords begin something that a parser recurses into without a bracket: functions, statements in statements, and the
// types of TypeScript. prefixWords, like ! and ~, do so until their operand is there.
var (
	nestingWords = wordSet("if for while do with yield keyof infer readonly unique extends function class async throw return")
	prefixWords  = wordSet("new typeof void delete await")
)

// excess says why a source is not given to the parser, and where.
type excess struct {
	line int // from 1; 0: it can be
	why  string
}

// tooDeep says whether src nests deeper than most, or has a chain that is too long. It counts open brackets and, in each of
// them, the tokens since the last separator that may nest without one. It may count too many, never too few. What costs
// little for each level, conditions and type arguments, has a bound of its own, maxCheap; what nests to its left, a
// chain such as a.b().c[0], what programs may well have many of, else if, and strings that are added, which esbuild joins one by
// one, are bounded by maxLinks instead, and so are comma operators, for each of which it looks at all that is before it. A careful count refuses slashes of which it cannot tell
// what they are; one that is not is of JSX, where it may count too few.
func tooDeep(src string, most int, careful bool) excess {
	s := scanner{src: src, careful: careful}
	c := counter{open: []nesting{{}}}
	var twoBefore token
	for {
		before, value := s.prev, s.value
		t := s.next()
		enum := twoBefore.text == "enum" && !twoBefore.afterDot // a brace here is that of one
		twoBefore = before
		if t.kind == tokEOF && !s.unsure {
			return excess{}
		}
		line := func() int { return 1 + strings.Count(src[:t.from], "\n") }
		if s.unsure {
			return excess{line(), "a slash that may divide or begin a regular expression: give the expression a name, or put the division in parentheses"}
		}
		c.count(&s, t, before, value)
		for len(c.open) <= len(s.brackets) {
			b := s.brackets[len(s.brackets)-1]
			c.open = append(c.open, nesting{
				list: b.open == '(' && value && b.value || b.open == '[' && !value || b.open == '{' && (b.value || enum),
			})
		}
		for len(c.open) > len(s.brackets)+1 {
			last := len(c.open) - 1
			c.total.add(c.open[last].levels, -1)
			if t.text != "}" || s.value { // no block
				c.open[last-1].closed(c.open[last])
			}
			c.open = c.open[:last]
		}
		here := c.open[len(c.open)-1]
		switch {
		case max(here.links, here.elses, here.joins) > maxLinks:
			return excess{line(), fmt.Sprintf("more than %d links, else ifs or added strings in one statement", maxLinks)}
		case here.commas > maxLinks && !here.list:
			return excess{line(), fmt.Sprintf("more than %d commas in one statement, but for those of lists", maxLinks)}
		case c.total.tokens+c.total.prefixes+len(s.brackets) > most:
			return excess{line(), fmt.Sprintf("TypeScript nested deeper than %d levels", most)}
		case c.total.cheap+c.total.angles > maxCheap:
			return excess{line(), fmt.Sprintf("more than %d conditions or type arguments in each other", maxCheap)}
		}
	}
}

// counter is what tooDeep has counted in the brackets that are open, and outside of all.
type counter struct {
	open  []nesting
	total levels
}

// levels are tokens that may nest without a bracket.
type levels struct {
	tokens   int // since the last separator
	prefixes int // operators before their operand, since the last one between two
	cheap    int // ? of conditions, since the last separator
	angles   int // < that no > has closed, since the last semicolon
}

func (l *levels) add(o levels, sign int) {
	l.tokens += sign * o.tokens
	l.prefixes += sign * o.prefixes
	l.cheap += sign * o.cheap
	l.angles += sign * o.angles
}

// nesting is what was counted inside a bracket.
type nesting struct {
	levels
	waiting int // ? whose : did not come yet
	links   int // of the chain that is being read
	elses   int // else if
	joins   int // of strings, since the last separator
	commas  int // in the statement: operators, with those of brackets in it, unless it is a list
	inside  int // of a list: the most operators that one of its brackets has
	list    bool
}

// closed counts the commas of a bracket that was in n.
func (n *nesting) closed(inner nesting) {
	commas := inner.commas
	if inner.list {
		commas = inner.inside
	}
	if n.list {
		n.inside = max(n.inside, commas)
	} else {
		n.commas += commas
	}
}

// reset forgets what was counted in the innermost bracket but for commas: a statement begins, or a part of one.
func (c *counter) reset() {
	here := &c.open[len(c.open)-1]
	c.total.add(here.levels, -1)
	*here = nesting{elses: here.elses, commas: here.commas, inside: here.inside, list: here.list}
}

// count counts a token; before is what is before it, and value says that this ends an expression.
func (c *counter) count(s *scanner, t, before token, value bool) {
	src := s.src
	here := &c.open[len(c.open)-1]
	if links(t, src[t.from], value) {
		here.links++
	} else if !t.afterDot && t.text != ")" && t.text != "]" {
		here.links = 0
	}
	was := here.levels
	switch {
	case t.kind == tokWord && !t.afterDot:
		if begins(t, before, value) {
			c.reset()
			here.commas = 0
			was = here.levels
		}
		switch {
		case t.text == "if" && before.text == "else":
			here.elses++
		case nestingWords[t.text]:
			here.tokens++
		case prefixWords[t.text]:
			here.prefixes++
		case t.text == "in" || t.text == "instanceof":
			here.prefixes = 0
		}
	case t.kind == tokPunct:
		c.punct(s, t, before, value, here)
		if t.text == ";" || t.text == "," {
			return
		}
	}
	if t.kind == tokTemplate && src[t.from] == '}' {
		c.reset() // a substitution ends, and the next one begins
		return
	}
	c.total.add(was, -1)
	c.total.add(here.levels, 1)
}

// begins says whether a statement begins with the word t, as far as that is certain: words that go on with one do not.
func begins(t, before token, value bool) bool {
	switch t.text {
	case "case", "default":
		return before.text == ":" || before.text == "}" || value
	case "else", "in", "instanceof", "as", "satisfies", "of", "is":
		return false
	}
	if before.kind == tokWord && !before.afterDot && (nestingWords[before.text] || prefixWords[before.text]) {
		return false
	}
	return before.text == "}" || value && t.newline
}

func (c *counter) punct(s *scanner, t, before token, value bool, here *nesting) {
	src := s.src
	doubled := strings.HasPrefix(src[t.to:], t.text) || before.kind == tokPunct && before.text == t.text && before.to == t.from
	switch t.text {
	case ";", ",":
		angles := here.angles
		c.reset()
		here.commas++
		if t.text == ";" {
			here.commas = 0
		} else { // commas part type arguments too
			here.angles = angles
			c.total.angles += angles
		}
	case "=>":
		here.tokens++
	case "~":
		here.prefixes++
	case "<":
		here.angles++
	case ">":
		here.angles = max(0, here.angles-1)
	case "?":
		if !doubled { // a ?? b is no condition
			here.cheap++
			here.waiting++
		} else {
			here.prefixes, here.angles = 0, 0
		}
	case ":":
		if here.waiting > 0 {
			here.waiting--
			if before.text == ")" && !s.closed.call {
				here.tokens += 2 // a ? (b) : c => d is read as a ? ((b): c => d) first, and again: twice as long at each level
			}
		} else {
			here.tokens++
		}
	case "=":
		if !s.compares(t) {
			here.tokens++
		} else if value {
			here.prefixes = 0
		}
	case "!":
		switch {
		case s.compares(t):
			if value {
				here.prefixes = 0
			}
		case !value || t.newline:
			here.prefixes++
		}
	case "+", "-", "++", "--", "*":
		switch {
		case t.text == "*" && before.text == "*":
			here.tokens++
		case !value:
			here.prefixes++
		case len(t.text) == 1:
			here.prefixes = 0
		}
	case "&", "|":
		if doubled { // no type has it
			here.prefixes, here.angles = 0, 0
		}
	case "/", "%", "^":
		here.prefixes = 0
	}
	if t.text == "+" && isQuote(src[before.from]) {
		here.joins++
	}
}

// maxCheap is how deep conditions and type arguments may nest.
const maxCheap = 256

// maxLinks is how long a chain may be. The host's stack grows by 4 KiB for each link.
const maxLinks = 1000

// compares says whether t, = or !, belongs to ==, !=, === or !==, which nest to their left.
func (s *scanner) compares(t token) bool {
	if strings.HasPrefix(s.src[t.to:], "=") {
		return true
	}
	return t.text == "=" && t.from > 0 && strings.IndexByte("=!<>", s.src[t.from-1]) >= 0
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
