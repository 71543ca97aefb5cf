package main

import (
	"strings"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes/js"
)

// splitter collects lines into turns.
type splitter struct {
	// complete says whether source can be run as it is. An open one needs more lines, whatever they are.
	complete func(source string) bool
	// block says whether source, which is complete, is a block that may go on; further says whether line goes on with it.
	block   func(source string) bool
	further func(source, line string) bool
	// blank: an empty line ends a block.
	blank bool
	lines []string
}

func newSplitter(language string, terminal bool) *splitter {
	if language == engine.Python {
		return &splitter{complete: pythonComplete, block: pythonBlock, further: pythonFurther, blank: terminal}
	}
	never := func(string) bool { return false }
	return &splitter{complete: func(s string) bool { return !js.Incomplete(s) }, block: never}
}

// pending says whether there are lines that wait for more.
func (s *splitter) pending() bool { return len(s.lines) > 0 }

// add takes one line and returns what can be run now.
func (s *splitter) add(line string) (turns []string) {
	if source := s.source(); source != "" && s.complete(source) { // so it is a block
		empty := strings.TrimSpace(line) == ""
		if empty && s.blank || !empty && !s.further(source, line) {
			turns = append(turns, s.rest())
		}
		if empty && s.blank {
			return turns
		}
	}
	if len(s.lines) == 0 && strings.TrimSpace(line) == "" {
		return turns
	}
	s.lines = append(s.lines, line)
	if source := s.source(); len(s.lines) == 1 && strings.HasPrefix(line, ":") || s.complete(source) && !s.block(source) {
		turns = append(turns, s.rest())
	}
	return turns
}

// rest is what has been collected, complete or not.
func (s *splitter) rest() string {
	source := s.source()
	s.lines = nil
	return source
}

func (s *splitter) source() string { return strings.Join(s.lines, "\n") }

// pythonShape is what the end of Python source tells of it.
type pythonShape struct {
	open   bool // inside brackets, a long string or a continued line
	colon  bool // some line ends with a colon; here and below, lines are those outside of all that
	header bool // the last line ends with a colon
	body   bool // the last line is indented
}

// shapeOfPython reads source by Python's lexical rules, as far as its lines depend on them.
func shapeOfPython(source string) (p pythonShape) {
	depth, last, start := 0, byte(0), true // last: the last character that counts of the line
	lineEnds := func() {
		if last != 0 {
			p.header = last == ':'
			p.colon = p.colon || p.header
		}
		last, start = 0, true
	}
	for i := 0; i < len(source); i++ {
		c := source[i]
		if start && depth == 0 && c != ' ' && c != '\t' && c != '\n' && c != '#' {
			p.body = i > 0 && source[i-1] != '\n'
			start = false
		}
		switch c {
		case '#':
			for i+1 < len(source) && source[i+1] != '\n' {
				i++
			}
			continue
		case '\n':
			if depth == 0 {
				lineEnds()
			}
			continue
		case '\\':
			if i+1 == len(source) {
				p.open = true
				return p
			}
			i++ // the line goes on
			continue
		case '\'', '"':
			end, closed := pythonString(source, i)
			if !closed {
				p.open = true
				return p
			}
			i = end - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		if c != ' ' && c != '\t' && c != '\r' {
			last = c
		}
	}
	p.open = depth > 0
	if !p.open {
		lineEnds()
	}
	return p
}

// pythonString finds the end of the string that begins at source[i]. closed is false when a long one has no end; a
// short one ends with its line, at the latest.
func pythonString(source string, i int) (end int, closed bool) {
	quote := source[i : i+1]
	if strings.HasPrefix(source[i:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for i += len(quote); i < len(source); i++ {
		switch {
		case source[i] == '\\':
			i++
		case strings.HasPrefix(source[i:], quote):
			return i + len(quote), true
		case source[i] == '\n' && len(quote) == 1:
			return i, true
		}
	}
	return len(source), len(quote) == 1
}

func pythonComplete(source string) bool { return !shapeOfPython(source).open }

// pythonBlock says whether source begins a block: a compound statement, or a decorator.
func pythonBlock(source string) bool {
	word := firstWord(source)
	switch word {
	case "if", "while", "for", "try", "with", "def", "class", "async":
		return true
	}
	return strings.HasPrefix(word, "@") || shapeOfPython(source).colon
}

// pythonFurther says whether line goes on with the block in source.
func pythonFurther(source, line string) bool {
	if line[0] == ' ' || line[0] == '\t' || line[0] == '#' {
		return true
	}
	switch firstWord(line) {
	case "else", "elif", "except", "finally":
		return true
	}
	shape := shapeOfPython(source)
	decorator := !shape.body && strings.HasPrefix(source[strings.LastIndexByte(source, '\n')+1:], "@")
	return shape.header || decorator // what it belongs to is to come
}

// firstWord is what source begins with, up to a space, colon or bracket.
func firstWord(source string) string {
	if i := strings.IndexAny(source, " \t:(\n"); i >= 0 {
		return source[:i]
	}
	return source
}
