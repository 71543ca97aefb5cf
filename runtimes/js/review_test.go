package js

import (
	"fmt"
	"strings"
	"testing"
)

func TestReview(t *testing.T) {
	denied := []string{"child_process", "fs.rmSync", "eval", "Function", "process.exit", "fetch", "node:net", "fs/promises"}
	for _, c := range []struct{ src, want string }{
		{"eval('1')", "1 eval"},
		{"const a = 1\n;(0, eval)('1')\nnew Function('x')", "2 eval, 3 Function"},
		{"globalThis.eval('1'); globalThis['eval']; global?.process.exit(1)", "1 eval, 1 process.exit"},
		{"import cp from 'node:child_process'\nimport { rmSync as r } from 'fs'\nr('x')", "1 child_process, 2 fs.rmSync, 3 fs.rmSync"},
		{"import * as fs from 'fs'\nfs.readFileSync('x')\nfs.rmSync('x')", "3 fs.rmSync"},
		{"const fs = require('node:fs'), x = 1\nfs['rmSync']('x')", "2 fs.rmSync"},
		{"const { rmSync, readFileSync: read } = require('fs')\nread()", "1 fs.rmSync"},
		{"const { readFileSync } = require('fs')", ""},
		{"require('fs').rmSync('x')", "1 fs.rmSync"},
		{"const { exec } = await import('child_process')", "1 child_process"},
		{"import net from 'net'", "1 net"},
		{"import { readFile } from 'node:fs/promises'", "1 fs/promises"},
		{"process.exit(0)\nprocess.stdout.write('')\nconst e = process.exit", "1 process.exit, 3 process.exit"},
		{"class A { eval() { return this.eval } fetch(a, b) {} }\nconst o = { eval: 1, fetch: 2 }\no.eval; o?.fetch", ""},
		{"const fetch = (u) => u\nfetch('x')\nfunction Function() {}", ""},
		{"'eval'; `eval ${1}`; /eval/; // eval\n/* fetch */", ""},
		{"`${eval('1')}`", "1 eval"},
		{"x ? eval : fetch", "1 eval, 1 fetch"},
		{"await fetch('u').then(r => r)", "1 fetch"},
	} {
		m := scanModule(c.src, nil)
		var got []string
		for _, f := range review(m.source, m.imports, denied, nil) {
			got = append(got, fmt.Sprint(f.line, " ", f.name))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s\nfound %s\nwant  %s", c.src, s, c.want)
		}
	}
}

// TestReviewPauses: what is read ahead, again and again, is work between which the run is looked at, and open brackets are no more of it.
func TestReviewPauses(t *testing.T) {
	for _, src := range []string{
		strings.Repeat(";a(b,c", 1<<14), strings.Repeat(";a(", 1<<14),
		strings.Repeat(";a(", 100) + "'" + strings.Repeat("x", 1<<18) + "'", strings.Repeat(";a(", 100) + "`" + strings.Repeat("x", 1<<18) + "`",
	} {
		pauses := 0
		review(src, nil, []string{"eval"}, func() { pauses++ })
		if pauses < 10 {
			t.Errorf("%.20q…: %d pauses", src, pauses)
		}
	}
	if found := review(strings.Repeat("eval;", 2*maxFindings), nil, []string{"eval"}, nil); len(found) > maxFindings {
		t.Errorf("%d findings", len(found))
	}
}

func FuzzReview(f *testing.F) {
	f.Add("const { a, b: c } = require('fs')\nc[`x`]?.['y'](eval)")
	f.Add("import a, { b as c } from 'x'; class A { eval() {} }")
	f.Fuzz(func(t *testing.T, src string) {
		m := scanModule(src, nil)
		for _, f := range review(m.source, m.imports, []string{"eval", "fs.rm", "x"}, nil) {
			if f.line < 1 || f.line > 1+strings.Count(src, "\n") {
				t.Errorf("line %d of %q", f.line, src)
			}
		}
	})
}
