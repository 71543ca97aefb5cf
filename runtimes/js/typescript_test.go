package js

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStripTypes(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"const a: number = 1;", "const a = 1;"},
		{"interface A { x: number }\n\nconst a: A = {\n  x: 1 };\nf(a);", "\n\nconst a = { \n  x: 1 };\nf(a);"},
		{"type T = string;\nlet x = <T>'s';\nlet y = x as T;", "\nlet x = \"s\";\nlet y = x;"},
		{"function f(x: number): string { if (x) { return `a\n b ${x}\n c`; } return ''; }\nf(1)", "function f(x) { if (x) { return `a\n b ${x}\n c`; } return \"\"; }\nf(1);"},
		{"import type { Q } from './q';\nimport { z } from './z';\nz()", "\nimport { z } from \"./z\";\nz();"},
		{"const g = (x: number) => // why\n  x + 1;\ng(2);", "const g = (x) => (// why\n  x + 1);\ng(2);"},
		{"abstract class K<T> {\n  constructor(private readonly z: T) {}\n  abstract m(): void;\n  n!: number;\n}\nnew (K as any)(1);", ""},
		{"enum E { P, Q = 5 }\nE.Q", ""},
		{"let v = a!;\nlet w = b satisfies B;\nv", "let v = a;\nlet w = b;\nv;"},
		{"declare const g: number;\nnamespace N { export const x = 1 }\nN.x", ""},
		{"const x = 1\nx", "const x = 1;\nx;"},
		{"f(x as any);\n(0, g)(1);\n[1].map(f);\n(1);\n`a`", "f(x );\n(0, g)(1);\n[1].map(f);\n1;\n`a`;"},
		{"", ""},
	} {
		got, err := stripTypes(c.in, "main.ts")
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if c.out != "" && normal(got) != normal(c.out) {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", c.in, got, c.out)
		}
		// The last statement stays on its line.
		if want, have := strings.Count(c.in, "\n"), strings.Count(strings.TrimRight(got, "\n"), "\n"); want != have {
			t.Errorf("%s\nhas %d line breaks, became\n%s\nwith %d", c.in, want, got, have)
		}
	}
}

