package js_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
)

// TestLaidOut: package layout knows the form of the interpreter's machine code. If it fails with a new wazero, see there.
func TestLaidOut(t *testing.T) {
	if got, want := newSandbox(t).baked.LaidOut, runtime.GOARCH == "amd64"; got != want {
		t.Errorf("laid out: %v, want %v", got, want)
	}
}

func TestLastValue(t *testing.T) {
	for _, c := range []struct{ source, text, json string }{
		{"1+1", "2", "2"},
		{"x = 1", "1", "1"},
		{"0.1+0.2", "0.30000000000000004", "0.30000000000000004"},
		{"-0", "-0", "-0"},
		{"1e21", "1e+21", "1e+21"},
		{"1e-7", "1e-7", "1e-7"},
		{"123456789012345680000", "123456789012345680000", "123456789012345680000"},
		{"NaN", "NaN", ""},
		{"-1/0", "-Infinity", ""},
		{"true", "true", "true"},
		{"null", "null", "null"},
		{"undefined", "", ""},
		{"let y = 5", "", ""},
		{"let z = 5; z", "5", "5"},
		{"'text'", "'text'", `"text"`},
		{"'\\ud800 é'", `'\ud800 é'`, `"\ud800 é"`},
		{"10n", "10n", ""},
		{"Symbol('s')", "Symbol(s)", ""},
		{"(() => 1)", "[Function (anonymous)]", ""},
		{"({a: [1, 'b', null, {c: true}]})", "{ a: [ 1, 'b', null, { c: true } ] }", `{"a":[1,"b",null,{"c":true}]}`},
		{"({a: undefined})", "{ a: undefined }", ""},
		{"[1, , 3]", "[ 1, <1 empty item>, 3 ]", ""},
		{"[NaN]", "[ NaN ]", ""},
		{"new Map([[1, 2]])", "Map(1) { 1 => 2 }", ""},
		{"new Date(0)", "1970-01-01T00:00:00.000Z", ""},
		{"Object.create(null)", "[Object: null prototype] {}", "{}"},
		{"({toJSON() { return 1 }})", "{ toJSON: [Function: toJSON] }", ""},
		{"({get a() { return 1 }})", "{ a: [Getter] }", ""},
		{"({$bytes: 5})", "{ '$bytes': 5 }", ""},
		{"var o = {}; o.o = o; o", "<ref *1> { o: [Circular *1] }", ""},
		{"Promise.resolve(42)", "42", "42"},
		{"Promise.resolve({a: 1}).then(o => o.a + 1)", "2", "2"},
		{"new Promise(() => {})", "Promise { <pending> }", ""},
		{"await Promise.resolve('w')", "'w'", `"w"`},
		{"const r = await (async () => 7)(); r * 6", "42", "42"},
		{"await null; Promise.resolve(3)", "3", "3"},
		{"new Promise(r => setTimeout(r, 5, 'later'))", "'later'", `"later"`},
		{"if (true) { 'branch' }", "'branch'", `"branch"`},
		{"for (const i of [1, 2, 3]) i * 2", "6", "6"},
		{"import { join } from 'node:path'; join('a', 'b')", "'a/b'", `"a/b"`},
		{"export default 5 * 5", "25", "25"},
		{"export const answer = 42; answer", "42", "42"},
		{"({}).x", "", ""},
		{"'use strict'; this === globalThis", "true", "true"},
	} {
		t.Run(c.source, func(t *testing.T) {
			r := run(t, c.source)
			if r.main() != c.text || r.json() != c.json {
				t.Errorf("shown %q, JSON %q; want %q, %q", r.main(), r.json(), c.text, c.json)
			}
		})
	}
}

