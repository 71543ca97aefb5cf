package js_test

import (
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/runtimes"
)

// tree is a program's files.
var tree = map[string]string{
	"/data/util.js":                              "export const add = (a, b) => a + b;\nexport default function hello(n) { return 'hello ' + n; }\nexport * as nums from './lib/nums.js';\n",
	"/data/lib/nums.js":                          "import { add } from '../util.js';\nexport const three = () => add(1, 2);\n",
	"/data/counter.mjs":                          "export let n = 0;\nexport function inc() { n++; }\n",
	"/data/data.json":                            `{"a": [1, 2], "__proto__": {"x": 1}}`,
	"/data/bad.json":                             `{"a": `,
	"/data/bad.js":                               "export const ok = 1;\nexport const broken = ;\n",
	"/data/throws.js":                            "export const ok = 1;\n\nthrow new RangeError('while loading');\n",
	"/data/tla.js":                               "export const v = await new Promise(r => setTimeout(r, 2, 'awaited'));\n",
	"/data/common.cjs":                           "exports.x = 1;\nmodule.exports.f = () => 'from cjs';\n",
	"/data/common2.js":                           "const path = require('path');\nmodule.exports = { join: path.join, here: __filename, dir: __dirname };\n",
	"/data/fn.cjs":                               "module.exports = function () { return 'fn' };\n",
	"/data/cycle-a.cjs":                          "exports.early = 1;\nconst b = require('./cycle-b.cjs');\nexports.late = b.seen;\n",
	"/data/cycle-b.cjs":                          "const a = require('./cycle-a.cjs');\nexports.seen = Object.keys(a).join();\n",
	"/data/thrower.cjs":                          "function inner() {\n  throw new Error('in cjs');\n}\nmodule.exports = inner;\n",
	"/data/side.js":                              "globalThis.sides = (globalThis.sides ?? 0) + 1;\nexport {};\n",
	"/data/typed.ts":                             "interface P { x: number }\nexport enum Kind { A, B }\nexport const mk = (x: number): P => ({ x });\nexport function fail(): never {\n  throw new Error('typed');\n}\n",
	"/data/meta.js":                              "export const url = import.meta.url;\n",
	"/data/noext.js":                             "export const found = true;\n",
	"/data/dir/index.js":                         "export const index = true;\n",
	"/data/cyc1.js":                              "import { b } from './cyc2.js';\nexport const a = 'a';\nexport const fromB = () => b + a;\n",
	"/data/cyc2.js":                              "import { fromB } from './cyc1.js';\nexport const b = 'b';\nexport const call = () => fromB();\n",
	"/data/usesnode.js":                          "import fs, { existsSync } from 'node:fs';\nexport const same = fs.existsSync === existsSync && existsSync('/data/util.js');\n",
	"/data/missingdep.js":                        "import 'left-pad';\nexport const x = 1;\n",
	"/data/node_modules/pkg/package.json":        `{"name": "pkg", "exports": {".": {"import": "./esm.js", "require": "./cjs.cjs"}, "./sub": "./sub.js"}}`,
	"/data/node_modules/pkg/esm.js":              "export default 'esm';\n",
	"/data/node_modules/pkg/cjs.cjs":             "module.exports = 'cjs';\n",
	"/data/node_modules/pkg/sub.js":              "export const sub = 'sub';\n",
	"/data/node_modules/@scope/old/package.json": `{"main": "lib/main"}`,
	"/data/node_modules/@scope/old/lib/main.js":  "module.exports = { old: true, self: require('pkg') };\n",
	"/data/node_modules/plain/index.js":          "exports.plain = 1;\n",
	"/data/node_modules/marked/package.json":     `{"type": "module", "main": "m.js"}`,
	"/data/node_modules/marked/m.js":             "export let n = 1;\nexport const up = () => { n++; };\nexport default true;\n",
	"/data/node_modules/said/index.mjs":          "export { what as 'module.exports' };\nconst what = 'what it says';\n",
	"/data/node_modules/said/package.json":       `{"exports": "./index.mjs"}`,
	"/data/node_modules/typed/package.json":      `{"type": "module", "exports": {".": "./t.js", "./*": "./*"}}`,
	"/data/node_modules/typed/t.js":              "export const here = 'typed';\n",
	"/data/node_modules/typed/word.js":           "export const kind = 'module ' + typeof this; // exports, require\n",
	"/data/node_modules/uses/index.js":           "exports.deep = require('marked').n;\n",
	"/data/node_modules/throws/package.json":     `{"type": "module"}`,
	"/data/node_modules/throws/index.js":         "export const x = 1; throw new Error('at once');\n",
	"/data/node_modules/commonjs/package.json":   `{"type": "commonjs"}`,
	"/data/node_modules/commonjs/index.js":       "undeclared = 'yes'; this.sloppy = undeclared;\n",
	"/data/node_modules/inside/package.json":     `{"name": "inside", "type": "module", "main": "i.js", "imports": {"#own": "./own/x.js"}}`,
	"/data/node_modules/inside/i.js":             "import { own } from '#own'; export const inner = own + 'inner';\n",
	"/data/node_modules/inside/own/x.js":         "export const own = 'of its own ';\n",
	"/data/awaits.mjs":                           "export const later = await 5;\n",
	"/data/within.mjs":                           "import { createRequire } from 'module'; export const x = createRequire(import.meta.url)('marked');\n",
	"/data/node_modules/broken/package.json":     `{"exports": 5, "main": 6`,
	"/data/node_modules/deep/sub/package.json":   `{"main": "main.js"}`,
	"/data/node_modules/deep/sub/main.js":        "module.exports = 'deep';\n",
	"/tmp/elsewhere.js":                          "export default 'elsewhere';\n",
}

