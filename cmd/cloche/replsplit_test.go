package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
)

func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		name, language string
		terminal       bool
		in             string   // lines
		want           []string // turns
		rest           string
	}{
		{"expressions", engine.Python, true, "1\n\n2 + 2\n", []string{"1", "2 + 2"}, ""},
		{"brackets", engine.Python, true, "f(1,\n\n  2)\n3\n", []string{"f(1,\n\n  2)", "3"}, ""},
		{"long string", engine.Python, true, "x = '''a\n\nb # '''\n1\n", []string{"x = '''a\n\nb # '''", "1"}, ""},
		{"short string with an end of line", engine.Python, true, "x = 'a\n1\n", []string{"x = 'a", "1"}, ""},
		{"continued line", engine.Python, true, "x = 1 + \\\n2\n", []string{"x = 1 + \\\n2"}, ""},
		{"block ends with an empty line", engine.Python, true, "if x:\n  y\nelse:\n  z\n\n1\n", []string{"if x:\n  y\nelse:\n  z", "1"}, ""},
		{"block ends with a line that is not indented", engine.Python, true, "def f():\n  return 1\nf()\n", []string{"def f():\n  return 1", "f()"}, ""},
		{"block on one line", engine.Python, true, "for x in y: print(x)\n", nil, "for x in y: print(x)"},
		{"decorator", engine.Python, true, "@a\n@b(1)\ndef f():\n  pass\n\n", []string{"@a\n@b(1)\ndef f():\n  pass"}, ""},
		{"match", engine.Python, true, "match x:\n  case 1: pass\n\nmatch = 1\n", []string{"match x:\n  case 1: pass", "match = 1"}, ""},
		{"brackets, then a body", engine.Python, true, "def f(a,\n  b):\n  return a\n\n", []string{"def f(a,\n  b):\n  return a"}, ""},
		{"comment with a colon", engine.Python, true, "x = 1 # so:\n", []string{"x = 1 # so:"}, ""},
		{"slice", engine.Python, true, "x[1:\n2]\n", []string{"x[1:\n2]"}, ""},
		{"empty lines in a file", engine.Python, false, "def f():\n  a = 1\n\n  return a\n\nf()\n", []string{"def f():\n  a = 1\n\n  return a\n", "f()"}, ""},
		{"a body that is missing", engine.Python, false, "def f():\nx = 1\ny = 2\n", []string{"def f():\nx = 1", "y = 2"}, ""},
		{"comments between", engine.Python, false, "if x:\n  y\n# so\n  z\nw\n", []string{"if x:\n  y\n# so\n  z", "w"}, ""},
		{"command", engine.Python, true, ":help\n", []string{":help"}, ""},

		{"expressions", engine.JavaScript, true, "1\n2\n", []string{"1", "2"}, ""},
		{"function", engine.JavaScript, true, "function f() {\n\n  return 1 }\nf()\n", []string{"function f() {\n\n  return 1 }", "f()"}, ""},
		{"template", engine.JavaScript, true, "`a\n${1}\n`\n", []string{"`a\n${1}\n`"}, ""},
		{"wrong", engine.JavaScript, true, "x = )\n1\n", []string{"x = )", "1"}, ""},
		{"unfinished", engine.JavaScript, false, "f(\n", nil, "f("},
		{"command", engine.JavaScript, true, ":help\n", []string{":help"}, ""},
	} {
		s := newSplitter(c.language, c.terminal)
		var got []string
		for line := range strings.Lines(c.in) {
			got = append(got, s.add(strings.TrimRight(line, "\n"))...)
		}
		if rest := s.rest(); !slices.Equal(got, c.want) || rest != c.rest {
			t.Errorf("%s, %s: %q and rest %q, want %q and %q", c.language, c.name, got, rest, c.want, c.rest)
		}
	}
}