// TestTurns runs the turns of one session and checks what each prints, after it "= " and the last value, or "! " and the error.
func TestTurns(t *testing.T) {
	for name, turns := range map[string][][2]string{
		"names last": {
			{"const a = 1; let b = 2; var c = 3; function f() { return a + b + c } class K { m() { return f() } }", ""},
			{"console.log(a, b, c, f(), new K().m(), typeof K)", "1 2 3 6 6 function\n"},
			{"b = 20; c = 30", "= 30"},
			{"f()", "= 51"},
		},
		"declared again": {
			{"const x = 1; const show = () => x", ""},
			{"const x = 2; console.log(x, show())", "2 2\n"},
			{"let x = 3; x++; console.log(x)", "4\n"},
			{"var x = 5; console.log(x)", "5\n"},
			{"const x = 6; console.log(x)", "6\n"},
			{"function x() { return 7 }; console.log(x())", "7\n"},
			{"class x {}; console.log(typeof x)", "function\n"},
			{"let x; console.log(x)", "undefined\n"},
			{"const { x, y } = { x: 8, y: 9 }; console.log(x, y)", "8 9\n"},
			{"const [x, ...y] = [1, 2, 3]; console.log(x, y)", "1 [ 2, 3 ]\n"},
			{"const self = this; const x = self === globalThis; console.log(x)", "true\n"},
		},
		"const stays const": {
			{"const k = 1", ""},
			{"k = 2", "! TypeError"},
			{"k", "= 1"},
			{"const k = 3; try { k = 4 } catch (e) { console.log(e.name) } k", "TypeError\n= 3"},
		},
		"twice in one turn is an error": {
			{"let q = 1; let q = 2", "! SyntaxError"},
			{"let q = 3; q", "= 3"},
		},
		"await": {
			{"const data = await Promise.resolve([1, 2]); let n = data.length", ""},
			{"n + data[1]", "= 4"},
			{"const data = await 5; data", "= 5"},
		},
		"a turn that throws leaves the rest": {
			{"let kept = 1", ""},
			{"kept = 2; missing.call()", "! ReferenceError"},
			{"kept", "= 2"},
			{"const late = (() => { throw new Error('x') })()", "! Error"},
			{"typeof late", "= 'undefined'"},
			{"const late = 1; late", "= 1"},
		},
		"imports last": {
			{"import { readFileSync } from 'fs'; import * as path from 'node:path'; const local = 1", ""},
			{"typeof readFileSync + path.join('a', 'b') + local", "= 'functiona/b1'"},
			{"const path = 'mine'; path", "= 'mine'"},
			{"import path from 'path'; path.sep", "= '/'"},
			{"readFileSync = 1", "= 1"},
		},
		"what a turn left undone is dropped": {
			{"setTimeout(() => console.log('late'), 50); Promise.resolve().then(() => { throw new Error('now') }); 1", "! Error"},
			{"console.log('next')", "next\n"},
			{"process.nextTick(() => console.log('tick')); (async () => { await null; console.log('job') })(); throw 1", "! number"},
			{"await new Promise(r => setTimeout(r, 60)); console.log('quiet')", "quiet\n"},
		},
		"exit does not end a session": {
			{"let v = 1; setTimeout(() => console.log('never'), 1); Promise.resolve().then(() => console.log('never')); process.exit(3)", "exit 3"},
			{"console.log(v)", "1\n"},
			{"process.exit()", ""},
			{"process.exitCode = 4", "= 4\nexit 4"},
			{"1", "= 1"},
		},
		"prototypes stay patched": {
			{"Array.prototype.second = function () { return this[1] }; 1", "= 1"},
			{"[1, 2].second()", "= 2"},
			{"JSON.stringify = () => 'hacked'; ({ a: 1 })", "= { a: 1 }"},
		},
		"exit listeners belong to their turn": {
			{"process.on('exit', c => console.log('bye', c)); 1", "= 1\nbye 0"},
			{"2", "= 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.session = true
			for i, turn := range turns {
				r := s.turn(turn[0])
				if r.err != nil {
					t.Fatal(r.err)
				}
				got := r.stdout
				if r.Error != nil {
					got += "! " + r.Error.Name
				} else {
					if r.main() != "" {
						if i := strings.Index(got, "bye"); i >= 0 {
							got = "= " + r.main() + "\n" + strings.TrimSpace(got)
						} else {
							got += "= " + r.main()
						}
					}
					if r.ExitCode != 0 {
						got = strings.TrimSpace(got + "\n" + fmt.Sprint("exit ", r.ExitCode))
					}
				}
				if got != turn[1] {
					t.Errorf("turn %d: %s\ngave %q, want %q\nstderr: %s", i+1, turn[0], got, turn[1], r.stderr)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		source, name, value string
		line                int
		stderr              string // a part of it
	}{
		{"null.x", "TypeError", "Cannot read properties of null (reading 'x')", 1, "Uncaught TypeError: Cannot read properties of null (reading 'x')\n    at main.js:1:1"},
		{"\n\nmissing()", "ReferenceError", "missing is not defined", 3, "main.js:3\nmissing()\n^\n\nUncaught ReferenceError: missing is not defined\n    at main.js:3:1"},
		{"function f() {\n  g();\n}\nfunction g() {\n  throw new RangeError('deep')\n}\nf()", "RangeError", "deep", 5, "    at g (main.js:5:13)\n    at f (main.js:2:3)\n    at main.js:7:1"},
		{"let a = 1;\nlet b = ;\n", "SyntaxError", "Unexpected token ';'", 2, "SyntaxError"},
		{"f(1 +", "SyntaxError", "Unexpected end of input", 1, "SyntaxError"},
		{"{\n  let total = 1;\n  const total = 2;\n}", "SyntaxError", "Identifier 'total' has already been declared", 3, "SyntaxError"},
		{"console.log('x'", "SyntaxError", "Unexpected end of input", 1, "Uncaught SyntaxError"},
		{"class A { #z }\n  new A().#q;", "SyntaxError", "Private field '#q' must be declared in an enclosing class", 2, "main.js:2:11\n"},
		{"\n#x in {}", "SyntaxError", "Private field '#x' must be declared in an enclosing class", 2, "main.js:2:1\n"},
		{"const ok = /a/\nconst b = 4 / 2, r = /[z-a]/g", "SyntaxError", "Invalid regular expression: /[z-a]/g: invalid class range", 2, "main.js:2:22\n"},
		{"throw 'text'", "string", "text", 0, "Uncaught 'text'"},
		{"throw { code: 418 }", "Object", "{ code: 418 }", 0, "Uncaught { code: 418 }"},
		{"throw null", "object", "null", 0, "Uncaught null"},
		{"throw undefined", "undefined", "undefined", 0, "Uncaught undefined"},
		{"throw new Proxy({}, { get() { throw 1 } })", "Object", "{}", 0, "Uncaught {}"},
		{"throw Object.assign(new Error('with'), { code: 'E1', info: { a: 1 } })", "Error", "with", 1, "code: 'E1',\n  info: { a: 1 }"},
		{"throw new Error('outer', { cause: new TypeError('inner') })", "Error", "outer", 1, "[cause]: TypeError: inner"},
		{"class MyError extends Error {}\nthrow new MyError('mine')", "MyError", "mine", 2, "Uncaught MyError: mine"},
		{"class V extends Error { constructor(m) { super(m); this.name = 'V' } }\nthrow new V('named')", "V", "named", 2, "Uncaught V: named"},
		{"throw new AggregateError([new Error('a')], 'many')", "AggregateError", "many", 1, "[errors]: ["},
		{"async function load() {\n  throw new TypeError('rows');\n}\nload();", "TypeError", "rows", 2, "Uncaught TypeError: rows"},
		{"Promise.reject(new Error('lost'))", "Error", "lost", 1, "Uncaught Error: lost"},
		{"Promise.reject('text')", "string", "text", 0, "Uncaught 'text'"},
		{"await Promise.reject(new Error('awaited'))", "Error", "awaited", 1, "Uncaught Error: awaited"},
		{"await null;\nnull.x", "TypeError", "Cannot read properties of null (reading 'x')", 2, "main.js:2"},
		{"setTimeout(() => {\n  throw new Error('timer')\n}, 1)", "Error", "timer", 2, "Uncaught Error: timer"},
		{"queueMicrotask(() => { throw new Error('job') })", "Error", "job", 1, "Uncaught Error: job"},
		{"process.nextTick(() => { throw new Error('tick') })", "Error", "tick", 1, "Uncaught Error: tick"},
		{"setImmediate(() => { throw new Error('imm') })", "Error", "imm", 1, "Uncaught Error: imm"},
		{"import _ from 'lodash';", "Error", "Cannot find package 'lodash' imported from main.js", 1, "Cannot find package 'lodash'"},
		{"\nimport x from './none.js'", "Error", "Cannot find module './none.js' imported from main.js", 2, "ERR_MODULE_NOT_FOUND"},
		{"import { nope } from 'node:fs'", "SyntaxError", "The requested module 'node:fs' does not provide an export named 'nope'", 1, "nope"},
		{"require('axios')", "Error", "Cannot find module 'axios'\nRequire stack:\n- main.js", 1, "MODULE_NOT_FOUND"},
		{"import sqlite from 'node:sqlite'", "Error", "Cannot use module 'node:sqlite' in this sandbox: it is not available in JavaScript; Python has sqlite3", 1, "Python has sqlite3"},
		{"import net from 'net'; net.connect(80)", "Error", "net.connect is not available in this sandbox: there are no sockets; use fetch, http.request or https.request", 1, ""},
		{"await import('https://x/y.js')", "Error", "Cannot import 'https://x/y.js': only files of the sandbox and node: modules can be imported", 0, ""},
		{"const f = n => f(n + 1) + 1; f(0)", "RangeError", "Maximum call stack size exceeded", 1, "Maximum call stack"},
		{"JSON.parse('{\"a\":')", "SyntaxError", "", 1, "JSON.parse"},
		{"import * as fs from 'fs';\nfs.readFileSync('none.txt')", "Error", "ENOENT: no such file or directory, open 'none.txt'", 2, "ENOENT"},
		{"require('child_process').execSync('ls')", "Error", "child_process.execSync is not available in this sandbox: programs cannot start processes here; do the work in JavaScript", 1, ""},
		{"new Worker('x')", "ReferenceError", "Worker is not defined", 1, ""},
		{"require('assert').strictEqual(1, 2)", "AssertionError", "Expected values to be strictly equal:\n\n1 !== 2\n", 1, "AssertionError [ERR_ASSERTION]"},
		{"[1].map(function cb() { throw new Error('in map') })", "Error", "in map", 1, "    at cb (main.js:1:"},
		{"eval('1 +')", "SyntaxError", "", 1, ""},
		{"new Function('return ]')", "SyntaxError", "", 1, ""},
		{"fetch('http://example.com/')", "TypeError", "fetch failed: the sandbox has no network", 1, "PermissionError"},
		{"await new Promise(() => {})", "Error", "a top-level await never settled: nothing is left that could settle its promise", 0, "unsettled top-level await"},
		{"'x'.repeat(2 ** 31)", "RangeError", "", 1, ""},
	} {
		t.Run(c.source, func(t *testing.T) {
			r := newSandbox(t).turn(c.source)
			if r.err != nil || r.Error == nil || r.ExitCode == 0 {
				t.Fatalf("error %v, exit code %d, exception %v", r.err, r.ExitCode, r.Error)
			}
			if r.Error.Name != c.name || c.value != "" && r.Error.Value != c.value || r.Error.Line != c.line {
				t.Errorf("%s: %q, line %d\nwant %s: %q, line %d", r.Error.Name, r.Error.Value, r.Error.Line, c.name, c.value, c.line)
			}
			if !strings.Contains(r.stderr, c.stderr) {
				t.Errorf("standard error is\n%s\nwithout\n%s", r.stderr, c.stderr)
			}
			for _, text := range []string{r.Error.Traceback, r.stderr} {
				if strings.Contains(text, "cloche:") {
					t.Errorf("a frame of ours is shown:\n%s", text)
				}
			}
			if r.stdout != "" {
				t.Errorf("standard output: %q", r.stdout)
			}
		})
	}
}

// TestNotCalled: the interpreter's place of a call is that of the last call, function or object of a class among its arguments.
func TestNotCalled(t *testing.T) {
	for call, want := range map[string]string{
		"top.nope(id(1))":                              "top.nope is not a function",
		"top.nope(async function () {})":               "top.nope is not a function",
		"top.nope(async (x) => x)":                     "top.nope is not a function",
		"top.nope(new Map())":                          "top.nope is not a function",
		"new top.nope(id(1))":                          "top.nope is not a constructor",
		"new nothing(id(id(1)))":                       "nothing is not a constructor",
		"console.log(top.nope(1))":                     "top.nope is not a function",
		"console.log(`${top.nope(id(1))}`)":            "top.nope is not a function",
		"top.list.nope((x) => id(x))":                  "top.list.nope is not a function",
		"local.nope(id(1))":                            "local.nope is not a function",
		"local.nope(\n  id(1),\n)":                     "local.nope is not a function",
		"local.nope({\n  a: id(1),\n  b: [id(2)],\n})": "local.nope is not a function",
		"local.nope(own(1))":                           "own is not a function, or local.nope is not a function",
		"own(local.nope(1))":                           "local.nope is not a function, or own is not a function",
		"own(1); local.nope()":                         "local.nope is not a function",
		"if (own(1)) { local.nope() }":                 "local.nope is not a function",
		"[1].map((x) => local.nope(x))":                "local.nope is not a function",
		"id(function () {\n  local.nope(1);\n})()":     "local.nope is not a function",
		"'abc'.nope(id(1))":                            "(intermediate value).nope is not a function",
		"top['no' + id('pe')](1)":                      "not a function",
		"const x = 5; x()":                             "x is not a function",
	} {
		source := "const top = { list: [] }, id = (x) => x; let nothing;\nfunction run(local, own) {\n" + call + "\n}\ntry { run({}, id) } catch (e) { console.log(e.message) }"
		if got := run(t, source).stdout; got != want+"\n" {
			t.Errorf("%s: %s", call, got)
		}
	}
}

// TestWordsOfErrors: where the interpreter's words would say nothing, or name something else, to whoever knows Node.
func TestWordsOfErrors(t *testing.T) {
	for source, want := range map[string]string{
		"for (const x of object) ;":                "object is not iterable",
		"console.log(); for (const x of object) ;": "object is not iterable",
		"[...object]":                     "object is not iterable",
		"for (const x of object.get()) ;": "value is not iterable",
		"const { a } = object.none":       "Cannot destructure a value that is undefined or null",
		"[null].map(({ id }) => id)":      "Cannot destructure property 'id' of a value that is undefined or null",
		"object.only = 1":                 "Cannot set property only of an object which has only a getter",
		"frozen.b = 1":                    "Cannot add property b, object is not extensible",
		"delete frozen.a":                 "Cannot delete property a of an object",
		"class A { #p; static m(o) { return o.#p } } A.m({})": "Cannot access private member #p of an object whose class did not declare it",
		"class Foo {} Foo()": "Class constructor Foo cannot be invoked without 'new'",
		"new Map([1])":       "Iterator value is not an entry object",
		"BigInt('1.5')":      "Cannot convert value to a BigInt",
		"'a' in 'b'":         "Cannot use 'in' operator to search for a key in a value that is no object",
		"[2, 1].sort(5)":     "The comparison function must be either a function or undefined",
		"Object.keys(null)":  "Cannot convert undefined or null to object",
	} {
		got := run(t, "'use strict'; const object = { inner: {}, get() { return {} }, get only() { return 1 } }, frozen = Object.freeze({ a: 1 });\ntry {\n"+
			source+"\n} catch (e) { console.log(e.message) }").stdout
		if !strings.HasSuffix(got, want+"\n") {
			t.Errorf("%s: %s", source, got)
		}
	}
}

func TestHints(t *testing.T) {
	for source, part := range map[string]string{
		"import 'lodash'":                        "npm packages",
		"document.body":                          "no browser",
		"Deno.readFile":                          "node:fs",
		"(function f() { f() })()":               "recursion",
		"await fetch('http://x/')":               "no network",
		"require('fs').mkdirSync('/readonly/x')": "read-only",
		"interface A { x: number }":              "typescript",
		"Temporal.Now.instant()":                 "Date",
		"Atomics.add(a, 0, 1)":                   "no threads",
		"import fs from 'node:fs'; let n: number = fs.x as any; await n": "typescript",
	} {
		if r := newSandbox(t).turn(source); r.Error == nil || !strings.Contains(r.Error.Hint, part) {
			t.Errorf("%s: %+v, want a hint with %q", source, r.Error, part)
		}
	}
}

// What is no TypeScript either gets no hint that it were.
func TestNoHintOfTypeScript(t *testing.T) {
	for _, source := range []string{"let x = ;", "let x: number = ;", "function f() { await g(); }", "return: 5 5", "eval('let x: number')"} {
		if r := newSandbox(t).turn(source); r.Error == nil || r.Error.Name != "SyntaxError" || r.Error.Hint != "" {
			t.Errorf("%s: %+v", source, r.Error)
		}
	}
}

func TestWhereAStatementCouldEnd(t *testing.T) {
	for source, want := range map[string]string{
		"function f() { await g(); }": "await is only valid in async functions and the top level bodies of modules",
		"let x = 5 6":                 "Unexpected number",
		"print 'x'":                   "Unexpected string",
		"let q = 1 `t`; a `u` b":      "Unexpected identifier 'b'",
		"foo größe":                   "Unexpected identifier 'größe'",
		"x = y => { z } ()":           "Unexpected token '('",
		"f() catch (e) {}":            "Unexpected token 'catch'",
		"let a = 1\n  let b = a c":    "Unexpected identifier 'c'",
		"const z;":                    "Missing initializer in const declaration",
		"5 = x":                       "Invalid left-hand side in assignment",
		"break":                       "Illegal break statement",
		"try { x() }":                 "Missing catch or finally after try",
	} {
		if r := newSandbox(t).turn(source); r.Error == nil || r.Error.Value != want {
			t.Errorf("%s: %+v, want %s", source, r.Error, want)
		}
	}
}

func TestNothingRunsAfterSyntaxError(t *testing.T) {
	for _, source := range []string{"console.log('ran');\nlet x = ;", "import 'node:fs'; console.log('ran'); await 1; let x = ;"} {
		if r := newSandbox(t).turn(source); r.stdout != "" || r.Error == nil || r.Error.Name != "SyntaxError" {
			t.Errorf("%s: printed %q, error %+v", source, r.stdout, r.Error)
		}
	}
}

func TestExit(t *testing.T) {
	for _, c := range []struct {
		source string
		code   int
		stdout string
	}{
		{"process.exit(2); console.log('never')", 2, ""},
		{"try { process.exit(3) } catch (e) { console.log('caught', e) } finally { console.log('finally') }", 3, ""},
		{"(async () => { try { process.exit(4) } catch { console.log('caught') } })().catch(() => console.log('caught')); console.log('never')", 4, ""},
		{"Promise.resolve().then(() => process.exit(5)).then(() => console.log('never')).catch(() => console.log('never'))", 5, ""},
		{"setTimeout(() => process.exit(6), 1); setTimeout(() => console.log('never'), 20)", 6, ""},
		{"[3, 1, 2].sort(() => process.exit(7)); console.log('never')", 7, ""},
		{"new Proxy({}, { get() { process.exit(8) } }).x; console.log('never')", 8, ""},
		{"`${{ toString() { process.exit(9) } }}`; console.log('never')", 9, ""},
		{"process.exitCode = 10; console.log('runs on')", 10, "runs on\n"},
		{"process.exitCode = 11; process.exit()", 11, ""},
		{"process.exit(256 + 1)", 1, ""},
		{"process.on('exit', (c) => { console.log('bye', c); process.exit(13) }); process.exit(12)", 13, "bye 12\n"},
		{"process.on('exit', () => setTimeout(() => console.log('never'), 1))", 0, ""},
		{"process.on('uncaughtException', (e) => console.log('handled', e.message)); setTimeout(() => console.log('goes on'), 1); throw new Error('x')", 0, "handled x\ngoes on\n"},
		{"process.on('unhandledRejection', (r) => console.log('rejected', r)); Promise.reject(5); setTimeout(() => console.log('on'), 1)", 0, "rejected 5\non\n"},
		{"await process.exit(14)", 14, ""},
		{"function* g() { try { yield process.exit(15) } finally { console.log('never') } } [...g()]", 15, ""},
		{"import { exit } from 'node:process'; exit(16)", 16, ""},
	} {
		r := newSandbox(t).turn(c.source)
		if r.err != nil || r.Error != nil || r.ExitCode != c.code || r.stdout != c.stdout {
			t.Errorf("%s\nexit code %d, printed %q, error %v %+v; want %d, %q", c.source, r.ExitCode, r.stdout, r.err, r.Error, c.code, c.stdout)
		}
	}
}

func TestInterrupt(t *testing.T) {
	for _, source := range []string{
		"console.log('start'); try { while (true) {} } catch { console.log('caught') } finally { console.log('finally') }",
		"console.log('start'); (async () => { for (;;) await null })().catch(() => console.log('caught'))",
		"console.log('start'); setInterval(() => {}, 1)",
		"console.log('start'); await new Promise(r => setTimeout(r, 60000))",
		"console.log('start'); /(a+)+b/.test('a'.repeat(40)); console.log('matched')",
		"console.log('start'); Array.from({ length: 1e6 }, (_, i) => i).sort(() => { for (let i = 0; i < 1e6; i++); return 1 })",
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.session, s.timeout, s.afterOutput = true, 150*time.Millisecond, true
			s.env.Clock = &sleeper{s: s}
			start := time.Now()
			r := s.turn(source)
			if r.err != nil || !r.Interrupted || r.stdout != "start\n" {
				t.Fatalf("error %v, outcome %+v, printed %q, stderr %q", r.err, r.Outcome, r.stdout, r.stderr)
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("it took %v to stop", d)
			}
			s.timeout, s.afterOutput = time.Minute, false
			if r := s.ok("console.log('alive')"); r.stdout != "alive\n" {
				t.Errorf("the next turn printed %q", r.stdout)
			}
		})
	}
}

func TestOutOfMemory(t *testing.T) {
	for _, source := range []string{
		"const a = []; for (;;) a.push(new Array(1e5).fill(1))",
		"const parts = []; for (;;) parts.push('x'.repeat(1e6) + Math.random())",
		"new Uint8Array(1e9)",
		"Buffer.alloc(1e9)",
	} {
		t.Run(source, func(t *testing.T) {
			s := newSandbox(t)
			s.memory = 32 << 20
			r := s.turn(source)
			if r.err != nil || r.Error == nil {
				t.Fatalf("error %v, outcome %+v", r.err, r.Outcome)
			}
			if !r.OutOfMemory || r.Error.Name != "InternalError" {
				t.Errorf("outcome %+v, exception %+v", r.Outcome, r.Error)
			}
		})
	}
	s := newSandbox(t)
	s.session, s.memory = true, 32<<20
	s.ok("let kept = 1")
	// The interpreter does not let a program catch it.
	if r := s.turn("let hog = []; try { for (;;) hog.push(new Array(1e5).fill(1)) } catch (e) { hog = null }"); !r.OutOfMemory {
		t.Errorf("outcome %+v, exception %+v", r.Outcome, r.Error)
	}
	if r := s.ok("hog = null; kept"); r.main() != "1" {
		t.Errorf("the next turn: %+v", r)
	}
}

func TestRandomIsRenewed(t *testing.T) {
	const source = "[Math.random(), crypto.randomUUID(), Math.random()].join()"
	a, b := run(t, source).main(), run(t, source).main()
	if a == b {
		t.Errorf("two sandboxes drew the same: %s", a)
	}
	seed := func(n uint64) func(*runtimes.Turn) { return func(t *runtimes.Turn) { t.Seed = &n } }
	const only = "[Math.random(), Math.random()].join()"
	if a, b := run(t, only, seed(7)).main(), run(t, only, seed(7)).main(); a != b {
		t.Errorf("the same seed drew %s and %s", a, b)
	}
	if a, b := run(t, only, seed(0)).main(), run(t, only, seed(1)).main(); a == b {
		t.Errorf("different seeds drew %s", a)
	}
	s := newSandbox(t)
	s.session = true
	if a, b := s.ok("Math.random()").main(), s.ok("Math.random()").main(); a == b {
		t.Errorf("two turns drew %s", a)
	}
}

func TestGiven(t *testing.T) {
	s := newSandbox(t)
	s.session = true
	given := func(t *runtimes.Turn) {
		t.Args, t.Env = []string{"--flag", "ü"}, map[string]string{"KEY": "value"}
		t.Inputs = map[string]json.RawMessage{"rows": json.RawMessage(`[{"a": 1}]`), "name": json.RawMessage(`"x"`)}
	}
	r := s.ok("console.log(process.argv.slice(2), process.env.KEY, rows[0].a, name, process.argv[1])", given)
	if want := "[ '--flag', 'ü' ] value 1 x /data/turn-1.js\n"; r.stdout != want {
		t.Errorf("printed %q, want %q", r.stdout, want)
	}
	if r := s.ok("const rows = 5; console.log(rows, process.env.KEY)"); r.stdout != "5 value\n" {
		t.Errorf("the next turn printed %q", r.stdout)
	}
	r = s.ok("rows", func(t *runtimes.Turn) { t.Inputs = map[string]json.RawMessage{"rows": json.RawMessage(`7`)} })
	if r.main() != "7" {
		t.Errorf("an input over a const is %s", r.main())
	}
	r = s.turn("1", func(t *runtimes.Turn) { t.Inputs = map[string]json.RawMessage{"x": json.RawMessage(`{`)} })
	if r.Error == nil {
		t.Error("an input that is no JSON was taken")
	}
	if r := run(t, "console.log(process.env, process.argv.length, process.cwd())"); r.stdout != "{ HOME: '/data', LOGNAME: 'user', TMPDIR: '/tmp', USER: 'user' } 2 /data\n" {
		t.Errorf("without anything given: %q", r.stdout)
	}
}

func TestStdin(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"console.log(require('fs').readFileSync(0, 'utf8').split('\\n').length)", "3\n"},
		{"console.log(require('fs').readFileSync('/dev/stdin', 'utf8').length)", "15\n"},
		{"let all = ''; process.stdin.setEncoding('utf8'); process.stdin.on('data', d => all += d); process.stdin.on('end', () => console.log(all.length))", "15\n"},
		{"let all = ''; process.stdin.setEncoding('utf8').on('readable', () => { for (let c; (c = process.stdin.read()) !== null;) all += c }).on('end', () => console.log(all.length))", "15\n"},
		{"process.stdin.pipe(new (require('stream').Transform)({ transform(c, e, done) { done(null, `${c}`.toUpperCase()) } })).pipe(process.stdout)", "LINE 1\nZWEI Ü\n3"},
		{"console.log((await process.stdin.toArray()).length, process.stdin instanceof (await import('node:stream')).Readable)", "1 true\n"},
		{"let n = 0; for await (const chunk of process.stdin) n += chunk.length; console.log(n)", "16\n"},
		{"import rl from 'node:readline'; for await (const line of rl.createInterface({ input: process.stdin })) console.log(line)", "line 1\nzwei ü\n3\n"},
		{"const rl = require('readline').createInterface({ input: process.stdin, output: process.stdout }); rl.question('name? ', a => { console.log(a); rl.close() })", "name? line 1\n"},
		{"const rl = require('readline').createInterface({ input: process.stdin }); rl.on('line', l => console.log('>', l)).on('close', () => console.log('closed'))", "> line 1\n> zwei ü\n> 3\nclosed\n"},
		{"const b = Buffer.alloc(4); console.log(require('fs').readSync(0, b), b.toString())", "4 line\n"},
	} {
		s := newSandbox(t)
		s.env.Stdin = strings.NewReader("line 1\nzwei ü\n3")
		if r := s.ok(c.source); r.stdout != c.want {
			t.Errorf("%s\nprinted %q, want %q", c.source, r.stdout, c.want)
		}
	}
	if r := run(t, "console.log(require('fs').readFileSync(0).length)"); r.stdout != "0\n" {
		t.Errorf("without input: %q", r.stdout)
	}
}