func withTree(t testing.TB) *sandbox {
	s := newSandbox(t)
	for p, text := range tree {
		s.files.write(p, text)
	}
	return s
}

func TestModules(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"import hello, { add, nums } from './util.js'; console.log(hello('you'), add(2, 3), nums.three()); const again = await import('./util.js'); console.log(again.add === add, Object.keys(again).join())", "hello you 5 3\ntrue add,default,nums\n"},
		{"import { n, inc } from './counter.mjs'; console.log(n); inc(); console.log(n); try { n = 5 } catch (e) { console.log(e.name) }", "0\n1\nTypeError\n"},
		{"import * as u from './util'; console.log(u)", "[Module: null prototype] {\n  add: [Function: add],\n  default: [Function: hello],\n  nums: [Module: null prototype] { three: [Function: three] }\n}\n"},
		{"import data from './data.json'; console.log(data.a, Object.keys(data))", "[ 1, 2 ] [ 'a', '__proto__' ]\n"},
		{"import data from './data.json' with { type: 'json' };\nconsole.log(data.a.length)", "2\n"},
		{"const { default: d } = await import('./data.json', { with: { type: 'json' } }); console.log(d.a)", "[ 1, 2 ]\n"},
		{"import { v } from './tla.js'; console.log(v)", "awaited\n"},
		{"import c, { x, f } from './common.cjs'; console.log(c.x, x, f())", "1 1 from cjs\n"},
		{"import c2 from './common2.js'; console.log(c2.join('a', 'b'), c2.here, c2.dir)", "a/b /data/common2.js /data\n"},
		{"import fn from './fn.cjs'; console.log(fn())", "fn\n"},
		{"import './side.js'; import './side.js'; await import('./side.js'); console.log(sides)", "1\n"},
		{"import { Kind, mk, fail } from './typed.ts'; console.log(Kind.B, mk(3)); try { fail() } catch (e) { console.log(e.stack.split('\\n')[1].trim()) }", "1 { x: 3 }\nat fail (/data/typed.ts:5:13)\n"},
		{"import { url } from './meta.js'; console.log(url, import.meta.url, import.meta.filename, import.meta.dirname)", "file:///data/meta.js file:///data/main.js /data/main.js /data\n"},
		{"import { found } from './noext'; import { index } from './dir'; console.log(found, index)", "true true\n"},
		{"import { call } from './cyc2.js'; console.log(call())", "ba\n"},
		{"import { same } from './usesnode.js'; console.log(same)", "true\n"},
		{"import p from 'pkg'; import { sub } from 'pkg/sub'; import o from '@scope/old'; import { plain } from 'plain'; console.log(p, sub, o, plain)", "esm sub { old: true, self: 'cjs' } 1\n"},
		{"console.log(require('pkg'), require('./data.json').a, require('./common.cjs').f(), require('plain').plain)", "cjs [ 1, 2 ] from cjs 1\n"},
		{"console.log(require('./cycle-a.cjs').late, require.resolve('./fn.cjs'), require.resolve('fs'), Object.keys(require.cache).length)", "early /data/fn.cjs fs 2\n"},
		{"import x from '/tmp/elsewhere.js'; import y from 'file:///tmp/elsewhere.js'; console.log(x, y)", "elsewhere elsewhere\n"},
		{"export const a = 1, b = 2; export { a as c }; export default function named() { return a + b } export class K {} console.log(a, named(), typeof K)", "1 3 function\n"},
		{"export default class extends Object {}\nconsole.log('anonymous class')", "anonymous class\n"},
		{"export * from './util.js'; export { add as plus } from './util.js'; console.log('re-exported')", "re-exported\n"},
		{"import{add}from'./util.js';console.log(add(1,1))", "2\n"},
		{"import {\n  add, // one\n  nums as numbers,\n} from './util.js' ;\nconsole.log(add(1, numbers.three()))", "4\n"},
		{"import def, * as all from './util.js'; console.log(def === all.default)", "true\n"},
		{"import { default as d, 'add' as plus } from './util.js'; console.log(d('x'), plus(1, 2))", "hello x 3\n"},
		{"const m = { import: 1, export: 2 }; console.log(m.import + m.export); class C { import() { return 5 } } console.log(new C().import())", "3\n5\n"},
		{"console.log(`import x from 'y' ${await import('./util.js').then(m => m.add(1, 2))}`)", "import x from 'y' 3\n"},
		{"// import a from 'nope'\n/* export default 1 */ console.log('comments')", "comments\n"},
		{"const re = /import .* from 'x'/; console.log(re.test(\"import a from 'x'\"))", "true\n"},
		{"let later = import('./util.js'); later.then(m => console.log(m.default('x')))", "hello x\n"},
		{"'use strict'; import { add } from './util.js'; console.log((function () { return this })(), add(1, 1))", "undefined 2\n"},
		{"import { add } from './util.js'\n[1, 2].forEach(n => console.log(add(n, n)))", "2\n4\n"},
		{"foo()\nimport { add } from './util.js'\nfunction foo() { console.log(add(3, 4)) }", "7\n"},
		{"import fs from 'fs'; import { promises } from 'fs'; import { readFile } from 'node:fs/promises'; import process from 'process'; import assert from 'node:assert/strict'; assert.equal(promises.readFile, readFile); console.log(typeof fs.readFileSync, process === globalThis.process)", "function true\n"},
		{"import { createRequire } from 'module'; const require2 = createRequire(import.meta.url); console.log(require2('./fn.cjs')(), require2('os').EOL === '\\n')", "fn true\n"},
		// require of an ES module: its namespace, live, marked if it has a default export.
		{"const u = require('./util.js'), m = require('marked'); console.log(u.add(1, 2), u.__esModule, m.default, m.n, (m.up(), m.n), m.__esModule, require('marked') === m)", "3 true true 1 2 true true\n"},
		{"console.log(require('said'), require('typed').here)", "what it says typed\n"},
		{"import x from 'uses'; import { deep } from 'uses'; console.log(x.deep, deep)", "1 1\n"},
		{"try { require('./awaits.mjs') } catch (e) { console.log(e.code) } console.log((await import('./awaits.mjs')).later)", "ERR_REQUIRE_ASYNC_MODULE\n5\n"},
		{"try { require('throws') } catch (e) { console.log(e.message) } try { require('throws') } catch (e) { console.log(e.message) }", "at once\nat once\n"},
		{"import('./within.mjs').catch((e) => console.log(e.code))", "ERR_REQUIRE_ESM\n"},
		// What decides between the kinds of a .js file.
		{"import { sloppy } from 'commonjs'; console.log(sloppy)", "yes\n"},
		{"import { kind } from 'typed/word.js'; console.log(kind)", "module undefined\n"},
		{"import { inner } from 'inside'; console.log(inner)", "of its own inner\n"},
	} {
		t.Run(c.source, func(t *testing.T) {
			t.Parallel()
			if r := withTree(t).ok(c.source); r.stdout != c.want {
				t.Errorf("printed %q, want %q", r.stdout, c.want)
			}
		})
	}
}

