package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// repeatable are turns that wait where they cannot be kept, after they have used chance, time, files and a tool.
var repeatable = map[string]struct{ before, code, after string }{
	engine.Python: {
		"import random, time, os, sys\nn = 0\nrandom.seed()",
		"n += 1\nseen = [random.random(), os.urandom(4), time.time(), time.monotonic(), tools.count()]\nopen('f', 'a').write('x')\ntime.sleep(0.01)\n" +
			"print('asking', seen, given, sys.argv, input())\na = tools.ask(seen=repr(seen))\nb = tools.ask(a=a)\nc = await tools.ask.aio(b=b)\nprint('got', a, b, c, tools.count(), n, open('f').read(), input(), time.time() > seen[2])",
		"print(n, seen[4], open('f').read())",
	},
	engine.JavaScript: {
		"const fs = require('fs'), crypto = require('crypto'); let n = 0; var seen; fs.writeFileSync('m.mjs', `\n" +
			"export const seen = [Math.random(), require('crypto').randomBytes(4).toString('hex'), Date.now(), performance.now(), await tools.count()];\n" +
			"globalThis.n2 = (globalThis.n2 ?? 0) + 1; require('fs').appendFileSync('f', 'x'); console.log('asking', seen, given, process.argv.slice(2));\n" +
			"export const a = await tools.ask({ seen: seen.join() });\nexport const b = await tools.ask({ a });\n`)",
		"import * as m from './m.mjs'; seen = m.seen; const c = await tools.ask({ b: m.b }); n++; console.log('got', m.a, m.b, c, await tools.count(), n2, fs.readFileSync('f', 'utf8'))",
		"console.log(n, seen[4], fs.readFileSync('f', 'utf8'))",
	},
}

// A turn of a repeatable session is suspended in a call that blocks, too; it takes the same way again, in another process
// if need be, and what it did outside is not done twice.
func TestSuspendAgain(t *testing.T) {
	for language, p := range repeatable {
		t.Run(language, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			o := withLateTools(t, engine.Options{Language: language, Repeatable: true})
			count := 0
			err := hostfuncs.Register(o.Tools, "count", func(context.Context, struct{}) (int, error) { count++; return count, nil })
			if err != nil {
				t.Fatal(err)
			}
			e := storeEngine(t, engine.Config{Store: dir})
			s, err := e.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			turn(t, s, engine.Turn{Code: p.before})
			res := turn(t, s, engine.Turn{Code: p.code, Inputs: map[string]any{"given": "in"}, Args: []string{"arg"}, Stdin: strings.NewReader("one\n")})
			id := pending(t, res, "ask")[0]
			said := res.Stdout
			if !res.RolledBack || !strings.HasPrefix(said, "asking [") || s.Info().Turns != 1 {
				t.Errorf("%+v, info %+v", res, s.Info())
			}
			if _, err := s.Files().ReadFile("f"); err == nil {
				t.Error("what the turn wrote is not undone")
			}
			for part := range 3 {
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				e = storeEngine(t, engine.Config{Store: dir})
				defer e.Close()
				if s, err = e.Session(t.Context(), s.ID(), func(own *engine.Options) { own.Tools = o.Tools }); err != nil {
					t.Fatal(err)
				}
				old := id
				res, err := s.Resume(t.Context(), engine.Resumption{
					Results: []hostfuncs.ToolResult{result(id, []string{`"a"`, `"b"`, `"c"`}[part])}, Stdin: strings.NewReader("two\n"),
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(old, "1")}}); !errors.Is(err, engine.ErrNoCall) {
					t.Errorf("the same result again: %v", err)
				}
				if part < 2 {
					id = pending(t, res, "ask")[0]
					if res.Stdout != said || count != 1 || res.RolledBack != (part == 0) {
						t.Errorf("part %d, rolled back %v: %d calls, stdout %q, it was %q", part, res.RolledBack, count, res.Stdout, said)
					}
					continue
				}
				want := map[string]string{engine.Python: "got a b c 2 1 x two True\n", engine.JavaScript: "got a b c 2 1 x\n"}[language]
				wants(t, res, engine.StatusOK, want)
			}
			wants(t, turn(t, s, engine.Turn{Code: p.after}), engine.StatusOK, "1 1 x\n")
			if s.Info().Turns != 3 {
				t.Errorf("%d turns", s.Info().Turns)
			}
		})
	}
}

