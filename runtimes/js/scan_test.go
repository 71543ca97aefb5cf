package js

import (
	"fmt"
	"strings"
	"testing"
)

func TestScanModule(t *testing.T) {
	for _, c := range []struct{ in, out, imports string }{
		{"let a = 1", "", ""},
		{"import 'x'", ";         ", "1:x"},
		{"import a from \"x\";b", ";                 b", "1:x(default a)"},
		{"import * as n from 'x'\nb", ";                     \nb", "1:x(* n)"},
		{"import {a, b as c, default as d, 'e f' as g} from 'x' with {type: 'json'}; z", ";" + strings.Repeat(" ", 73) + " z", "1:x(a a)(b c)(default d)(e f g)"},
		{"import d, {a} from 'x'", ";" + strings.Repeat(" ", 21), "1:x(default d)(a a)"},
		{"import d, * as n from 'x'", ";" + strings.Repeat(" ", 24), "1:x(default d)(* n)"},
		{"import {\n a,\n} from 'x'\nz", ";       \n   \n          \nz", "1:x(a a)"},
		{"import from from 'x'", ";" + strings.Repeat(" ", 19), "1:x(default from)"},
		{"import {} from 'x'", ";" + strings.Repeat(" ", 17), "1:x"},
		{"import /* c */ a /* d */ from /* e */ 'x' // f", ";" + strings.Repeat(" ", 40) + " // f", "1:x(default a)"},
		{"import(x); import.meta.url", "import(x); _importMeta.url", ""},
		{"x.import; y = {import: 1, export: 2}; z.export", "", ""},
		{"`import a from 'x' ${`${1}`} export`", "", ""},
		{"/import 'x'/.test(y); a / b / import.meta", "/import 'x'/.test(y); a / b / _importMeta", ""},
		{"if (a) /export/.test(b)", "", ""},
		{"// import 'x'\n/* export */ 1", "", ""},
		{"\"import 'x'\"; 'export'", "", ""},
		{"function f() { return /}/ }\nexport { f }", "function f() { return /}/ }\n;           ", ""},
		{"export const a = 1", ";      const a = 1", ""},
		{"export default f()", "void 0,        f()", ""},
		{"export default {a: 1}", "void 0,        {a: 1}", ""},
		{"export default function () {}", "void 0,        function () {}", ""},
		{"export default function f() {}", ";              function f() {}", ""},
		{"export default async function f() {}", ";              async function f() {}", ""},
		{"export default async () => 1", "void 0,        async () => 1", ""},
		{"export default function* g() {}", ";              function* g() {}", ""},
		{"export default class {}", "void 0,        class {}", ""},
		{"export default class extends A {}", "void 0,        class extends A {}", ""},
		{"export default class A {}", ";              class A {}", ""},
		{"export { a as b, c as default };x", ";                               x", ""},
		{"export * from 'x'; export * as n from \"y\"\nz", ";                  ;                     \nz", "1:x 1:y"},
		{"export { a } from 'x'", ";" + strings.Repeat(" ", 20), "1:x"},
		{"export async function f() {}", ";      async function f() {}", ""},
		{"let x = a\nexport let y = 2", "let x = a\n;      let y = 2", ""},
		{"\n\nimport 'late'", "\n\n;            ", "3:late"},
		{"{ import 'x' }", "", ""},
		{"foo() import 'x'", "", ""},
		{"import 'x", "", ""},
		{"import {a b} from 'x'", ";" + strings.Repeat(" ", 20), "1:x(a a)(b b)"},
		{"import {", "", ""},
		{"export", "", ""},
		{"a = b++ / 2; import 'x'", "a = b++ / 2; ;         ", "1:x"},
		{"var {a} = {a: /}/}; import 'x'", "var {a} = {a: /}/}; ;         ", "1:x"},
		{"x = y ? {} : {}\n/re/.test(1); import 'x'", "x = y ? {} : {}\n/re/.test(1); ;         ", "2:x"},
		{"while (0) /'/.exec(1)\nimport 'x'", "while (0) /'/.exec(1)\n;         ", "2:x"},
		{"1e-5 / 2; 0x1e-5; import 'x'", "1e-5 / 2; 0x1e-5; ;         ", "1:x"},
		{"#!/usr/bin/env node\nimport 'x'", "#!/usr/bin/env node\n;         ", "2:x"},
		{"ünï = 1; import 'x'", "ünï = 1; ;         ", "1:x"},
	} {
		m := scanModule(c.in, nil)
		if c.out == "" {
			c.out = c.in
		}
		var imports []string
		for _, d := range m.imports {
			text := fmt.Sprintf("%d:%s", d.line, d.Spec)
			for _, n := range d.Names {
				text += fmt.Sprintf("(%s %s)", n.Imported, n.Local)
			}
			imports = append(imports, text)
		}
		if got := strings.Join(imports, " "); m.source != c.out || got != c.imports {
			t.Errorf("%s\nbecame  %q\nwant    %q\nimports %s, want %s", c.in, m.source, c.out, got, c.imports)
		}
	}
}

// FuzzScanModule: any text is scanned to its end, and keeps its length and its lines.
func FuzzScanModule(f *testing.F) {
	for _, s := range []string{
		"import a, {b as c} from 'x' with {type: 'json'};", "export default class {}", "`${`${a}`}`", "/[/]/ / 2", "import.meta", "a\n/b/\n", "}", "import{", "\\", "export*from'x'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		m := scanModule(src, nil)
		if len(m.source) != len(src) || strings.Count(m.source, "\n") != strings.Count(src, "\n") {
			t.Errorf("%q became %q", src, m.source)
		}
		for _, d := range m.imports {
			if d.line < 1 || d.line > 1+strings.Count(src, "\n") {
				t.Errorf("%q: line %d", src, d.line)
			}
		}
	})
}