// normal ignores blanks beside each other and at the ends of lines.
func normal(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

func TestStripTypesErrors(t *testing.T) {
	for _, c := range []struct {
		in           string
		line, column int
		text         string
	}{
		{"let a: number = ;", 1, 17, `Unexpected ";"`},
		{"const ok = 1;\nfunction (", 2, 10, `Expected identifier but found "("`},
		{"let x = 'open", 1, 14, "Unterminated string literal"},
	} {
		_, err := stripTypes(c.in, "main.ts")
		var e *syntaxError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if e.Line != c.line || e.Column != c.column || e.Text != c.text || e.File != "main.ts" || e.Source != strings.Split(c.in, "\n")[c.line-1] {
			t.Errorf("%s: %+v", c.in, e)
		}
	}
	if _, err := stripTypes(strings.Repeat(" ", maxTypeScript+1), "big.ts"); err == nil {
		t.Error("too much source was taken")
	}
	if _, err := stripTypes("const e = <b>x</b>;"+strings.Repeat(" ", maxJSX), "v.tsx"); err == nil || !strings.Contains(err.Error(), "JSX is read in files of up to 2048 bytes") {
		t.Errorf("long JSX: %v", err)
	}
	for _, src := range []string{"<b>x</b>", "<><El n={3} /> text {1 + 1} it's </>", "<p>{x}</p>", "<br/>\n/* c */", "<a href=\"/x/\">{f(1)}/{2}</a>", "<i>{n / 2}/{m}</i>"} {
		if out, err := stripTypes("const e = "+src, "v.tsx"); err != nil || !strings.Contains(out, "React.createElement") {
			t.Errorf("JSX: %s: %q, %v", src, out, err)
		}
	}
}

// TestTooDeep: whatever makes a parser recurse is counted, and ordinary code is not.
func TestTooDeep(t *testing.T) {
	const n = maxNesting + 1
	repeat := func(s string) string { return strings.Repeat(s, n) }
	long := func(s string) string { return strings.Repeat(s, maxLinks+2) }
	many := func(s string) string { return strings.Repeat(s, maxCheap+1) }
	for _, src := range []string{
		repeat("("), repeat("["), repeat("{"), repeat("`${"), repeat("({a:"), repeat("[..."), "let x: " + many("A<"), "let x: " + many("A<B,"), "let x: " + repeat("(a)=>") + "A",
		repeat("!") + "1", repeat("- ") + "1", repeat("a=>") + "1", repeat("a=>\n") + "1", repeat("async a=>") + "1", repeat("a=") + "1", repeat("a\n=") + "1",
		many("a?") + "1" + many(":1"), "a" + many("?b:c"), many("a?(b"), strings.Repeat("(a?(b):c=>", 9), strings.Repeat("(a?async(b):c=>", 9), "a" + many("?b\nin c"), "a" + many("?function(){}\n"), "a" + repeat("**a"), repeat("if(1)") + ";", repeat("if(1)\n") + ";", repeat("while(1)") + ";",
		repeat("for(;;)") + ";", repeat("do "), repeat("l:") + ";", repeat("l:\n") + ";", repeat("new ") + "a", repeat("await ") + "1", repeat("typeof ") + "1",
		"function* g(){" + repeat("yield ") + "1}", repeat("function f(){"), repeat("x=function(){"), repeat("class A{static x="), repeat("class extends "),
		"type X=" + repeat("A extends B?C:") + "D", "let x: " + repeat("keyof ") + "A", "let x: " + repeat("keyof\n") + "A", repeat("<a>{"),
		repeat("x=>function(){}\n||"), repeat("if(a){}else for(;;)"), "if(a){}" + repeat("else do if(a){}"), "a" + repeat("** -a"), "a&&" + repeat("!") + "b",
		"a" + long(".b"), "a" + long("?.b"), "a" + long("()"), "a" + long("?.()"), "a" + long("[0]"), "a" + long("``"), "a" + long(".b(c)"), "a" + long("\n.b"), "(a" + long(".b") + ")",
		"a" + repeat("=b==c"), "`${a}" + repeat("${a?b:`${") + "1", repeat("!!="),
		"a" + long(",a"), "a" + long(",\na"), "a" + long(",a\nin b"), "a" + long(",()=>{}"), "a" + long(",(b,c)"), "a" + long(",b[c,d]"), "x = (a" + long(",a()") + ")",
		"(a" + long(",a") + ")", "x[a" + long(",a") + "]", "if (a" + long(",a") + ");", "for (a" + long(",a") + ";;);", "`${a" + long(",a") + "}`", "f((a" + long(",a") + "))", "[(a" + long(",a") + ")]",
		"{ a" + long(",a") + "}", "return a" + long(",a"), "() => (a" + long(",a") + ")", strings.Repeat("(", 20) + "a" + strings.Repeat(strings.Repeat(",a", 60)+")", 20), "a" + long(", function() {}"), "a" + long(",{}"),
		strings.Repeat("f((", 10) + "a" + strings.Repeat(strings.Repeat(",a", 110)+"))", 10), "a" + long(",class {}"), "enum A { b = (c" + long(",c") + ") }",
		long("if(a);else ") + ";", long("if(a){}else "), long("'a'+") + "b", "a" + long("+'a'"), "a" + long("+`a`") + "+b",
	} {
		if tooDeep(src, maxNesting, true).line == 0 {
			t.Errorf("not too deep: %.60q", src)
		}
	}
	for _, src := range []string{
		"1" + repeat("+a") + repeat("+a"), "a" + repeat(".b()"), "a" + repeat(",a"), "if(a){}" + repeat("else if(a){}"), "let x: A" + repeat("[]"),
		long("x = 'a' + b + 'c';"), long("a.b(c);"), long("a.b(c)\n"), "a" + long("+b.c()"), "f(" + long("a.b,") + ")", long("function f() { if (a) {} else if (b) {} }\n"),
		"f(a" + long(",a") + ")", "[a" + long(",a") + "]", "x = {a" + long(",a") + "}", "enum A {" + long("a,") + "}", "[" + long("[1,2,(a,b)],") + "]", "x = {" + long("a: (b, c) => { f(b, c) },") + "}",
		long("a, b\n"), long("a, b;"), long("if (x) { a, b } "), long("let a, b\n"), "type A = {" + long("a: b,") + "}", "f(" + long("{a: 1, b: 2},") + ")", "for (;;) {" + long("f(a, b)\nlet c = a, d;") + "}",
		"a" + repeat("||b===1") + repeat("&&b!=c"), "switch(a){" + repeat("case 1:\n") + "}", "`" + repeat("<b>${a ? b : c.map((d) => d)}</b>") + "`",
		repeat("!a&&") + "b", repeat("typeof a === b || "), repeat("a<1&&") + "b", repeat("a??") + "b", "a" + repeat("?b:c"), "a" + repeat("?f(b):c"), repeat("let x: Map<A, B<C>>\n"), "x!" + repeat("/2"),
		repeat("const a = b ? c ? d : e : f\n"), "f(" + repeat("a! as B<C>,") + ")", "const r = /[(]/; i++ / 2", "(a + b)\n/ 2", repeat("if (a) { b } else { c }\nd\n"),
		repeat("let a = b ? c : d\nfoo(a)\nif (x) { y = 1 }\n"), repeat("const f = (x: number) => x + 1;\n"), "[" + repeat("{ a: 1, b: [2] },") + "]",
	} {
		if e := tooDeep(src, maxNesting, true); e.line != 0 {
			t.Errorf("too deep at line %d (%s): %.60q", e.line, e.why, src)
		}
	}
	_, err := stripTypes("\n"+repeat("a=>")+"1", "deep.ts")
	var e *syntaxError
	if !errors.As(err, &e) || e.Line != 2 || e.Text != "TypeScript nested deeper than 32 levels" {
		t.Errorf("%v", err)
	}
	_, err = stripTypes("\na"+long(".b"), "long.ts")
	if !errors.As(err, &e) || e.Line != 2 || e.Text != "more than 1000 links, else ifs or added strings in one statement" {
		t.Errorf("%v", err)
	}
}

// TestTooDeepHidden: nothing hides from the count in what may be read in two ways.
func TestTooDeepHidden(t *testing.T) {
	deep := strings.Repeat("(()=>", maxNesting+1)
	for _, src := range []string{
		"var of = 1; of /" + deep + "/ 1", "x! /" + deep + "/ 1", "x = class {} /" + deep + "/ 1", "x = function () {} /" + deep + "/ 1", "f<number> /" + deep + "/ 1",
		"type A = B\n/\"/;" + deep + "\"\"", "break\n/\"/;" + deep + "\"\"", "for await (a of b) /\"/;" + deep + "\"\"", "a\n++/\"/;" + deep + "\"\"", "a\n!/\"/;" + deep + "\"\"",
		"return\u00a0/\"/;" + deep + "\"\"", "// \u2028" + deep, "\"\\\r\n \"" + deep + "\"\"", "<!-- `\n" + deep + "`", "\n--> `\n" + deep + "`", "await /" + deep + "/ 1", "yield /" + deep + "/ 1",
	} {
		if tooDeep(src, maxNesting, true).line == 0 {
			t.Errorf("it was not seen: %.60q", src)
		}
	}
}

// TestEnumsTooLarge: values that double, and long ones that are used often, are refused before esbuild writes them.
func TestEnumsTooLarge(t *testing.T) {
	double := func(head, item string) string {
		for i := 1; i < 40; i++ {
			head += strings.NewReplacer("$", "a"+strconv.Itoa(i), "@", "a"+strconv.Itoa(i-1), "%", strconv.Itoa(i)).Replace(item)
		}
		return head
	}
	long := strings.Repeat("x", 50_000)
	for _, src := range []string{
		double("enum A { a0 = 'xx',", "$ = @ + @,") + "}", double("enum A { a0 = 'xx',", "$ = A.@ + A['@'],") + "}",
		strings.ReplaceAll(double("enum A { a0 = 'xx',", "$ = `#{@}#{@}`,"), "#", "$") + "}", double("const enum A { a0 = 'xx',", "'$' = @ + @,") + "}; f(A.a39)",
		double("enum A0 { a0 = 'xx' }", "enum B$ { $ = B@.@ + B@.@ }"), double("enum A { a0 = typeof 1,", "$ = (@ + @),") + "}",
		double("enum A { a0 = 'xx',", `$ = \u0061`+"@"[1:]+"+ @ + @,") + "}",
		double("enum A { a0 = 'xx',", `'\x61%' = @ + @,`) + "}", double("enum A { a0 = 'xx',", `\u0061% = @ + @,`) + "}",
		"enum A { a = '" + long + "' }" + strings.Repeat("A.a;", 1000), "enum A { a = '" + long + "' }" + strings.Repeat(`A.\u0061;`, 1000),
		"enum A { a = '" + long + "' }" + strings.Repeat("A['a'];", 1000), "enum A { ['a'] = '" + long + "' }" + strings.Repeat("A.a;", 1000),
	} {
		if !enumsTooLarge(src) {
			t.Errorf("not too large: %.100q", src)
		}
	}
	flags, names := "enum F { f0 = 1,", "enum N { n0 = 'name 0',"
	for i := 1; i < 500; i++ {
		flags += fmt.Sprintf("f%d = f%d + 1,", i, i-1)
		names += fmt.Sprintf("n%d = `${BASE}/name ` + 'number %d',", i, i)
	}
	for _, src := range []string{
		flags + "}" + strings.Repeat("F.f1;", 1000), names + "}" + strings.Repeat("N.n1;", 5000), "enum E { P, Q = 5, R = P | Q }\nE.Q",
		"const schema = { enum: ['a', 'b'], x: '" + long + "' };" + strings.Repeat("schema['x'];", 2000),
	} {
		if enumsTooLarge(src) {
			t.Errorf("too large: %.100q", src)
		}
	}
	if _, err := stripTypes(double("enum A { a0 = 'xx',", "$ = @ + @,")+"}", "a.ts"); err == nil || !strings.Contains(err.Error(), "enums are more than 16 MiB") {
		t.Errorf("%v", err)
	}
}

// FuzzStripTypes: what esbuild accepts keeps each statement at or after its line, and never panics.
func FuzzStripTypes(f *testing.F) {
	for _, s := range []string{"let a: number = 1", "enum A { B }\nA.B", "`a\n${b}\n`", "class A { private x = 1 }", "// c\nf(/* d */)\n", "a\n\n\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<12 {
			return
		}
		out, err := stripTypes(src, "f.ts")
		if err == nil && strings.Count(out, "\n") > 2*strings.Count(src, "\n")+len(out) {
			t.Errorf("%q became %q", src, out)
		}
	})
}