func TestClockAndZone(t *testing.T) {
	s := newSandbox(t)
	clock := &fakeClock{}
	s.env.Clock = clock
	r := s.ok("const t = performance.now(); await new Promise(r => setTimeout(r, 3600e3)); console.log(performance.now() - t)")
	if r.stdout != "3600000\n" || clock.at != time.Hour {
		t.Errorf("printed %q, slept %v", r.stdout, clock.at)
	}
	s = newSandbox(t)
	s.env.Location = time.FixedZone("X", 5*3600+1800)
	r = s.ok("console.log(new Date(0).getHours(), new Date(0).getTimezoneOffset(), new Date(2020, 0, 1).toISOString(), new Date(0).toLocaleTimeString())")
	if want := "5 -330 2019-12-31T18:30:00.000Z 5:30:00 AM\n"; r.stdout != want {
		t.Errorf("printed %q, want %q", r.stdout, want)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s = newSandbox(t)
	s.env.Location = berlin
	r = s.ok("console.log(String(new Date(Date.UTC(2024, 6, 1))), new Date(Date.UTC(2024, 0, 1)).getHours(), Intl.DateTimeFormat().resolvedOptions().timeZone)")
	if want := "Mon Jul 01 2024 02:00:00 GMT+0200 (Central European Summer Time) 1 Europe/Berlin\n"; r.stdout != want {
		t.Errorf("printed %q, want %q", r.stdout, want)
	}
	if r := run(t, "console.log(`${new Date(0)}`, new Date(0).getTimezoneOffset())"); r.stdout != "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time) 0\n" {
		t.Errorf("by default: %q", r.stdout)
	}
}

// TestContexts: a context of node:vm lasts as long as its object, is gone with it, and holds up nobody's deadline.
func TestContexts(t *testing.T) {
	s := newSandbox(t)
	s.session = true
	s.ok("const vm = require('vm'); const box = vm.createContext({ n: 1 }); vm.runInContext('let hidden = 41; n++', box)")
	if r := s.ok("vm.runInContext('hidden + n', box)"); r.main() != "43" {
		t.Errorf("in the next turn it is %s", r.main())
	}
	if r := s.ok("let sum = 0; for (let i = 0; i < 300; i++) sum += vm.runInNewContext('big = new Array(1e5).fill(n); big[7]', { n: i }); sum"); r.main() != "44850" {
		t.Errorf("the sum of many is %s", r.main())
	}
	if r := s.turn("vm.runInContext('function f() { throw new TypeError(String(n)) } f()', box)"); r.Error == nil || r.Error.Name != "TypeError" || !strings.Contains(r.Error.Traceback, "at f (evalmachine.<anonymous>:1") {
		t.Errorf("an error of a context's is %+v", r.Error)
	}
	r := s.ok(`const out = []; for (const ms of [20, 40]) try { vm.runInContext("for (;;) { try { for (;;); } finally { n = -1 } }", box, { timeout: ms }) } catch (e) { out.push(e.message) }
		try { vm.runInNewContext("go()", { go() { vm.runInContext("for (;;);", box, { timeout: 60000 }) } }, { timeout: 20 }) } catch (e) { out.push(e.code) } for (let i = 0; i < 1e6; i++); out.push(box.n); out.join("|")`)
	if want := "'Script execution timed out after 20ms|Script execution timed out after 40ms|ERR_SCRIPT_EXECUTION_TIMEOUT|2'"; r.main() != want {
		t.Errorf("scripts that take too long: %s, want %s", r.main(), want)
	}
	s.timeout, s.afterOutput = 150*time.Millisecond, true
	s.env.Clock = &sleeper{s: s}
	if r := s.turn("console.log('start'); try { vm.runInContext('for (;;);', box, { timeout: 60000 }) } finally { console.log('finally') }"); r.err != nil || !r.Interrupted || r.stdout != "start\n" {
		t.Errorf("a turn that is out of time: %v, %+v, printed %q", r.err, r.Outcome, r.stdout)
	}
	s.timeout, s.afterOutput = time.Minute, false
	if r := s.ok("vm.runInContext('n', box)"); r.main() != "2" {
		t.Errorf("after that it is %s", r.main())
	}
}

// TestNoWayOut lists what a program must not find.
func TestNoWayOut(t *testing.T) {
	r := run(t, `console.log([
		typeof cloche, typeof WebAssembly, typeof std, typeof os, typeof bjs, typeof scriptArgs,
		Reflect.ownKeys(globalThis).filter((k) => /cloche/i.test(String(k))).length,
		Object.keys(process.env), // none of the host's
	].join());`)
	if want := "undefined,undefined,undefined,undefined,undefined,undefined,0,HOME,LOGNAME,TMPDIR,USER\n"; r.stdout != want {
		t.Errorf("printed %q, want %q", r.stdout, want)
	}
}

func TestOutputOrderAndBytes(t *testing.T) {
	r := run(t, `process.stdout.write("a"); console.error("b"); process.stdout.write(new Uint8Array([0xff, 0x0a])); console.log("\ud800|\0|ü");`)
	if r.stdout != "a\xff\n\uFFFD|\x00|ü\n" || r.stderr != "b\n" {
		t.Errorf("printed %q and %q", r.stdout, r.stderr)
	}
}

func TestStderrOfConsole(t *testing.T) {
	r := run(t, `console.warn("w", { a: 1 }); console.error(new Error("shown")); console.assert(1 === 2, "math %d", 5); console.assert(false); console.trace("here"); console.countReset("x"); console.timeEnd("none"); console.time("t"); console.timeEnd("t")`)
	for _, part := range []string{"w { a: 1 }\n", "Error: shown\n    at main.js:1:", "Assertion failed: math 5\n", "Assertion failed\n", "Trace: here\n    at main.js:1:", "Warning: Count for 'x' does not exist", "Warning: No such label 'none' for console.timeEnd()"} {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("%q is missing in\n%s", part, r.stderr)
		}
	}
	if !strings.HasPrefix(r.stdout, "t: ") {
		t.Errorf("printed %q", r.stdout)
	}
}