// A turn that is to be run again may be given up, and must take the way that it took.
func TestSuspendAgainOrNot(t *testing.T) {
	s := lateSession(t, testEngine(t), engine.Options{Repeatable: true, Autopsy: time.Minute})
	turn(t, s, engine.Turn{Code: "n = 1"})
	id := suspended(t, s, "n = 2\nopen('f').read() if __import__('os').path.exists('f') else tools.ask(m=1)\n", "ask")[0]
	if _, err := s.Autopsy(t.Context()); !errors.Is(err, engine.ErrNoAutopsy) {
		t.Errorf("an autopsy of a turn that waits: %v", err)
	}
	res, err := s.Resume(t.Context(), engine.Resumption{Cancel: true})
	if err != nil || res.Status != engine.StatusCancelled || !res.RolledBack {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(id, "1")}}); !errors.Is(err, engine.ErrNoCall) {
		t.Errorf("resumed after it was given up: %v", err)
	}
	wants(t, turn(t, s, engine.Turn{Code: "print(n)"}), engine.StatusOK, "1\n")
	for _, tt := range []struct{ code, says string }{
		{"n = 3\nm = open('f').read() if __import__('os').path.exists('f') else 1\ntools.ask(m=m)", "another way"},
		{"n = 3\nif not __import__('os').path.exists('f'): tools.ask(m=1)", "another way"},
	} {
		id = suspended(t, s, tt.code, "ask")[0]
		if err := s.Files().WriteFile("f", []byte("2")); err != nil {
			t.Fatal(err)
		}
		_, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(id, "1")}})
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("another way: %v", err)
		}
		if err := s.Files().Remove("f"); err != nil {
			t.Fatal(err)
		}
		// It still waits, and goes on once it can.
		wants(t, resume(t, s, result(id, "1")), engine.StatusOK, "")
		wants(t, turn(t, s, engine.Turn{Code: "print(n); n = 1"}), engine.StatusOK, "3\n")
	}
	// The call that blocks must be among the results.
	res = turn(t, s, engine.Turn{Code: "import asyncio\nasync def main():\n    task = asyncio.ensure_future(tools.approve.aio())\n    await asyncio.sleep(0)\n    print(tools.ask(), await task)\nasyncio.run(main())"})
	ids, before := pending(t, res, "approve", "ask"), len(s.History())
	_, err = s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(ids[0], "1")}})
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "give its result") || len(s.History()) != before {
		t.Errorf("without the result of the call in which it waits: %v, history %+v", err, s.History())
	}
	wants(t, resume(t, s, result(ids[1], "2"), result(ids[0], "1")), engine.StatusOK, "2 1\n")
	// Too much to keep in mind, and time that is over, are errors of the call.
	for code, timeout := range map[string]time.Duration{
		"import time\nfor _ in range(70_000): time.time()\ntools.ask()":           time.Minute,
		"try:\n    while True: pass\nexcept KeyboardInterrupt: pass\ntools.ask()": 500 * time.Millisecond,
	} {
		res := turn(t, s, engine.Turn{Code: code, Limits: limits.Limits{Timeout: timeout, Grace: 10 * time.Second}})
		if res.Status == engine.StatusSuspended || !strings.Contains(res.Stderr, "comes later") {
			t.Errorf("%s: %s %+v\n%s", code, res.Status, res, res.Stderr)
		}
	}
}

// Copies of a suspended session have random numbers of their own from there on, and repeat those of before.
func TestSuspendedChance(t *testing.T) {
	for _, tt := range []struct{ name, language, code, draw string }{
		{"kept", engine.Python, "import random, secrets\nx = await tools.ask.aio()\nprint(secrets.token_hex(8), random.random())", "print(random.random())"},
		{"kept", engine.JavaScript, "await tools.ask(); console.log(crypto.randomUUID(), Math.random())", "console.log(Math.random())"},
		{"again", engine.Python, "import secrets, random\nold = secrets.token_hex(8)\nx = tools.ask(old=old)\nnew = secrets.token_hex(8)\ny = tools.ask(old=old, new=new)\nprint(old, new, secrets.token_hex(8))", "print(random.random())"},
	} {
		t.Run(tt.language+" "+tt.name, func(t *testing.T) {
			s := lateSession(t, testEngine(t), engine.Options{Language: tt.language, Repeatable: true})
			turn(t, s, engine.Turn{Code: "1"})
			id := suspended(t, s, tt.code, "ask")[0]
			forks, err := s.Fork(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, f := range forks {
				defer f.Close()
				res := resume(t, f, result(id, "1"))
				if tt.name == "again" {
					asked := string(res.PendingCalls[0].Arguments)
					res = resume(t, f, result(pending(t, res, "ask")[0], "2"))
					drawn := strings.Fields(res.Stdout)
					if len(drawn) != 3 || asked != `{"old":"`+drawn[0]+`","new":"`+drawn[1]+`"}` {
						t.Errorf("it asked %s, and drew %s", asked, drawn)
					}
					if seen[drawn[1]] || seen[drawn[2]] {
						t.Errorf("two copies drew %s", drawn[1:])
					}
					seen[drawn[1]], seen[drawn[2]] = true, true
				}
				for _, drawn := range append(strings.Fields(res.Stdout), turn(t, f, engine.Turn{Code: tt.draw}).Stdout) {
					if tt.name == "kept" && seen[drawn] || strings.HasSuffix(drawn, "\n") && seen[drawn] {
						t.Errorf("two copies drew %s", drawn)
					}
					seen[drawn] = true
				}
			}
		})
	}
}

// A turn may read any amount of standard input; what is kept, to run it again, has a bound.
func TestHeardIsBounded(t *testing.T) {
	const most = 8 << 20
	for _, sizes := range [][]int{{5, 0, most - 5, 1, 7}, {64 << 20, 1}} {
		if n := engine.Heard(sizes...); n != most+1 {
			t.Errorf("of parts of %d bytes %d are kept", sizes, n)
		}
	}
	if n := engine.Heard(3, 4); n != 7 {
		t.Errorf("of 7 bytes %d are kept", n)
	}
}
