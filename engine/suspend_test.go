package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// lateTools are ask and approve, whose results come later, and now, whose result is there at once.
func lateTools() (*hostfuncs.Registry, error) {
	reg := &hostfuncs.Registry{}
	for _, tool := range []hostfuncs.Tool{
		{Name: "ask", Call: hostfuncs.Later},
		{Name: "approve", Call: hostfuncs.Later, Quick: true, MaxCalls: 4},
		{Name: "now", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"at once"`), nil
		}},
	} {
		if err := reg.Add(tool); err != nil {
			return nil, err
		}
	}
	return reg, nil
}

func withLateTools(t *testing.T, o engine.Options) engine.Options {
	t.Helper()
	var err error
	if o.Tools, err = lateTools(); err != nil {
		t.Fatal(err)
	}
	return o
}

// lateSession is a session with late tools.
func lateSession(t *testing.T, e *engine.Engine, o engine.Options) *engine.Session {
	t.Helper()
	s, err := e.Open(t.Context(), withLateTools(t, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// suspended runs code, which must end suspended with calls of those tools pending; their ids.
func suspended(t *testing.T, s *engine.Session, code string, tools ...string) []string {
	t.Helper()
	res, err := s.Run(t.Context(), engine.Turn{Code: code})
	if err != nil {
		t.Fatal(err)
	}
	return pending(t, res, tools...)
}

func pending(t *testing.T, res *engine.Result, tools ...string) []string {
	t.Helper()
	if res.Status != engine.StatusSuspended || !errors.Is(res.Err(), engine.ErrSuspended) {
		t.Fatalf("status %s, want suspended: %+v\n%s%s", res.Status, res.Error, res.Stdout, res.Stderr)
	}
	var names, ids []string
	for _, c := range res.PendingCalls {
		names, ids = append(names, c.Name), append(ids, c.ID)
	}
	if got, want := strings.Join(names, " "), strings.Join(tools, " "); got != want {
		t.Fatalf("pending calls %q, want %q", got, want)
	}
	return ids
}

func resume(t *testing.T, s *engine.Session, results ...hostfuncs.ToolResult) *engine.Result {
	t.Helper()
	res, err := s.Resume(t.Context(), engine.Resumption{Results: results})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func result(id, value string) hostfuncs.ToolResult {
	return hostfuncs.ToolResult{CallID: id, Result: json.RawMessage(value)}
}

// wants checks how a part of a turn ended and what it printed.
func wants(t *testing.T, res *engine.Result, status engine.Status, stdout string) {
	t.Helper()
	if res.Status != status || res.Stdout != stdout {
		t.Fatalf("status %s, stdout %q, want %s, %q: %+v\n%s", res.Status, res.Stdout, status, stdout, res.Error, res.Stderr)
	}
}

// asking is a program in each language that has something large in memory, asks, and goes on with the answer.
var asking = []struct{ language, before, code, asked, answered, value, after, state string }{
	{
		engine.Python,
		"import pandas as pd\ndf = pd.DataFrame({'a': range(200_000)})",
		"import pathlib\nn = 0\nprint('asking')\nn += 1\npathlib.Path('asked').write_text(str(n))\n" +
			"answer = await tools.ask.aio(total=int(df['a'].sum()))\nprint('by', answer['by'], n, len(df), open('asked').read())\nn += 1\ndf.shape",
		`{"total":19999900000}`, "by Ada 1 200000 1\n", "(200000, 1)",
		"print(n, answer['by'], df['a'].max())", "2 Ada 199999\n",
	},
	{
		engine.JavaScript,
		"const df = new Float64Array(200_000).map((_, i) => i); const fs = require('fs')",
		"let n = 0; console.log('asking'); n++; fs.writeFileSync('asked', `${n}`)\n" +
			"const answer = await tools.ask({ total: df.reduce((a, b) => a + b) })\nconsole.log('by', answer.by, n, df.length, fs.readFileSync('asked', 'utf8'))\nn++\ndf.length",
		`{"total":19999900000}`, "by Ada 1 200000 1\n", "200000",
		"console.log(n, answer.by, df.at(-1))", "2 Ada 199999\n",
	},
}

func TestSuspend(t *testing.T) {
	for _, tt := range asking {
		t.Run(tt.language, func(t *testing.T) {
			s := lateSession(t, testEngine(t), engine.Options{Language: tt.language})
			turn(t, s, engine.Turn{Code: tt.before})
			res, err := s.Run(t.Context(), engine.Turn{Code: tt.code})
			if err != nil {
				t.Fatal(err)
			}
			wants(t, res, engine.StatusSuspended, "asking\n")
			id := pending(t, res, "ask")[0]
			if got := string(res.PendingCalls[0].Arguments); got != tt.asked || len(res.ToolCalls) != 0 {
				t.Errorf("arguments %s, want %s; calls that are over: %v", got, tt.asked, res.ToolCalls)
			}
			if res.State == nil || len(res.FilesChanged) != 1 {
				t.Errorf("state %+v, files %+v", res.State, res.FilesChanged)
			}
			if got := s.Info().PendingCalls; len(got) != 1 || got[0].ID != id {
				t.Errorf("the session tells %+v", got)
			}
			// Nothing else goes on meanwhile.
			if _, err := s.Run(t.Context(), engine.Turn{Code: "1"}); !errors.Is(err, engine.ErrSuspended) {
				t.Errorf("a turn of a suspended session: %v", err)
			}
			for _, bad := range [][]hostfuncs.ToolResult{
				{result("call_x", "1")}, {result(id, "1"), result(id, "2")}, {result(id, "{")},
				{{CallID: id, Result: json.RawMessage("1"), Error: errors.New("no")}}, {},
			} {
				if _, err := s.Resume(t.Context(), engine.Resumption{Results: bad}); !errors.Is(err, engine.ErrInvalid) {
					t.Errorf("resume with %v: %v", bad, err)
				}
			}
			res = resume(t, s, result(id, `{"by":"Ada"}`))
			wants(t, res, engine.StatusOK, tt.answered)
			if v, _ := res.Value(); v != tt.value {
				t.Errorf("value %q, want %q", v, tt.value)
			}
			if outcomes(res) != "ask ok" || len(res.PendingCalls) != 0 || len(s.Info().PendingCalls) != 0 {
				t.Errorf("calls %q, pending %v, %v", outcomes(res), res.PendingCalls, s.Info().PendingCalls)
			}
			// Once only.
			if _, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(id, "1")}}); !errors.Is(err, engine.ErrNoCall) {
				t.Errorf("the same result again: %v", err)
			}
			wants(t, turn(t, s, engine.Turn{Code: tt.after}), engine.StatusOK, tt.state)
			// It was one turn.
			if got := s.Info().Turns; got != 3 || len(s.History()) != 4 {
				t.Errorf("%d turns, history %+v", got, s.History())
			}
		})
	}
}

// Several calls may wait at once, and get their results in pieces, with others that are answered at once among them.
func TestSuspendInPieces(t *testing.T) {
	for language, code := range map[string]string{
		engine.Python: `
import asyncio
async def one(i):
    got = await tools.ask.aio(i=i)
    print("one", i, got)
    return got + await tools.ask.aio(i=10 * i) if i == 2 else got
print(await tools.now.aio())
print(await asyncio.gather(one(1), one(2), tools.approve.aio(), return_exceptions=True))`,
		engine.JavaScript: `
async function one(i) {
  const got = await tools.ask({ i });
  console.log("one", i, got);
  return i === 2 ? got + await tools.ask({ i: 10 * i }) : got;
}
console.log(await tools.now());
console.log(await Promise.all([one(1), one(2), tools.approve().catch((e) => e.name + ": " + e.message)]));`,
	} {
		t.Run(language, func(t *testing.T) {
			s := lateSession(t, testEngine(t), engine.Options{Language: language})
			ids := suspended(t, s, code, "ask", "ask", "approve")
			res := resume(t, s, result(ids[1], "20"))
			more := pending(t, res, "ask", "approve", "ask")
			if res.Stdout != "one 2 20\n" || more[0] != ids[0] || more[1] != ids[2] || string(res.PendingCalls[2].Arguments) != `{"i":20}` {
				t.Errorf("stdout %q, pending %+v", res.Stdout, res.PendingCalls)
			}
			if _, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(ids[1], "20")}}); !errors.Is(err, engine.ErrNoCall) {
				t.Errorf("a result that was given: %v", err)
			}
			res = resume(t, s, result(ids[0], "1"), hostfuncs.ToolResult{CallID: ids[2], Error: &hostfuncs.Refusal{Name: "PermissionError", Message: "no"}})
			pending(t, res, "ask")
			res = resume(t, s, result(more[2], "2"))
			want := map[string]string{
				engine.Python: "[1, 22, PermissionError('no')]\n", engine.JavaScript: "[ 1, 22, 'PermissionError: no' ]\n",
			}[language]
			wants(t, res, engine.StatusOK, want)
		})
	}
}

// A turn is only suspended when nothing else can go on, and never with frames of the program's on the stack.
func TestSuspendOrNot(t *testing.T) {
	const refused = "the result of ask comes later"
	for _, tt := range []struct{ name, language, code, stdout string }{
		{"blocking call", engine.Python, "try:\n    tools.ask()\nexcept RuntimeError as e:\n    print(str(e)[:29])", refused},
		{"loop of its own", engine.Python, "import asyncio\nasync def main():\n    try:\n        await tools.approve.aio()\n    except RuntimeError as e:\n        print(str(e)[:33])\nasyncio.run(main())", "the result of approve comes later"},
		{"cell magic", engine.Python, "%%capture\ntry:\n    await tools.ask.aio()\nexcept RuntimeError as e:\n    import sys\n    print(str(e)[:29], file=sys.__stdout__)", refused},
		{"timer", engine.Python, "import asyncio\ntry:\n    await asyncio.wait_for(tools.ask.aio(), 0.05)\nexcept TimeoutError:\n    print('timed out')", "timed out"},
		{"timer", engine.JavaScript, "console.log(await Promise.race([tools.ask(), new Promise((r) => setTimeout(r, 50, 'timed out'))]))", "timed out"},
		{"import", engine.JavaScript, "require('fs').writeFileSync('m.mjs', 'export const v = await tools.ask().catch((e) => e.message)');\nconst { v } = await import('./m.mjs'); console.log(v.slice(0, 29))", ""},
	} {
		t.Run(tt.language+" "+tt.name, func(t *testing.T) {
			s := lateSession(t, testEngine(t), engine.Options{Language: tt.language})
			res := turn(t, s, engine.Turn{Code: tt.code})
			if tt.stdout == "" { // which is one more promise
				wants(t, resume(t, s, result(pending(t, res, "ask")[0], `"loaded"`)), engine.StatusOK, "loaded\n")
				return
			}
			if res.Stdout != tt.stdout+"\n" {
				t.Errorf("status %s, stdout %q, error %+v", res.Status, res.Stdout, res.Error)
			}
		})
	}
	// A program of its own, without a session, has nobody to go on with it.
	for language, code := range map[string]string{
		engine.Python:     "await tools.ask.aio()",
		engine.JavaScript: "await tools.ask()",
	} {
		res := run(t, engine.Job{Language: language, Code: code, Tools: withLateTools(t, engine.Options{}).Tools})
		if res.Status != engine.StatusError || !strings.Contains(res.Error.Value, refused) {
			t.Errorf("%s: status %s, error %+v", language, res.Status, res.Error)
		}
	}
}

// A suspended session can be forked and moved; each copy goes on by itself, once, with random numbers of its own.
func TestSuspendedCopies(t *testing.T) {
	for _, tt := range asking {
		t.Run(tt.language, func(t *testing.T) {
			ctx := t.Context()
			s := lateSession(t, testEngine(t), engine.Options{Language: tt.language})
			turn(t, s, engine.Turn{Code: tt.before})
			id := suspended(t, s, tt.code, "ask")[0]
			forks, err := s.Fork(ctx, 2)
			if err != nil {
				t.Fatal(err)
			}
			snap, err := s.Snapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if !snap.Info().Suspended {
				t.Error("the snapshot does not tell that it is suspended")
			}
			var file bytes.Buffer
			if _, err := snap.WriteTo(&file); err != nil {
				t.Fatal(err)
			}
			other, err := engine.New(engine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			read, err := other.ReadSnapshot(&file)
			if err != nil {
				t.Fatal(err)
			}
			moved, err := other.Restore(ctx, read)
			if err != nil {
				t.Fatal(err)
			}
			defer moved.Close()
			for _, c := range append(forks, s, moved) {
				if p := c.Info().PendingCalls; len(p) != 1 || p[0].ID != id {
					t.Errorf("pending calls %+v", p)
				}
				wants(t, resume(t, c, result(id, `{"by":"Ada"}`)), engine.StatusOK, tt.answered)
				wants(t, turn(t, c, engine.Turn{Code: tt.after}), engine.StatusOK, tt.state)
				if _, err := c.Resume(ctx, engine.Resumption{Results: []hostfuncs.ToolResult{result(id, "1")}}); !errors.Is(err, engine.ErrNoCall) {
					t.Errorf("the same result again: %v", err)
				}
			}
			for _, f := range forks {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// waiting are programs that wait, and what they do when they go on.
var waiting = map[string]struct{ before, wait, raise, loop, swallow, count string }{
	engine.Python: {
		"import random\nn = 0",
		"n += 1\nprint('wait')\ntry:\n    v = await tools.ask.aio()\nfinally:\n    n += 10\n    print('cleaned up')\nn += 100\nif v == 1: raise ValueError(v)\nwhile v == 2: pass",
		"1", "2", "while True:\n    try:\n        await tools.ask.aio()\n    except BaseException:\n        pass", "print(n)",
	},
	engine.JavaScript: {
		"let n = 0",
		"n += 1; console.log('wait'); let v; try { v = await tools.ask() } finally { n += 10; console.log('cleaned up') }\nn += 100\nif (v === 1) throw new RangeError(`${v}`)\nwhile (v === 2);",
		"1", "2", "", "console.log(n)",
	},
}

// What is forced to stop after it was resumed is undone up to where it was suspended; an exception is not.
func TestSuspendEndings(t *testing.T) {
	for language, p := range waiting {
		t.Run(language, func(t *testing.T) {
			open := func(o engine.Options) (*engine.Session, string) {
				o.Language = language
				s := lateSession(t, testEngine(t), o)
				turn(t, s, engine.Turn{Code: p.before})
				return s, suspended(t, s, p.wait, "ask")[0]
			}
			count := func(s *engine.Session, want string) {
				t.Helper()
				wants(t, turn(t, s, engine.Turn{Code: p.count}), engine.StatusOK, want+"\n")
			}
			s, id := open(engine.Options{})
			res := resume(t, s, result(id, p.raise))
			if res.Status != engine.StatusError || res.RolledBack || res.Error.Line == 0 || !strings.HasSuffix(res.Error.Name, "Error") {
				t.Errorf("an exception: %+v, error %+v", res, res.Error)
			}
			count(s, "111")

			s, id = open(engine.Options{Limits: limits.Limits{Fuel: 60_000_000}})
			for range 2 { // it stays where it was, and may be tried again
				res = resume(t, s, result(id, p.loop))
				if res.Status != engine.StatusOutOfFuel || !res.RolledBack || res.Usage.Fuel < 60_000_000 || len(res.PendingCalls) != 1 {
					t.Errorf("out of fuel: %+v", res)
				}
			}
			wants(t, resume(t, s, result(id, "3")), engine.StatusOK, "cleaned up\n")
			count(s, "111")

			s, id = open(engine.Options{OnError: engine.OnErrorRollback})
			if res = resume(t, s, result(id, p.raise)); res.Status != engine.StatusError || !res.RolledBack {
				t.Errorf("an exception in a transaction: %+v", res)
			}
			wants(t, resume(t, s, result(id, "3")), engine.StatusOK, "cleaned up\n")
			count(s, "111")

			// Given up: by going back, by beginning anew, or by an interrupt.
			s, id = open(engine.Options{})
			if err := s.Rollback(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(id, "3")}}); !errors.Is(err, engine.ErrNoCall) {
				t.Errorf("resumed after it was rolled back: %v", err)
			}
			count(s, "0")
			suspended(t, s, p.wait, "ask")
			if err := s.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			turn(t, s, engine.Turn{Code: p.before})
			count(s, "0")
			for _, onError := range []string{"", engine.OnErrorRollback} {
				s, _ = open(engine.Options{OnError: onError})
				res, err := s.Resume(t.Context(), engine.Resumption{Cancel: true})
				if err != nil {
					t.Fatal(err)
				}
				n, stdout := "11", "cleaned up\n"
				if language == engine.JavaScript { // whose interrupt cannot be caught
					n, stdout = "1", ""
				}
				wants(t, res, engine.StatusCancelled, stdout)
				if res.RolledBack || outcomes(res) != "ask cancelled" {
					t.Errorf("cancelled: rolled back %v, calls %q", res.RolledBack, outcomes(res))
				}
				count(s, n)
			}
		})
	}
}

// The limits are the whole turn's, and time passes only while it runs.
func TestSuspendLimits(t *testing.T) {
	for language, code := range map[string]string{
		engine.Python: "import time\nfor i in range(3):\n    print('x' * 400)\n    time.sleep(0.05)\n    await tools.ask.aio()\nfor i in range(9):\n    await tools.approve.aio()",
		engine.JavaScript: "for (let i = 0; i < 3; i++) { console.log('x'.repeat(400)); await new Promise((r) => setTimeout(r, 50)); await tools.ask() }\n" +
			"for (let i = 0; i < 9; i++) await tools.approve()",
	} {
		t.Run(language, func(t *testing.T) {
			s := lateSession(t, testEngine(t), engine.Options{Language: language, Limits: limits.Limits{OutputBytes: 1000, Timeout: 5 * time.Second}})
			id := suspended(t, s, code, "ask")[0]
			time.Sleep(300 * time.Millisecond)
			last := &engine.Result{}
			for i := range 3 {
				res := resume(t, s, result(id, "1"))
				u := res.Usage
				if u.Fuel <= last.Usage.Fuel || u.Wall < last.Usage.Wall || u.Wall < time.Duration(min(i+2, 3))*50*time.Millisecond || u.Wall > 4*time.Second {
					t.Errorf("usage %+v after %+v", u, last.Usage)
				}
				last = res
				id = pending(t, res, []string{"ask", "ask", "approve"}[i])[0]
				if i < 2 {
					if want := []int{401, 198}[i]; len(res.Stdout) != want || u.OutputBytes != uint64(401*(i+2)) {
						t.Errorf("part %d: %d bytes of output, want %d; in all %d", i, len(res.Stdout), want, u.OutputBytes)
					}
				}
			}
			for range 3 {
				id = pending(t, resume(t, s, result(id, "1")), "approve")[0]
			}
			res := resume(t, s, result(id, "1"))
			if res.Status != engine.StatusError || !strings.Contains(res.Error.Value, "this run may call approve 4 times") {
				t.Errorf("the fifth call: %s, %+v", res.Status, res.Error)
			}
		})
	}
	const timeout = 2 * time.Second
	s := lateSession(t, testEngine(t), engine.Options{Language: engine.JavaScript, Limits: limits.Limits{Timeout: timeout}})
	res := turn(t, s, engine.Turn{Code: "const until = Date.now() + 1000; while (Date.now() < until); await tools.ask(); for (;;);"})
	id, first := pending(t, res, "ask")[0], res.Usage.Wall
	time.Sleep(300 * time.Millisecond)
	// Neither is the time given anew nor does that count in which it was suspended.
	if res = resume(t, s, result(id, "1")); res.Status != engine.StatusTimeout || res.Usage.Wall < timeout || res.Usage.Wall > timeout+first {
		t.Errorf("status %s after it ran for %s, %s of it before it was suspended, with a timeout of %s", res.Status, res.Usage.Wall, first, timeout)
	}
}

// Of several who resume at once one does; one whose context ends has not resumed.
func TestSuspendContention(t *testing.T) {
	for language, p := range waiting {
		t.Run(language, func(t *testing.T) {
			s := lateSession(t, testEngine(t), engine.Options{Language: language})
			turn(t, s, engine.Turn{Code: p.before})
			id := suspended(t, s, p.wait, "ask")[0]
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			res, err := s.Resume(ctx, engine.Resumption{Results: []hostfuncs.ToolResult{result(id, p.loop)}})
			if err != nil || res.Status != engine.StatusCancelled || !res.RolledBack {
				t.Fatalf("%+v, %v", res, err)
			}
			var wg sync.WaitGroup
			var resumed atomic.Int32
			for range 8 {
				wg.Go(func() {
					res, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(id, "3")}})
					if err == nil && res.Status == engine.StatusOK {
						resumed.Add(1)
					} else if !errors.Is(err, engine.ErrBusy) && !errors.Is(err, engine.ErrNoCall) {
						t.Errorf("%+v, %v", res, err)
					}
					_ = s.Info()
				})
			}
			wg.Wait()
			if n := resumed.Load(); n != 1 {
				t.Errorf("%d of 8 have resumed", n)
			}
			wants(t, turn(t, s, engine.Turn{Code: p.count}), engine.StatusOK, "111\n")
		})
	}
}

// A program that owns its interpreter can say what it likes of its calls, and gains nothing by it.
func TestSuspendHostile(t *testing.T) {
	for name, code := range map[string]string{
		"suspended without a call": `
import _host
real = _host.call
import sys
m = [m for n, m in sys.modules.items() if n.startswith("_cloche") and n.endswith(".calls")][0]
raise m.Suspended`,
		"waits on after it was suspended": `
import sys
calls = sys.modules["_cloche.calls"]
import asyncio
task = asyncio.ensure_future(tools.ask.aio())
await asyncio.sleep(0)
for i in range(3):
    try:
        calls.wait(None, True)
    except BaseException as e:
        print(type(e).__name__)`,
		"a call that it gave up": `
import sys
calls = sys.modules["_cloche.calls"]
import asyncio
task = asyncio.ensure_future(tools.ask.aio())
await asyncio.sleep(0)
calls.cancel(*calls._going)
calls._going[12345] = lambda answer: None
await asyncio.Future()`,
	} {
		t.Run(name, func(t *testing.T) {
			s := lateSession(t, testEngine(t), engine.Options{Limits: limits.Limits{Timeout: 3 * time.Second}})
			res := turn(t, s, engine.Turn{Code: code})
			if res.Status == engine.StatusSuspended || len(s.Info().PendingCalls) != 0 {
				t.Errorf("status %s, pending %+v", res.Status, s.Info().PendingCalls)
			}
			t.Logf("%s %+v %s", res.Status, res.Error, res.Stdout)
			wants(t, turn(t, s, engine.Turn{Code: "print(1)"}), engine.StatusOK, "1\n")
		})
	}
}

// suspendChild makes this test binary a process that answers the calls of a store's suspended session, until it is killed.
const suspendChild = "CLOCHE_TEST_SUSPEND_CHILD"

// answerInStore answers each call of the store's session by 1, and prints the call's id once the answer was taken.
func answerInStore(dir string) error {
	ctx := context.Background()
	e, err := engine.New(engine.Config{Store: dir, HibernateAfter: 3 * time.Millisecond, ParkAfter: time.Millisecond})
	if err != nil {
		return err
	}
	tools, err := lateTools()
	if err != nil {
		return err
	}
	s, err := e.Session(ctx, e.Sessions()[0].ID, func(o *engine.Options) { o.Tools = tools })
	for err == nil {
		call := s.Info().PendingCalls[0]
		if _, err = s.Resume(ctx, engine.Resumption{Results: []hostfuncs.ToolResult{result(call.ID, "1")}}); err == nil {
			fmt.Println(call.ID)
			time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
		}
	}
	return err
}

// A suspended turn goes on in a process after the one that began it, which was killed; of its results, each counts once.
func TestSuspendSurvivesKill(t *testing.T) {
	for _, tt := range []struct {
		language, code string
		tries          int
	}{
		{engine.Python, "import pandas as pd\nimport random\ndf = pd.DataFrame({'a': [random.random() for _ in range(5000)]})\nsum_ = df['a'].sum()\nn = 0\nopen('n', 'w').write('0')\n" +
			"while n < 10**6:\n    n += await tools.ask.aio(n=n, rows=len(df), file=open('n').read(), same=bool(df['a'][:5000].sum() == sum_))\n" +
			"    df.loc[len(df)] = [n]\n    open('n', 'w').write(str(n))\ndf.shape", 3},
		{engine.JavaScript, "const fs = require('fs'); const a = Array(5000).fill(0); let n = 0; fs.writeFileSync('n', '0');\n" +
			"while (n < 10**6) { n += await tools.ask({ n, rows: a.length, file: fs.readFileSync('n', 'utf8'), same: a[0] === 0 }); a.push(n); fs.writeFileSync('n', `${n}`); }", 10},
	} {
		t.Run(tt.language, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			e := storeEngine(t, engine.Config{Store: dir})
			s, err := e.Open(t.Context(), withLateTools(t, engine.Options{Language: tt.language}))
			if err != nil {
				t.Fatal(err)
			}
			suspended(t, s, tt.code, "ask")
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			taken := 0
			for range tt.tries {
				told := untilKilled(t, suspendChild, dir, 6)
				e := storeEngine(t, engine.Config{Store: dir})
				s, err := e.Session(t.Context(), e.Sessions()[0].ID, func(o *engine.Options) { *o = withLateTools(t, *o) })
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range told {
					if _, err := s.Resume(t.Context(), engine.Resumption{Results: []hostfuncs.ToolResult{result(id, "1")}}); !errors.Is(err, engine.ErrNoCall) {
						t.Errorf("a result that was taken by a process that was killed: %v", err)
					}
				}
				taken += len(told)
				if stateOf(t, s, taken+1) {
					taken++ // killed after it was stored, and before it was told
				} else if !stateOf(t, s, taken) {
					t.Fatalf("%d results were taken, the state is %s", taken, s.Info().PendingCalls[0].Arguments)
				}
				pending(t, resume(t, s, result(s.Info().PendingCalls[0].ID, "1")), "ask")
				if taken++; !stateOf(t, s, taken) {
					t.Fatalf("%d results were taken, the state is %s", taken, s.Info().PendingCalls[0].Arguments)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
			e = storeEngine(t, engine.Config{Store: dir})
			defer e.Close()
			if s, err = e.Session(t.Context(), s.ID()); err != nil {
				t.Fatal(err)
			}
			res := resume(t, s, result(s.Info().PendingCalls[0].ID, "1000000"))
			wants(t, res, engine.StatusOK, "")
		})
	}
}

// stateOf says whether the session's memory and files are those after n results.
func stateOf(t *testing.T, s *engine.Session, n int) bool {
	t.Helper()
	var state struct {
		N, Rows int
		File    string
		Same    bool
	}
	if err := json.Unmarshal(s.Info().PendingCalls[0].Arguments, &state); err != nil {
		t.Fatal(err)
	}
	return state.N == n && state.Rows == 5000+n && state.File == strconv.Itoa(n) && state.Same
}