func TestMisuse(t *testing.T) {
	s := newSandbox(t)
	if err := s.baked.Driver.Interrupt(t.Context(), s.inst, s.baked.Info); err == nil {
		t.Error("an interrupt without a turn was taken")
	}
	if _, err := js.New().Turn(t.Context(), s.inst, runtimes.BootInfo("{"), &runtimes.Turn{}); err == nil || !strings.Contains(err.Error(), "boot info") {
		t.Errorf("with damaged boot info: %v", err)
	}
	for _, source := range []string{"\xff", "'\xff'; (", "\x00", "1 \x00 2"} {
		if r := newSandbox(t).turn(source); r.err != nil || r.Error == nil || r.Error.Name != "SyntaxError" {
			t.Errorf("%q: error %v, exception %+v", source, r.err, r.Error)
		}
	}
	if r := run(t, "process.versions.quickjs"); r.main() != "'0.18.0'" {
		t.Errorf("the engine is %s", r.main())
	}
	if r := run(t, ""); r.main() != "" {
		t.Errorf("nothing gives %q", r.main())
	}
	if r := run(t, "// "+strings.Repeat("x", 1<<20)+"\n'large'"); r.main() != "'large'" {
		t.Errorf("a large script gives %q", r.main())
	}
	if r := run(t, "'TZ'; new Date(0).getHours()", func(t *runtimes.Turn) { t.Env = map[string]string{"TZ": "Asia/Tokyo"} }); r.main() != "9" {
		t.Errorf("with TZ in the environment it is %s o'clock", r.main())
	}
}

