package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes/python"
)

// chance uses every source of chance that there is: what of them a seed and a clock do not fix differs from run to run.
var chance = map[string]string{engine.Python: `
import asyncio, hashlib, os, random, secrets, sys, tempfile, threading, time, uuid
import numpy as np
from datetime import datetime
print(random.random(), secrets.token_hex(4), uuid.uuid4(), uuid.uuid1(), os.urandom(4).hex(), np.random.rand(), np.random.default_rng().integers(1 << 40))
print(time.time(), time.time_ns(), time.monotonic(), time.perf_counter(), time.process_time(), datetime.now())
print({str(i) for i in range(20)}, {object() for _ in range(3)}, id(sys), object(), hash("text"), hash(object()))
for i in range(3):
    with tempfile.NamedTemporaryFile(dir="/data", delete=False) as f:
        f.write(os.urandom(9))
    print(f.name, os.stat(f.name))
print(os.listdir("/data"), [e.name for e in os.scandir("/tmp")], os.getpid(), os.statvfs("/data"))
async def job(n):
    for _ in range(3):
        await asyncio.sleep(random.random() / 100)
        print(n, time.monotonic())
async def main():
    await asyncio.gather(*(job(n) for n in range(4)))
asyncio.run(main())
time.sleep(0.5)
print(sys.stdin.buffer.read1(5), sys.stdin.read(), given, sys.argv, os.environ["WHO"], open("in.txt").read())
import gc
print(gc.collect(), gc.get_count(), sys.getrefcount(None), len(gc.get_objects()))
print("to the error output", file=sys.stderr)
{"figure": random.random()}
`, engine.JavaScript: `
const crypto = require('crypto'), fs = require('fs'), os = require('os')
console.log(Math.random(), crypto.randomUUID(), crypto.randomBytes(4).toString('hex'), crypto.getRandomValues(new Uint8Array(4)))
console.log(Date.now(), new Date().toString(), performance.now(), process.hrtime(), process.uptime(), process.memoryUsage(), process.pid)
for (let i = 0; i < 3; i++) {
  const dir = fs.mkdtempSync('/data/x-')
  fs.writeFileSync(dir + '/f', crypto.randomBytes(9))
  console.log(dir, fs.statSync(dir + '/f'))
}
console.log(fs.readdirSync('/data'), os.tmpdir())
await Promise.all([1, 2, 3].map(async n => {
  for (let i = 0; i < 3; i++) {
    await new Promise(r => setTimeout(r, Math.random() * 20))
    console.log(n, performance.now())
  }
}))
console.log(fs.readFileSync(0, 'utf8'), given, process.argv, process.env.WHO, fs.readFileSync('in.txt', 'utf8'))
console.error('to the error output')
;({ figure: Math.random() })
`}

func chanceJob(language string) engine.Job {
	return engine.Job{
		Language: language, Code: chance[language], Args: []string{"a", "ü"}, Env: map[string]string{"WHO": "<me>"}, Stdin: strings.NewReader("lines\nof input\n"),
		Inputs: map[string]any{"given": map[string]any{"a": []any{1, 2.5, "<x>"}}}, Files: []engine.File{{Path: "in.txt", Content: []byte("given")}, {Path: "in.bin", Content: []byte{0xff, 0}}},
	}
}