func TestModuleErrors(t *testing.T) {
	for _, c := range []struct {
		source, name, value string
		line                int
		stderr              string
	}{
		{"\nimport { broken } from './bad.js'", "SyntaxError", "", 2, "/data/bad.js:2"},
		{"await import('./throws.js')", "RangeError", "while loading", 3, "/data/throws.js:3"},
		{"import './throws.js'; console.log('never')", "RangeError", "while loading", 3, "/data/throws.js:3"},
		{"import d from './bad.json'", "SyntaxError", "", 1, "/data/bad.json"},
		{"import { x } from './missingdep.js'", "Error", "Cannot find package 'left-pad' imported from missingdep.js", 1, "left-pad"},
		{"import { nope } from './util.js'", "SyntaxError", "The requested module './util.js' does not provide an export named 'nope'", 1, ""},
		{"require('./thrower.cjs')()", "Error", "in cjs", 1, "    at inner (/data/thrower.cjs:2:"},
		{"require('./bad.json')", "SyntaxError", "", 1, "/data/bad.json"},
		{"require('broken')", "Error", "Cannot find module 'broken'\nRequire stack:\n- main.js", 1, ""},
		{"import x from 'pkg/none'", "Error", "Package subpath './none' is not defined by \"exports\" in /data/node_modules/pkg/package.json", 1, ""},
		{"if (true) import './util.js'", "SyntaxError", "", 1, ""},
		{"import {", "SyntaxError", "", 1, ""},
		{"{ export const x = 1 }", "SyntaxError", "", 1, ""},
	} {
		t.Run(c.source, func(t *testing.T) {
			r := withTree(t).turn(c.source)
			if r.err != nil || r.Error == nil {
				t.Fatalf("error %v, no exception; printed %q", r.err, r.stdout)
			}
			if r.Error.Name != c.name || c.value != "" && r.Error.Value != c.value || r.Error.Line != c.line || !strings.Contains(r.stderr, c.stderr) {
				t.Errorf("%s: %q, line %d; want %s: %q, line %d\n%s", r.Error.Name, r.Error.Value, r.Error.Line, c.name, c.value, c.line, r.stderr)
			}
		})
	}
}

