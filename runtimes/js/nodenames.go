package js

import (
	"slices"
	"strings"
)

// Node's names are not on the global object of a fresh sandbox. They are put there before a program or module runs
// that names one of them: as an identifier, as a property of the global object, or by a string of just that text. What a program makes from
// strings while it runs, by Function or eval, finds only what the language and the web define, unless the
// program itself uses Node's names too.

// nodeNames are the names, as guest code keeps them for reveal, and one of ours: see scan.go.
var nodeNames = []string{"process", "global", "require", "module", "exports", "__filename", "__dirname", "_importMeta"}

// fileNames are those of them that a CommonJS file does not get as parameters.
var fileNames = []string{"process", "global"}

// globalObjects are the names of the global object.
var globalObjects = map[string]bool{"globalThis": true, "global": true, "this": true}

// usedNames says which of names src uses. It reads src only as far as the scanner understands it, and so may
// name too many.
func usedNames(src string, names []string, pause func()) []string {
	if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(src, name) }) {
		return nil
	}
	var used []string
	s := scanner{src: src, pause: pause}
	var before, last token // the two before t
	for {
		t := s.next()
		if t.kind == tokEOF {
			return used
		}
		named := t.kind == tokString || t.kind == tokWord && (!t.afterDot || before.kind == tokWord && globalObjects[before.text])
		if named && slices.Contains(names, t.text) && !slices.Contains(used, t.text) {
			used = append(used, t.text)
		}
		before, last = last, t
	}
}

// reveal puts those of names that src uses on the global object. thrown: an exception is pending.
func (in *interp) reveal(src string, names []string) (thrown bool) {
	used := usedNames(src, names, in.look)
	if len(used) == 0 {
		return false
	}
	text := in.newString(strings.Join(used, " "))
	if text.exception() {
		return true
	}
	r := in.invoke(in.b.Funcs["reveal"], text)
	in.free(text)
	in.free(r)
	return r.exception()
}
