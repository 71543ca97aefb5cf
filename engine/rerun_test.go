package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// A recorded run is suspended wherever it waits, also in a call that blocks, and runs again with what it was answered: what it did
// of chance, time and tools until then comes out as it did, and no tool is called twice.
func TestResumeRun(t *testing.T) {
	for language, code := range map[string]string{
		engine.Python: `
import asyncio, random, time
seen = [random.random(), time.time(), tools.count()]
print("first", seen, tools.ask(n=1), tools.count())
async def main():
    a, b, c = await asyncio.gather(tools.ask.aio(n=2), tools.count.aio(), tools.approve.aio())
    print("second", a, b, c, tools.count(), random.random())
asyncio.run(main())
try:
    tools.ask(n=3)
except PermissionError as e:
    print("third", e)
seen`,
		engine.JavaScript: `
const seen = [Math.random(), Date.now(), await tools.count()];
console.log("first", seen, await tools.ask({ n: 1 }), await tools.count());
const [a, b, c] = await Promise.all([tools.ask({ n: 2 }), tools.count(), tools.approve()]);
console.log("second", a, b, c, await tools.count(), Math.random());
await tools.ask({ n: 3 }).catch((e) => console.log("third", e.message));
seen`,
	} {
		t.Run(language, func(t *testing.T) {
			reg, err := lateTools()
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			err = hostfuncs.Register(reg, "count", func(context.Context, struct{}) (int, error) { count++; return count, nil })
			if err != nil {
				t.Fatal(err)
			}
			res, err := testEngine(t).Run(t.Context(), engine.Job{Language: language, Code: code, Tools: reg, Receipt: true})
			if err != nil {
				t.Fatal(err)
			}
			// on goes through JSON, as a receipt does that is kept, to the next part.
			on := func(status engine.Status, tools string, results ...hostfuncs.ToolResult) {
				t.Helper()
				text, err := json.Marshal(res.Receipt)
				if err != nil {
					t.Fatal(err)
				}
				rec, err := engine.ReadReceipt(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := testEngine(t).Replay(t.Context(), rec); !errors.Is(err, engine.ErrReceipt) {
					t.Errorf("a receipt of a suspended run is replayed: %v", err)
				}
				if res, err = testEngine(t).Resume(t.Context(), rec, engine.Job{Tools: reg}, results...); err != nil {
					t.Fatal(err)
				}
				if res.Status != status || status == engine.StatusSuspended && strings.Join(pendingNames(res), " ") != tools {
					t.Fatalf("status %s, pending %q, want %s, %q: %+v\n%s", res.Status, pendingNames(res), status, tools, res.Error, res.Stderr)
				}
			}
			if res.Status != engine.StatusSuspended || len(res.PendingCalls) != 1 || string(res.PendingCalls[0].Arguments) != `{"n":1}` {
				t.Fatalf("%+v %+v", res, res.Error)
			}
			first := res.PendingCalls[0].ID
			if _, err := testEngine(t).Resume(t.Context(), res.Receipt, engine.Job{Tools: reg}, result("call_x", "1")); !errors.Is(err, engine.ErrNoCall) {
				t.Errorf("a result for no call: %v", err)
			}
			on(engine.StatusSuspended, "ask approve", result(first, `"one"`))
			ids := []string{res.PendingCalls[0].ID, res.PendingCalls[1].ID}
			on(engine.StatusSuspended, "ask", result(ids[1], `"yes"`))
			if res.PendingCalls[0].ID != ids[0] {
				t.Error("a call that waits on has another id")
			}
			on(engine.StatusSuspended, "ask", result(ids[0], `"two"`))
			said := res.Stdout
			on(engine.StatusOK, "", hostfuncs.ToolResult{CallID: res.PendingCalls[0].ID, Error: &hostfuncs.Refusal{Name: "PermissionError", Message: "no"}})
			if !strings.HasPrefix(res.Stdout, said) || count != 4 {
				t.Errorf("%d calls of count, want 4; stdout %q, after %q", count, res.Stdout, said)
			}
			for _, want := range []string{" one 2\n", "second two 3 yes 4 ", "third no\n"} {
				if !strings.Contains(res.Stdout, want) {
					t.Errorf("stdout %q lacks %q", res.Stdout, want)
				}
			}
			again, err := testEngine(t).Replay(t.Context(), res.Receipt)
			if err != nil || !again.Same {
				t.Errorf("the whole run, replayed: %+v, %v", again, err)
			}
		})
	}
}

func pendingNames(res *engine.Result) (names []string) {
	for _, c := range res.PendingCalls {
		names = append(names, c.Name)
	}
	return names
}

func TestResumeRunRefuses(t *testing.T) {
	o := withLateTools(t, engine.Options{})
	start := func(code string) *engine.Receipt {
		t.Helper()
		res, err := testEngine(t).Run(t.Context(), engine.Job{Code: code, Tools: o.Tools, Receipt: true})
		if err != nil || res.Status != engine.StatusSuspended {
			t.Fatalf("%+v, %v", res, err)
		}
		return res.Receipt
	}
	rec := start("tools.now()\ntools.ask()")
	id := rec.Suspended.Calls[0].ID
	for _, tt := range []struct {
		name   string
		change func(r *engine.Receipt)
		says   string
	}{
		{"it goes another way", func(r *engine.Receipt) { r.Job.Code = "tools.now()\ntools.ask(n=1)" }, "took another way"},
		{"it ends sooner", func(r *engine.Receipt) { r.Job.Code = "tools.now()" }, "expected 3, got 2"},
		{"it is over", func(r *engine.Receipt) { r.Suspended = nil }, "not suspended"},
		{"it waits for nothing", func(r *engine.Receipt) { r.Suspended = &engine.SuspendedRun{} }, "waits for nothing"},
		{"two calls are one", func(r *engine.Receipt) {
			s := *r.Suspended
			s.Calls = append(s.Calls, s.Calls[0])
			r.Suspended = &s
		}, "there twice"},
	} {
		r := *rec
		tt.change(&r)
		_, err := testEngine(t).Resume(t.Context(), &r, engine.Job{Tools: o.Tools}, result(id, "1"))
		if !errors.Is(err, engine.ErrReceipt) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// What does not know its tools any more goes on until it needs them.
	res, err := testEngine(t).Resume(t.Context(), rec, engine.Job{}, result(id, "1"))
	if err != nil || res.Status != engine.StatusOK {
		t.Errorf("%+v, %v", res, err)
	}
	// A call that blocks must have its result, whatever else has one.
	rec = start("import asyncio\nasync def main():\n    task = asyncio.ensure_future(tools.approve.aio())\n    await asyncio.sleep(0)\n    print(tools.ask(), await task)\nasyncio.run(main())")
	if len(rec.Suspended.Calls) != 2 {
		t.Fatalf("%+v", rec.Suspended)
	}
	_, err = testEngine(t).Resume(t.Context(), rec, engine.Job{Tools: o.Tools}, result(rec.Suspended.Calls[0].ID, "1"))
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "give its result") {
		t.Errorf("without the result of the call in which it waits: %v", err)
	}
	res, err = testEngine(t).Resume(t.Context(), rec, engine.Job{Tools: o.Tools}, result(rec.Suspended.Calls[0].ID, "1"), result(rec.Suspended.Calls[1].ID, "2"))
	if err != nil || res.Stdout != "2 1\n" {
		t.Errorf("%+v, %v", res, err)
	}
}