// TestModuleFlag runs source as a module because the turn says so.
func TestModuleFlag(t *testing.T) {
	module := func(t *runtimes.Turn) { t.Module = true }
	if r := run(t, "(function () { return this })()", module); r.main() != "" {
		t.Errorf("this of a function in a module is %s", r.main())
	}
	if r := newSandbox(t).turn("undeclared = 1", module); r.Error == nil || r.Error.Name != "ReferenceError" {
		t.Errorf("assigning to an undeclared name in a module: %+v", r.Error)
	}
}

// TestChangedFileIsImportedAfresh: what a session imports is the file as it is, ES module or not; require keeps what it has.
func TestChangedFileIsImportedAfresh(t *testing.T) {
	s := newSandbox(t)
	s.session = true
	for _, text := range []string{"one", "two, longer"} {
		s.files.write("/data/common.cjs", "module.exports = { text: '"+text+"' }")
		s.files.write("/data/mod.mjs", "export const text = '"+text+"'")
		r := s.ok("import c, { text } from './common.cjs'; import * as m from './mod.mjs'; console.log(c.text, text, m.text, require('./common.cjs').text)")
		if want := text + " " + text + " " + text + " " + text + "\n"; r.stdout != want {
			t.Errorf("printed %q, want %q", r.stdout, want)
		}
	}
	s.files.write("/data/common.cjs", "module.exports = { text: 'three' }")
	if r := s.ok("console.log(require('./common.cjs').text)"); r.stdout != "two, longer\n" {
		t.Errorf("require after a change: %q", r.stdout)
	}
}

// TestFailedModuleIsTriedAgain: a program in a session mends a file and imports it again.
func TestFailedModuleIsTriedAgain(t *testing.T) {
	s := newSandbox(t)
	s.session = true
	s.files.write("/data/m.js", "export const v = ;")
	if r := s.turn("import { v } from './m.js'"); r.Error == nil || r.Error.Name != "SyntaxError" {
		t.Fatalf("exception %+v", r.Error)
	}
	s.files.write("/data/m.js", "export const v = 1;")
	if r := s.ok("import { v } from './m.js'; v"); r.main() != "1" {
		t.Errorf("v is %s", r.main())
	}
	s.files.write("/data/t.js", "throw new Error('first'); export const w = 1;")
	if r := s.turn("import { w } from './t.js'"); r.Error == nil || r.Error.Value != "first" {
		t.Fatalf("exception %+v", r.Error)
	}
	s.files.write("/data/t.js", "export const w = 2;")
	if r := s.ok("import { w } from './t.js'; w"); r.main() != "2" {
		t.Errorf("w is %s", r.main())
	}
	s.files.write("/data/t.js", "export const w = 3;")
	if r := s.ok("(await import('./t.js')).w"); r.main() != "3" {
		t.Errorf("after the file was changed w is %s", r.main())
	}
	if r := s.ok("import { w } from './t.js'; w"); r.main() != "3" {
		t.Errorf("after the file was changed w is %s", r.main())
	}
}

