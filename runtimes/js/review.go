package js

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/runtimes"
)

// A review looks for names that a program may not use before it runs: modules ("child_process", with or without node:), what is in
// one ("fs.rmSync", whatever the program calls the module), and globals ("eval", "process.exit"). It sees what is
// written out, by the rules of the scanner: it is advice to whoever wrote the program, and no protection.

// finding is a use of a denied name.
type finding struct {
	line int
	name string
}

// mostFindings is how many are told, maxFindings how many are counted.
const (
	mostFindings = 20
	maxFindings  = 10_000
)

// reviewer follows names through a source.
type reviewer struct {
	scanner
	denied  []string
	modules map[string]string // names that stand for a module or for something in one
	own     map[string]bool   // names that the program declares
	found   []finding
}

// review lists the uses of denied names in src, which scanModule has gone through, in order.
func review(src string, imports []importDecl, denied []string, pause func()) []finding {
	r := &reviewer{scanner: scanner{src: src, pause: pause}, denied: denied, modules: map[string]string{}, own: map[string]bool{}}
	for _, d := range imports {
		module := moduleName(d.Spec)
		r.use(d.line, module)
		for _, n := range d.Names {
			if n.Imported == "*" || n.Imported == "default" {
				r.modules[n.Local] = module
			} else {
				r.modules[n.Local] = module + "." + n.Imported
				r.use(d.line, r.modules[n.Local])
			}
		}
	}
	r.read()
	slices.SortStableFunc(r.found, func(a, b finding) int { return a.line - b.line })
	return slices.Compact(r.found)
}

func moduleName(spec string) string { return strings.TrimPrefix(spec, "node:") }

func (r *reviewer) use(line int, name string) {
	for _, global := range []string{"globalThis.", "global.", "window.", "self."} {
		name = strings.TrimPrefix(name, global)
	}
	for _, d := range r.denied {
		if d = moduleName(d); (name == d || strings.HasPrefix(name, d+".")) && len(r.found) < maxFindings {
			r.found = append(r.found, finding{line, d})
			return
		}
	}
}

// read goes through the tokens.
func (r *reviewer) read() {
	var pattern, target []token // what stands before the = of a declaration
	for {
		before := r.prev
		t := r.next()
		switch {
		case t.kind == tokEOF:
			return
		case t.kind == tokPunct && t.text == ";":
			pattern, target = nil, nil
		case t.kind != tokWord || t.afterDot:
		case (t.text == "const" || t.text == "let" || t.text == "var") && r.peek().kind != tokEOF:
			pattern = r.declared()
			target = pattern
		case t.text == "function" || t.text == "class":
			if n := r.peek(); n.kind == tokWord && n.text != "extends" {
				r.own[r.next().text] = true
			}
		case before.kind == tokPunct && (before.text == "{" || before.text == ",") && r.peek().text == ":": // a key
		case r.definition(before):
		default:
			name, line := r.chain(t), r.lineOf(t.from)
			if name != "" {
				r.use(line, name)
			}
			if module := r.modules[""]; module != "" { // chain has read require("x") or import("x")
				delete(r.modules, "")
				r.bind(line, target, module)
			}
			target = nil
		}
	}
}

// declared reads what a declaration declares, up to its =: one name, or a pattern.
func (r *reviewer) declared() (names []token) {
	depth := len(r.brackets)
	for {
		if n := r.peek(); n.kind == tokEOF || n.kind == tokPunct && (n.text == "=" || n.text == ";") && len(r.brackets) == depth || n.text == "of" || n.text == "in" {
			break
		}
		if t := r.next(); t.kind == tokWord {
			r.own[t.text] = true
			names = append(names, t)
		} else if t.text == ":" && len(names) > 0 {
			names = append(names, t)
		}
		if len(names) > 1000 {
			break
		}
	}
	if r.peek().text == "=" {
		r.next()
	}
	return names
}

// bind notes what names stand for when they are taken from a module: m, or { a, b: c }.
func (r *reviewer) bind(line int, names []token, module string) {
	if len(names) == 1 && r.src[max(0, names[0].from-1)] != '{' && !r.braced(names[0]) {
		r.modules[names[0].text] = module
		return
	}
	for i := 0; i < len(names); i++ {
		if names[i].text == ":" {
			continue
		}
		name := module + "." + names[i].text
		r.use(line, name)
		if i+2 < len(names) && names[i+1].text == ":" {
			i += 2
		}
		r.modules[names[i].text] = name
	}
}

// braced says whether a name stands in a pattern.
func (r *reviewer) braced(t token) bool {
	before := strings.TrimRight(r.src[max(0, t.from-64):t.from], " \t\r\n")
	return strings.HasSuffix(before, "{") || strings.HasSuffix(before, ",")
}

// definition says whether the word that was just read names a method: name(...) {
func (r *reviewer) definition(before token) bool {
	if before.kind != tokPunct && before.text != "async" && before.text != "static" && before.text != "get" && before.text != "set" || r.peek().text != "(" {
		return false
	}
	save := r.scanner
	defer func() {
		read := r.counted
		r.restore(save)
		r.counted = read // it is done for each such word
	}()
	depth := len(r.brackets)
	r.next()
	for n := 0; len(r.brackets) > depth && n < 200; n++ {
		if r.next().kind == tokEOF {
			return false
		}
	}
	return len(r.brackets) == depth && r.next().text == "{"
}

// chain reads a.b["c"] from its first word and returns what it stands for, "" when that is the program's own. For
// require("x") and import("x") it is the module, which is left in modules[""] too.
func (r *reviewer) chain(t token) string {
	name, known := r.modules[t.text]
	switch {
	case (t.text == "require" || t.text == "import") && r.peek().text == "(":
		save := r.scanner
		r.next()
		spec := r.next()
		if spec.kind != tokString || r.next().text != ")" {
			r.restore(save)
			return t.text
		}
		name = moduleName(spec.text)
		r.modules[""] = name
	case known:
	case r.own[t.text]:
		return ""
	default:
		name = t.text
	}
	for {
		switch n := r.peek(); n.text {
		case ".", "?.":
			r.next()
			if n = r.peek(); n.kind != tokWord {
				return name
			}
			name += "." + r.next().text
		case "[":
			if n.kind != tokPunct {
				return name
			}
			save := r.scanner
			r.next()
			key := r.next()
			if key.kind != tokString || r.next().text != "]" {
				r.restore(save)
				return name
			}
			name += "." + key.text
		default:
			return name
		}
	}
}

// refusal is what is told of a program that uses denied names.
func refusal(found []finding, file string) runtimes.Outcome {
	told := found[:min(len(found), mostFindings)]
	var words, names []string
	var lines strings.Builder
	for _, f := range told {
		words = append(words, fmt.Sprintf("line %d: %s is not allowed", f.line, f.name))
		fmt.Fprintf(&lines, "%s:%d: %s is not allowed\n", file, f.line, f.name)
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	if n := len(found) - len(told); n > 0 {
		words = append(words, fmt.Sprintf("and %d more", n))
	}
	out := failure("Refused", strings.Join(words, "; "))
	out.Refused = true
	out.Error.Line, out.Error.Traceback = found[0].line, lines.String()
	out.Error.Hint = "The policy does not let programs use " + strings.Join(names, ", ") + ": do without."
	return out
}