// recordedRun runs a job and gives its receipt, which was written and read.
func recordedRun(t *testing.T, j engine.Job) (*engine.Result, *engine.Receipt) {
	t.Helper()
	j.Receipt = true
	res := run(t, j)
	text, err := json.Marshal(res.Receipt)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := engine.ReadReceipt(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return res, rec
}

func replay(t *testing.T, e *engine.Engine, rec *engine.Receipt) *engine.Replay {
	t.Helper()
	again, err := e.Replay(context.Background(), rec)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func mustRepeat(t *testing.T, rec *engine.Receipt) {
	t.Helper()
	for range 2 {
		if again := replay(t, testEngine(t), rec); !again.Same {
			t.Errorf("differs: %+v", again.Differences)
		}
	}
}

func TestReceiptRepeats(t *testing.T) {
	for _, language := range []string{engine.Python, engine.JavaScript} {
		t.Run(language, func(t *testing.T) {
			first, rec := recordedRun(t, chanceJob(language))
			if first.Status != engine.StatusOK || !strings.Contains(first.Stdout, "of input") || !strings.Contains(first.Stdout, "given") {
				t.Fatalf("status %s, error %+v, output %s", first.Status, first.Error, first.Stdout)
			}
			if n := len(rec.Outcome.FilesChanged); n != 3 {
				t.Errorf("%d files in the receipt", n)
			}
			mustRepeat(t, rec)
			second, _ := recordedRun(t, chanceJob(language))
			if second.Stdout == first.Stdout {
				t.Error("two runs without a seed print the same: the test shows nothing")
			}
		})
	}
}

// A process of its own finds the same, with an engine that has nothing in common with the first.
func TestReceiptRepeatsInAnotherEngine(t *testing.T) {
	_, rec := recordedRun(t, chanceJob(engine.JavaScript))
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if again := replay(t, e, rec); !again.Same {
		t.Errorf("differs: %+v", again.Differences)
	}
}

func TestReceiptOfFailures(t *testing.T) {
	for _, tt := range []struct {
		name, language, code string
		limits               limits.Limits
		status               engine.Status
	}{
		{"exception", engine.Python, "import random\nraise ValueError(random.random())", limits.Limits{}, engine.StatusError},
		{"exit", engine.JavaScript, "process.exit(7)", limits.Limits{}, engine.StatusError},
		{"fuel", engine.Python, "import random\nwhile True: random.random()", limits.Limits{Fuel: 40_000_000}, engine.StatusOutOfFuel},
		{"fuel", engine.JavaScript, "for (;;) Math.random()", limits.Limits{Fuel: 40_000_000}, engine.StatusOutOfFuel},
		{"memory", engine.Python, "x = []\nwhile True: x.append(bytes(1 << 20))", limits.Limits{MemoryBytes: 192 << 20}, engine.StatusOutOfMemory},
		{"memory", engine.JavaScript, "const x = []; for (;;) x.push(new Uint8Array(1 << 20))", limits.Limits{MemoryBytes: 32 << 20}, engine.StatusOutOfMemory},
		{"recursion", engine.Python, "def f(n): return f(n + 1)\nf(0)", limits.Limits{}, engine.StatusError},
		{"recursion", engine.JavaScript, "function f(n) { return f(n + 1) + 1 }\nf(0)", limits.Limits{}, engine.StatusError},
		{"disk", engine.Python, "open('x', 'wb').write(bytes(2 << 20))", limits.Limits{DiskBytes: 1 << 20}, engine.StatusError},
		{"output", engine.Python, "import random\nwhile random.random() < 0.999: print(random.random())", limits.Limits{OutputBytes: 1000}, engine.StatusOK},
	} {
		t.Run(tt.name+" "+tt.language, func(t *testing.T) {
			res, rec := recordedRun(t, engine.Job{Language: tt.language, Code: tt.code, Limits: tt.limits})
			if res.Status != tt.status {
				t.Fatalf("status %s, error %+v", res.Status, res.Error)
			}
			mustRepeat(t, rec)
		})
	}
}

func TestReceiptHoldsAnswers(t *testing.T) {
	url, allowed := site(t)
	for language, code := range map[string]string{
		engine.Python: `
import asyncio, urllib.request, tools, requests
print(tools.lookup(name="Ann"), tools.crm.count())
try: tools.lookup(name="Nobody")
except KeyError as e: print(e)
try: tools.broken()
except Exception as e: print(type(e).__name__, e)
async def main():
    print(await asyncio.gather(tools.slow.aio(ms=30), tools.slow.aio(ms=10), asyncio.sleep(0.005)))
asyncio.run(main()) if hasattr(tools.slow, "aio") else print(tools.slow(ms=10))
print(urllib.request.urlopen(given + "/text").read(), requests.get(given + "/json").text)
try: urllib.request.urlopen("http://nowhere.example/")
except OSError as e: print(e)
`,
		engine.JavaScript: `
console.log(await tools.lookup({ name: 'Ann' }), await tools.crm.count())
await tools.lookup({ name: 'Nobody' }).catch(e => console.log(e.name, e.message))
await tools.broken().catch(e => console.log(e.name, e.message))
const early = await Promise.race([tools.slow({ ms: 200 }), new Promise(r => setTimeout(r, 20, 'timer'))])
console.log(early, await Promise.all([tools.slow({ ms: 30 }), tools.slow({ ms: 10 })]))
console.log(await (await fetch(given + '/text')).text(), await (await fetch(given + '/json')).text())
await fetch('http://nowhere.example/').catch(e => console.log(e.name, e.message))
`} {
		t.Run(language, func(t *testing.T) {
			res, rec := recordedRun(t, engine.Job{
				Language: language, Code: code, Inputs: map[string]any{"given": url}, Network: allowed, Tools: tools(t),
			})
			if res.Status != engine.StatusOK || len(res.ToolCalls) < 4 || len(res.HTTPRequests) < 3 {
				t.Fatalf("status %s, error %+v, output %s, calls %v %v", res.Status, res.Error, res.Stdout, res.ToolCalls, res.HTTPRequests)
			}
			mustRepeat(t, rec)

			changed := *rec
			changed.HostCalls = slices.Clone(rec.HostCalls)
			i := slices.IndexFunc(changed.HostCalls, func(c engine.HostCall) bool { return bytes.Contains(c.Reply, []byte("Ann")) })
			changed.HostCalls[i].Reply = bytes.ReplaceAll(changed.HostCalls[i].Reply, []byte("Ann"), []byte("Eve"))
			if again := replay(t, testEngine(t), &changed); again.Same || again.Differences[0].Field != "outcome.fuel" && again.Differences[0].Field != "outcome.stdout.head" {
				t.Errorf("another answer: %+v", again)
			}
			changed.HostCalls = rec.HostCalls[:3]
			if again := replay(t, testEngine(t), &changed); again.Same || again.Differences[0].Field != "host_calls[3]" || again.Differences[0].Expected != "none" {
				t.Errorf("answers are missing: %+v", again)
			}
			changed.HostCalls = append(slices.Clone(rec.HostCalls), engine.HostCall{Op: "wait"})
			if again := replay(t, testEngine(t), &changed); again.Same || again.Differences[0].Field != "host_calls" {
				t.Errorf("an answer too many: %+v", again)
			}
			changed.HostCalls = rec.HostCalls
			changed.Job.Code = strings.Replace(code, "'Ann'", "'Eva'", 1)
			changed.Job.Code = strings.Replace(changed.Job.Code, `"Ann"`, `"Eva"`, 1)
			if again := replay(t, testEngine(t), &changed); again.Same || !strings.HasPrefix(again.Differences[0].Field, "host_calls[") || !strings.Contains(again.Differences[0].Got, "Eva") {
				t.Errorf("another question: %+v", again)
			}
		})
	}
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func TestReceiptChanged(t *testing.T) {
	_, rec := recordedRun(t, engine.Job{Code: "import random\nprint(random.random(), open('in.txt').read())", Files: []engine.File{{Path: "in.txt", Content: []byte("given")}}})
	for field, change := range map[string]func(*engine.Receipt){
		"outcome.fuel":          func(r *engine.Receipt) { r.Outcome.Fuel++ },
		"outcome.status":        func(r *engine.Receipt) { r.Outcome.Status = engine.StatusError },
		"outcome.stdout.sha256": func(r *engine.Receipt) { r.Outcome.Stdout.SHA256 = strings.Repeat("0", 64) },
		"outcome.stdout.head":   func(r *engine.Receipt) { r.Job.Seed++ },
		"outcome.stdout.bytes": func(r *engine.Receipt) {
			r.Job.Files = []engine.ReceiptFile{{Path: "in.txt", Content: engine.Bytes("other text"), SHA256: sum("other text")}}
		},
		"outcome.files_changed": func(r *engine.Receipt) {
			r.Outcome.FilesChanged = []engine.FileChange{{Path: "/data/x", Op: "created"}}
		},
	} {
		changed := *rec
		change(&changed)
		again := replay(t, testEngine(t), &changed)
		if again.Same || !slices.ContainsFunc(again.Differences, func(d engine.Difference) bool { return d.Field == field }) {
			t.Errorf("%s: %+v", field, again.Differences)
		}
	}
	for want, change := range map[string]func(*engine.Receipt){
		"made with another build": func(r *engine.Receipt) { r.Image.Origin = strings.Repeat("0", 64) },
		"not what its sha256": func(r *engine.Receipt) {
			r.Job.Files = []engine.ReceiptFile{{Path: "in.txt", Content: engine.Bytes("x"), SHA256: "0"}}
		},
		"its format is":           func(r *engine.Receipt) { r.Format = "cloche-receipt/2" },
		"no clock":                func(r *engine.Receipt) { r.Job.Clock = time.Time{} },
		"there is no such":        func(r *engine.Receipt) { r.Image.Template = "missing" },
		"must be from":            func(r *engine.Receipt) { r.Job.Limits.MemoryBytes = 1 << 40 },
		"not recorded":            func(r *engine.Receipt) { r.HostCalls = []engine.HostCall{{Op: "display"}} },
		"another build: image.pa": func(r *engine.Receipt) { r.Image.Packages = []python.Package{{Name: "x"}} },
	} {
		changed := *rec
		change(&changed)
		if _, err := testEngine(t).Replay(context.Background(), &changed); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestReceiptUnrepeatable(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for name, tt := range map[string]struct {
		ctx  context.Context
		job  engine.Job
		want string
	}{
		"timeout":   {context.Background(), engine.Job{Code: "while True: pass", Limits: limits.Limits{Timeout: 100 * time.Millisecond, Grace: time.Millisecond}}, "wall clock"},
		"cancelled": {ctx, engine.Job{Language: engine.JavaScript, Code: "console.log('on'); for (;;);", OnEvent: func(engine.Event) { time.AfterFunc(50*time.Millisecond, stop) }}, "cancelled"},
	} {
		tt.job.Receipt = true
		res, err := testEngine(t).Run(tt.ctx, tt.job)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(res.Receipt.Unrepeatable, tt.want) {
			t.Errorf("%s: %q", name, res.Receipt.Unrepeatable)
		}
		if _, err := testEngine(t).Replay(context.Background(), res.Receipt); !errors.Is(err, engine.ErrReceipt) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReceiptOfManyCalls: a program may wait and cancel as often as it likes, and what is recorded of that has a bound, too.
func TestReceiptOfManyCalls(t *testing.T) {
	rec := run(t, engine.Job{Receipt: true, Limits: limits.Limits{Timeout: time.Minute}, Code: `
import sys
raw = sys.modules["_cloche.host"].raw
header = b'{"id": 1' + b" " * 500 + b"}"
for _ in range(150_000):
    raw(b"\x15" + len(header).to_bytes(4, "little") + header)
print("done")`}).Receipt
	if held := len(rec.HostCalls) * len(rec.HostCalls[0].Asked.Head); held > 64<<20 || !strings.HasPrefix(rec.Outcome.Stdout.Head, "done") {
		t.Errorf("%d calls with %d bytes are recorded; %+v", len(rec.HostCalls), held, rec.Outcome)
	}
	if !strings.Contains(rec.Unrepeatable, "a receipt holds") {
		t.Errorf("unrepeatable: %q", rec.Unrepeatable)
	}
}

func TestReceiptRefused(t *testing.T) {
	for want, j := range map[string]engine.Job{
		"mounted":          {Mounts: []limits.Mount{{Host: t.TempDir(), Guest: "/in", Mode: limits.ReadOnly}}},
		"UTF-8":            {Code: "print('\xff')"},
		"of code, files":   {Files: []engine.File{{Path: "x", Content: make([]byte, 65<<20)}}},
		"unknown: use pyt": {Language: "cobol"},
	} {
		j.Receipt = true
		if _, err := testEngine(t).Run(context.Background(), j); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestReceiptOfTemplate(t *testing.T) {
	e := testEngine(t)
	const name = "receipts"
	t.Cleanup(func() { _ = e.RemoveTemplate(name) })
	build := func(code string) {
		t.Helper()
		if res, err := e.BuildTemplate(context.Background(), name, engine.Options{Language: engine.JavaScript}, engine.Turn{Code: code}); err != nil || res.Status != engine.StatusOK {
			t.Fatal(res, err)
		}
	}
	build("globalThis.base = 40; require('fs').writeFileSync('/data/f', 'x')")
	res, rec := recordedRun(t, engine.Job{Language: engine.JavaScript, Template: name, Code: "base + 2 + Math.random()"})
	if v, _ := res.Value(); !strings.HasPrefix(v, "42.") {
		t.Fatalf("value %s", v)
	}
	mustRepeat(t, rec)

	build("globalThis.base = 41")
	other, err := engine.New(engine.Config{}) // which has not loaded the template yet
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Replay(context.Background(), rec); !errors.Is(err, engine.ErrReceipt) || !strings.Contains(err.Error(), "image.origin") {
		t.Errorf("another template: %v", err)
	}
}

func FuzzReadReceipt(f *testing.F) {
	for _, seed := range []string{
		`{"format":"cloche-receipt/1","image":{"origin":"x"},"job":{"language":"python","code":"1","limits":{"Fuel":5},"seed":1,"clock":"2026-01-01T00:00:00Z","stdin":{"base64":"/w=="},
		"inputs":{"a":[1]},"files":[{"path":"a","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","content":""}]},
		"host_calls":[{"op":"tool","asked":{"bytes":1,"sha256":"x"},"reply":"1","refusal":{"name":"A","message":"b"},"passed":5}],
		"outcome":{"status":"ok","exit_code":0,"stdout":{"bytes":0,"sha256":""},"stderr":{"bytes":0,"sha256":""},"fuel":1,"memory_peak_bytes":1,"disk_bytes":0}}`,
		`{}`, `{"format":"cloche-receipt/1"} x`, `[]`, `{"job":{"stdin":{"base64":1}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := engine.ReadReceipt(bytes.NewReader(text))
		if err != nil {
			if !errors.Is(err, engine.ErrReceipt) {
				t.Fatalf("%v is no ErrReceipt", err)
			}
			return
		}
		first, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := engine.ReadReceipt(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\nbecomes\n%s, %v", first, second, err)
		}
	})
}