// A store is kept where that can be seen, and asking for it where it cannot is an error: never another call's store, and
// never none in silence.
func TestAsyncLocalStorage(t *testing.T) {
	const begin = "const { AsyncLocalStorage, AsyncResource } = require('node:async_hooks'); const als = new AsyncLocalStorage(), other = new AsyncLocalStorage({ defaultValue: 'd' }), said = [];" +
		"const say = () => { try { said.push(als.getStore()) } catch (e) { said.push(e.code === 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' && /await/.test(e.message) ? 'lost' : e) } };"
	for source, want := range map[string]string{
		"say(); await null; say(); other.getStore()":                                                                                                                                                                     "undefined undefined",
		"als.run(1, () => { say(); als.run(2, say); als.exit(say); say() }); say()":                                                                                                                                      "1 2 undefined 1 undefined",
		"als.run(1, () => setTimeout(say, 1)); await new Promise((go) => setTimeout(go, 5))":                                                                                                                             "1",
		"als.run(1, () => { setImmediate(say); process.nextTick(say); queueMicrotask(say) }); await new Promise((go) => setTimeout(go, 5))":                                                                              "1 1 1",
		"const p = als.run(1, () => Promise.resolve().then(() => { als.run(2, say); say(); throw 0 }).catch(say).finally(say)); p.then(say); await p; await null; say()":                                                 "2 1 1 1 undefined lost",
		"await als.run(1, async () => { say(); await null; say(); als.run(2, say); say() })":                                                                                                                             "1 lost 2 lost",
		"const f = async (n) => { say(); await null; say() }; await Promise.all([1, 2].map((n) => als.run(n, f))); say()":                                                                                                "1 2 lost lost lost",
		"als.run(1, () => { (async () => { await null; say() })() }); say(); await null; await null; say()":                                                                                                              "undefined lost lost",
		"const b = als.run(1, () => AsyncLocalStorage.bind(say)), r = als.run(2, () => new AsyncResource('x')), n = AsyncLocalStorage.snapshot(); await null; als.run(3, () => { b(); r.runInAsyncScope(say); n(say) })": "1 2 undefined",
		"als.enterWith(1); say(); await null; say(); try { als.enterWith(2) } catch { said.push('no') }":                                                                                                                 "1 lost no",
		"als.run(1, () => say()); als.disable(); await null; say()":                                                                                                                                                      "1 undefined",
	} {
		if got := strings.TrimSpace(run(t, begin+source+"\nconsole.log(...said)").stdout); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
	s := newSandbox(t)
	s.session = true
	s.ok(begin + "als.run(1, () => {}); 0")
	if r := s.ok("said.length = 0; say(); als.run(2, say); said.join()"); r.main() != "'lost,2'" {
		t.Errorf("the next turn: %s", r.main())
	}
}

func TestPipelineToStdout(t *testing.T) {
	r := run(t, `const { Readable, Transform, pipeline } = require('stream'); const p = require('stream/promises');
const upper = () => new Transform({ transform(c, e, done) { done(null, c.toString().toUpperCase()) } });
await new Promise((go) => pipeline(Readable.from(['a\n', 'b\n']), upper(), process.stdout, go)); console.log('end');
await p.pipeline(Readable.from(['c\n']), process.stderr); console.log('still open');
await p.pipeline(Readable.from([1]), new Transform({ objectMode: true, transform(c, e, done) { done(new Error('no')) } }), process.stdout).catch((e) => console.log(e.message))`)
	if want := "A\nB\nend\nstill open\nno\n"; r.stdout != want || r.stderr != "c\n" {
		t.Errorf("printed %q and %q, want %q", r.stdout, r.stderr, want)
	}
}

// Warnings are told when the code that runs is done, as in Node.js, and to whoever listens.
func TestWarnings(t *testing.T) {
	r := run(t, `const u = require('util'); process.emitWarning('a', 'Mine', 'C1'); process.emitWarning('b', { type: 'T', detail: 'more' }); process.emitWarning(new RangeError('e'));
const f = u.deprecate(() => 1, 'old', 'D1'); f(); f(); process.noDeprecation = true; process.emitWarning('no', 'DeprecationWarning');
process.on('warning', (w) => console.log(w.name, w.message, w.code, w.detail)); console.error('first');
const many = new (require('events'))(); process.once('warning', () => setTimeout(() => { for (let i = 0; i < 11; i++) many.on('x', () => {}); process.removeAllListeners('warning'); process.on('warning', (w) => console.log(w.name, w.type, w.count)); }, 1));
try { process.emitWarning(1) } catch (e) { console.log(e.code) }`)
	if want := "first\n(node:1) [C1] Mine: a\n(node:1) T: b\nmore\n(node:1) RangeError: e\n(node:1) [D1] DeprecationWarning: old\n"; !strings.HasPrefix(r.stderr, want+"(node:1) MaxListenersExceededWarning: Possible") {
		t.Errorf("printed %q, want %q", r.stderr, want)
	}
	if want := "ERR_INVALID_ARG_TYPE\nMine a C1 undefined\nT b undefined more\nRangeError e undefined undefined\nDeprecationWarning old D1 undefined\nMaxListenersExceededWarning x 11\n"; r.stdout != want {
		t.Errorf("listeners got %q, want %q", r.stdout, want)
	}
}
