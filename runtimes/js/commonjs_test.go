package js_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestReturnOutside: a script may return outside of a function, as in CommonJS, and its lines keep their numbers.
func TestReturnOutside(t *testing.T) {
	for _, c := range []struct{ source, stdout, fails string }{
		{"console.log(1)\nif (true) { return }\nconsole.log(2)", "1\n", ""},
		{"if (await 1) { console.log('awaited'); return 5 }\nconsole.log(2)", "awaited\n", ""},
		{"function f() { return 3 }\nexports.a = f(); console.log(module.exports, typeof require)\nreturn", "{ a: 3 } function\n", ""},
		{"if (false) return\n  null.x", "", ".js:2:3\n"},
		{"return\nlet x = ;", "", ".js:2:9\n"},
		{"export const a = 1; return", "", "return not in a function"},
		{"console.log('once'); eval('return')", "once\n", "return not in a function"},
	} {
		for _, session := range []bool{false, true} {
			s := newSandbox(t)
			s.session = session
			r := s.turn(c.source)
			if r.err != nil || r.stdout != c.stdout || (r.Error == nil) != (c.fails == "") || !strings.Contains(r.stderr, c.fails) || r.main() != "" {
				t.Errorf("%q: printed %q, value %q, %v, stderr:\n%s", c.source, r.stdout, r.main(), r.err, r.stderr)
			}
		}
	}
}

// TestNodeTest: what node:test prints is Node's, but for times, stacks and locations.
func TestNodeTest(t *testing.T) {
	const source = `
const test = require('node:test'); const { describe, it, before, beforeEach, after, mock } = test; const assert = require('node:assert');
test('ok', () => { assert.strictEqual(1, 1); });
test('fails', () => { assert.strictEqual(1, 2); });
test('subs', async (t) => { await t.test('one', () => {}); await t.test('two', () => { throw new Error('it is bad'); }); });
describe('suite', () => {
  before(() => console.log('before')); beforeEach(() => console.log('each')); after(() => console.log('after'));
  it('a', () => {}); it.skip('b', () => {}); it('c', { skip: 'why' }, () => {});
  describe('inner', () => { it('x', async () => { await null; }); });
});
test('callback', (t, done) => setTimeout(done, 1));
test('later', { todo: true }, () => { throw new Error('t'); });
test('mocks', (t) => {
  const f = mock.fn((a) => a + 1); assert.equal(f(1), 2);
  assert.deepEqual([f.mock.callCount(), f.mock.calls[0].arguments, f.mock.calls[0].result], [1, [1], 2]);
  const o = { m() { return 1; } }; t.mock.method(o, 'm', () => 5); assert.equal(o.m(), 5); t.mock.restoreAll(); assert.equal(o.m(), 1);
  t.diagnostic('a note');
});
console.log('registered');`
	r := newSandbox(t).turn(source)
	got := regexp.MustCompile(`(?m)^ *(---|\.\.\.|duration_ms: .*|stack: \|-|main\.js:.*|# duration_ms .*)\n`).ReplaceAllString(r.stdout, "")
	want := `registered
TAP version 13
# Subtest: ok
ok 1 - ok
# Subtest: fails
not ok 2 - fails
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:
` + "    \n    1 !== 2\n    " + `
  code: 'ERR_ASSERTION'
  name: 'AssertionError'
  expected: '2'
  actual: '1'
  operator: 'strictEqual'
# Subtest: subs
    # Subtest: one
    ok 1 - one
    # Subtest: two
    not ok 2 - two
      failureType: 'testCodeFailure'
      error: 'it is bad'
      code: 'ERR_TEST_FAILURE'
    1..2
not ok 3 - subs
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  code: 'ERR_TEST_FAILURE'
# Subtest: suite
before
    # Subtest: a
each
    ok 1 - a
    # Subtest: b
    ok 2 - b # SKIP
    # Subtest: c
    ok 3 - c # SKIP why
    # Subtest: inner
        # Subtest: x
each
        ok 1 - x
        1..1
      type: 'suite'
    ok 4 - inner
      type: 'suite'
after
    1..4
ok 4 - suite
  type: 'suite'
# Subtest: callback
ok 5 - callback
# Subtest: later
not ok 6 - later # TODO
  failureType: 'testCodeFailure'
  error: 't'
  code: 'ERR_TEST_FAILURE'
# Subtest: mocks
ok 7 - mocks
# a note
1..7
# tests 12
# suites 2
# pass 6
# fail 3
# cancelled 0
# skipped 2
# todo 1
`
	want = strings.Replace(want, "      type: 'suite'\n    ok 4 - inner", "    ok 4 - inner", 1)
	compare(t, got, want)
	if r.ExitCode != 1 || r.err != nil {
		t.Errorf("exit code %d, %v; want 1", r.ExitCode, r.err)
	}

	s := newSandbox(t)
	s.session = true
	s.ok("import { test } from 'node:test'; test('ok', () => {})")
	if r := s.ok("test('again', () => {})"); !strings.Contains(r.stdout, "ok 1 - again") || !strings.Contains(r.stdout, "# tests 1\n") {
		t.Errorf("the second turn printed %q", r.stdout)
	}
}

// TestModuleParent: a file can tell whether it is the main script, and who required it.
func TestModuleParent(t *testing.T) {
	source := `require('fs').writeFileSync('p.cjs', 'exports.p = module.parent === require.main && require.main !== module; exports.c = module.parent.children.includes(module)')
console.log(require('./p.cjs'), module.children.length, module.parent)`
	if r := newSandbox(t).ok(source); r.stdout != "{ p: true, c: true } 1 null\n" {
		t.Error(r.stdout)
	}
}

func TestImportOfWhatIsNotExported(t *testing.T) {
	source := `const fs = require('fs'); fs.writeFileSync('r.mjs', 'export {}'); fs.writeFileSync('q.mjs', "import { n } from './r.mjs'")
await import('./q.mjs').catch((e) => console.log(e.name, e.message))`
	if r := newSandbox(t).ok(source); !strings.HasPrefix(r.stdout, "SyntaxError The requested module '") || !strings.HasSuffix(r.stdout, "r.mjs' does not provide an export named 'n'\n") {
		t.Error(r.stdout)
	}
}
