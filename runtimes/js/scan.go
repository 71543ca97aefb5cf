package js

import "strings"

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

// restore goes back to where the scanner was. No bracket of old is written over: what is read ahead is one token, begins where none
// is open, or begins with a bracket and ends once that is closed.
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
