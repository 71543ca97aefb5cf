package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/mailbox"
	"github.com/cloche-dev/cloche/limits"
)

func testHub(t *testing.T, channels ...limits.Channel) *mailbox.Hub {
	t.Helper()
	h, err := mailbox.New(channels...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// channels offers what the modes say of the hub.
func channels(t *testing.T, h *mailbox.Hub, modes map[string]limits.ChannelMode) *hostfuncs.Registry {
	t.Helper()
	reg := &hostfuncs.Registry{}
	if err := h.Offer(reg, modes); err != nil {
		t.Fatal(err)
	}
	return reg
}

// A boss hands out work in one session, workers in both languages do it in theirs, all at once.
func TestMailbox(t *testing.T) {
	h := testHub(t, limits.Channel{Name: "tasks", Mode: limits.ChannelBoth, Messages: 3}, limits.Channel{Name: "results", Mode: limits.ChannelBoth})
	boss := channels(t, h, map[string]limits.ChannelMode{"tasks": "send", "results": "receive"})
	worker := channels(t, h, map[string]limits.ChannelMode{"tasks": "receive", "results": "send"})
	const python = `
while (task := tools.tasks.receive(timeout=20)) is not None:
    tools.results.send({"n": task["n"], "square": task["n"] ** 2, "by": "python"})`
	const javascript = `
for (let task; (task = await tools.tasks.receive()) !== null;)
  await tools.results.send({ value: { n: task.n, square: task.n ** 2, by: "javascript" }, timeout: 5 });`
	var wg sync.WaitGroup
	for i, w := range []struct{ language, code string }{{engine.Python, python}, {engine.JavaScript, javascript}, {engine.Python, python}, {engine.JavaScript, javascript}} {
		s := open(t, engine.Options{Language: w.language, Tools: worker})
		wg.Go(func() {
			res, err := s.Run(t.Context(), engine.Turn{Code: w.code})
			if err != nil || res.Status != engine.StatusOK {
				t.Errorf("worker %d: %v, %+v", i, err, res)
			}
		})
	}
	res := run(t, engine.Job{Tools: boss, Code: `
import asyncio
async def main():
    async def hand_out():
        for n in range(20):
            await tools.tasks.send.aio({"n": n}, timeout=20)
    async def collect():
        return [await tools.results.receive.aio(timeout=20) for _ in range(20)]
    _, results = await asyncio.gather(hand_out(), collect())
    for _ in range(4):
        tools.tasks.send(None, timeout=20)
    return sum(r["square"] for r in results), sorted({r["n"] for r in results}) == list(range(20))
print(asyncio.run(main()), dir(tools), dir(tools.tasks))`})
	wg.Wait()
	if want := "(2470, True) ['results', 'tasks'] ['send']\n"; res.Stdout != want {
		t.Errorf("stdout %q, want %q\n%s", res.Stdout, want, res.Stderr)
	}
	if sent := strings.Count(outcomes(res), "tasks.send ok"); len(res.ToolCalls) != 44 || sent != 24 {
		t.Errorf("%d calls on record: %s", len(res.ToolCalls), outcomes(res))
	}
}

func TestMailboxRefusals(t *testing.T) {
	h := testHub(t, limits.Channel{Name: "box", Mode: limits.ChannelBoth, Messages: 2, Bytes: 100}, limits.Channel{Name: "out", Mode: limits.ChannelSend})
	for language, code := range map[string]string{
		engine.Python: `
def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
for f in (lambda: tools.box.receive(timeout=0), lambda: tools.box.receive(0.05), lambda: tools.box.send("x" * 99), lambda: tools.box.send(1), lambda: tools.box.send([1.5, None]),
          lambda: tools.box.send(3), lambda: tools.box.send(3, timeout=0.05), lambda: tools.box.send(3, timeout=-1), lambda: tools.box.receive(), lambda: tools.box.receive(),
          lambda: tools.out.receive()):
    attempt(f)`,
		engine.JavaScript: `
for (const f of [() => tools.box.receive(0), () => tools.box.receive({ timeout: 0.05 }), () => tools.box.send("x".repeat(99)), () => tools.box.send(1), () => tools.box.send([1.5, null]),
    () => tools.box.send(3), () => tools.box.send(3, 0.05), () => tools.box.send({ value: 3, timeout: -1 }), () => tools.box.receive(), () => tools.box.receive(),
    () => tools.out.receive()]) {
  try { const v = await f(); console.log(v === null ? "None" : Array.isArray(v) ? "[1.5, None]" : v); } catch (e) { console.log(e.name, e.message); }
}`,
	} {
		res := run(t, engine.Job{Language: language, Code: code, Tools: channels(t, h, nil)})
		lines := strings.Split(res.Stdout, "\n")
		want := []string{
			"TimeoutError no message came to the channel box within 0 s",
			"TimeoutError no message came to the channel box within 0.05 s",
			"ValueError box: a message of 101 bytes is more than the 100 that the channel may hold",
			"None", "None",
			"TimeoutError the channel box is full: nobody received within 0 s",
			"TimeoutError the channel box is full: nobody received within 0.05 s",
			"TypeError box.send: ",
			"1", "[1.5, None]",
			map[string]string{engine.Python: "AttributeError there is no tool 'receive'", engine.JavaScript: "TypeError tools.out.receive is not a function"}[language],
		}
		for i, w := range want {
			if i >= len(lines) || !strings.HasPrefix(lines[i], w) {
				t.Errorf("%s: line %d of %q, want %q\n%s", language, i, lines, w, res.Stderr)
			}
		}
	}
}

// A program that waits for a message that never comes is stopped like any other, and one that floods a channel fills only that.
func TestMailboxHostile(t *testing.T) {
	h := testHub(t, limits.Channel{Name: "box", Mode: limits.ChannelBoth, Messages: 10, Bytes: 1 << 10})
	reg := channels(t, h, nil)
	for language, code := range map[string]struct{ wait, many, flood string }{
		engine.Python: {
			"tools.box.receive()",
			"import asyncio\nasync def main():\n    await asyncio.gather(*[tools.box.receive.aio() for _ in range(200)])\nasyncio.run(main())",
			"n = 0\nfor i in range(1000):\n    try:\n        tools.box.send('x' * 200)\n        n += 1\n    except TimeoutError:\n        pass\nprint(n)",
		},
		engine.JavaScript: {
			"await tools.box.receive()",
			"await Promise.all(Array(200).fill(0).map(() => tools.box.receive()))",
			"let n = 0; for (let i = 0; i < 1000; i++) try { await tools.box.send('x'.repeat(200)); n++ } catch {}\nconsole.log(n)",
		},
	} {
		for _, text := range []string{code.wait, code.many} {
			begun := time.Now()
			res := run(t, engine.Job{Language: language, Code: text, Tools: reg, Limits: limits.Limits{Timeout: 300 * time.Millisecond}})
			if took := time.Since(begun); res.Status != engine.StatusTimeout || took > 20*time.Second {
				t.Errorf("%s: %s after %s: %s", language, res.Status, took, text)
			}
		}
		s := open(t, engine.Options{Language: language, Tools: reg})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		res, err := s.Run(ctx, engine.Turn{Code: code.wait})
		cancel()
		if err != nil || res.Status != engine.StatusCancelled {
			t.Errorf("%s: %+v, %v after cancellation", language, res, err)
		}
		if res, err := s.Run(t.Context(), engine.Turn{Code: code.flood}); err != nil || res.Stdout != "5\n" {
			t.Errorf("%s: %+v, %v after a flood", language, res, err)
		}
		over, stop := context.WithCancel(t.Context())
		stop()
		for i := range 6 { // nobody that was stopped took any
			text, err := h.Receive(over, "box")
			if (err == nil) != (i < 5) || err == nil && string(text) != fmt.Sprintf("%q", strings.Repeat("x", 200)) {
				t.Errorf("%s: message %d: %s, %v", language, i, text, err)
			}
		}
	}
	if err := h.Send(t.Context(), "box", json.RawMessage(`{"from": "the host"}`)); err != nil {
		t.Fatal(err)
	}
	if res := run(t, engine.Job{Code: "print(tools.box.receive()['from'])", Tools: reg}); res.Stdout != "the host\n" {
		t.Errorf("%+v", res)
	}
}