// TestRequireWhileLoading: a CommonJS file that an ES module imports may require ES modules. It runs again after they have been loaded; they
// run once.
func TestRequireWhileLoading(t *testing.T) {
	for _, main := range []string{"import p from './p/index.mjs'; console.log(p, globalThis.told);", "console.log(require('./p/index.mjs').default, globalThis.told)"} {
		s := newSandbox(t)
		s.session = true
		s.files.write("/data/p/index.mjs", "import './side.mjs'; export { default } from './lib.cjs';")
		s.files.write("/data/p/side.mjs", "(globalThis.told ??= []).push('side');")
		s.files.write("/data/p/lib.cjs", "const { one } = require('./one.mjs'); const two = require('./two.cjs'); module.exports = one + two;")
		s.files.write("/data/p/two.cjs", "module.exports = require('./deep.mjs').default * 2;")
		s.files.write("/data/p/one.mjs", "(globalThis.told ??= []).push('one'); export const one = 1;")
		s.files.write("/data/p/deep.mjs", "(globalThis.told ??= []).push('deep'); import n from './n.cjs'; export default n;")
		s.files.write("/data/p/n.cjs", "module.exports = require('./one.mjs').one + 20;")
		const want = "43 [ 'one', 'deep', 'side' ]\n"
		if r := s.ok(main); r.stdout != want {
			t.Errorf("%s printed %q, want %q", main, r.stdout, want)
		}
		if r := s.ok(main); r.stdout != want {
			t.Errorf("%s once more printed %q, want %q", main, r.stdout, want)
		}
		s.files.write("/data/q.mjs", "import './q.cjs';")
		s.files.write("/data/q.cjs", "require('./bad.mjs')")
		s.files.write("/data/bad.mjs", "throw new Error('as it is')")
		if r := s.turn("import './q.mjs'"); r.Error == nil || r.Error.Value != "as it is" {
			t.Errorf("exception %+v", r.Error)
		}
	}
}

// TestImportedAgain: a module that was evaluated after one that awaits can be imported again, by whatever way and in a later turn.
func TestImportedAgain(t *testing.T) {
	s := newSandbox(t)
	s.session = true
	s.files.write("/data/waits.mjs", "await 0; export const n = 1;")
	s.files.write("/data/above.mjs", "import { n } from './waits.mjs'; export const m = n + 1;")
	s.files.write("/data/top.mjs", "import { m } from './above.mjs'; export const k = m + 1;")
	s.files.write("/data/late.mjs", "import { m } from './above.mjs'; export const late = m + 10;")
	for _, src := range []string{
		"import { k } from './top.mjs'; import { m } from './above.mjs'; import { n } from './waits.mjs'; console.log(k, m, n, (await import('./above.mjs')).m)",
		"import { k } from './top.mjs'; import { m } from './above.mjs'; const { n } = await import('./waits.mjs'); console.log(k, m, n, m)",
		"import { late } from './late.mjs'; import { m } from './above.mjs'; console.log(late - 9, m, 1, m)",
	} {
		if r := s.ok(src); r.stdout != "3 2 1 2\n" {
			t.Errorf("%s printed %q", src, r.stdout)
		}
	}
}

// TestPackagesThatNameThemselves: a package.json whose main or exports lead back to it, or to one that leads back, has no end that
// the host would look for.
func TestPackagesThatNameThemselves(t *testing.T) {
	for _, manifest := range []string{
		`{"main": "."}`, `{"main": "./"}`, `{"main": "../p"}`, `{"main": "../q"}`, `{"main": "self"}`, `{"module": "."}`, `{"exports": "."}`,
		`{"exports": "./."}`, `{"exports": {".": "../p"}}`, `{"exports": {"import": ".", "require": "../q"}}`, `{"exports": {"./sub": "."}}`,
	} {
		s := withTree(t)
		s.session = true
		for _, p := range []string{"p", "q", "p/self"} {
			s.files.write("/data/node_modules/"+p+"/package.json", manifest)
		}
		for _, spec := range []string{"p", "p/.", "p/sub", "./node_modules/p", "./node_modules/p/", "/data/node_modules/p"} {
			r := s.turn("let n = 0; try { require('" + spec + "') } catch { n++ } await import('" + spec + "').catch(() => n++); console.log(n)")
			if r.err != nil || r.stdout != "2\n" {
				t.Errorf("%s, asked for as %s: printed %q, %v", manifest, spec, r.stdout, r.err)
			}
		}
	}
	s := withTree(t)
	s.files.write("/data/node_modules/p/package.json", `{"main": "."}`)
	s.files.write("/data/node_modules/p/index.js", "module.exports = 'its index'")
	if r := s.ok("console.log(require('p'), require('./node_modules/p'), require('deep/sub'))"); r.stdout != "its index its index deep\n" {
		t.Errorf("printed %q", r.stdout)
	}
}