// FuzzRelay: nothing but blanks and line breaks is added, whatever the mappings say.
func FuzzRelay(f *testing.F) {
	f.Add("const a = 1;\nf( a );\n`x\n${a} y`", "AAEA,MAAM,IAAO;AAAA,EACX,GAAG;;AAAE")
	f.Add("x;\nx;", ";,;ggggggggggggggE")
	f.Fuzz(func(t *testing.T, code, mappings string) {
		if len(code)+len(mappings) > 1<<12 || !utf8.ValidString(code) {
			return
		}
		segments := decodeMappings(mappings)
		for _, line := range segments {
			for i := range line { // esbuild's are of the source
				line[i].column, line[i].origColumn = max(0, line[i].column), line[i].origColumn&0xff
			}
		}
		tight := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
		if got := relay(code, segments, 20); tight(got) != tight(code) {
			t.Errorf("%q became %q", code, got)
		}
	})
}

// TestColumns: what is left stands where it was.
func TestColumns(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"const f: Fn = (a: string) => { throw new TypeError(a as string); };", "const f     = (a        ) => { throw new TypeError(a          ); };"},
		{"type A = 1;\n\tlet   x:number=1, y  =  g( x );", "\n let   x       =1, y  =  g( x );"},
		{"const q = {a:1,b:[2,3]} as const; throw q", "const q = {a:1,b:[2,3]}         ; throw q;"},
		{"const s = `a${ x as string }b`; throw s", "const s = `a${ x           }b`; throw s;"},
		{"const s = \"𝒳\" as string; throw s", "const s = \"𝒳\"          ; throw s;"},
	} {
		got, err := stripTypes(c.in, "main.ts")
		if err != nil {
			t.Fatal(err)
		}
		mark := func(s string) int { return strings.Index(s, "throw") }
		if mark(got) != mark(c.in) && mark(c.in) >= 0 || tightly(got) != tightly(c.out) {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", c.in, got, c.out)
		}
	}
}

func tightly(s string) string { return strings.Join(strings.Fields(s), "") }
