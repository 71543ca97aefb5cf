package engine_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/limits"
)

// shared is the engine of all tests of this package: one load, or one setup, per run.
var shared = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.New(engine.Config{Limits: limits.Limits{Timeout: time.Minute}})
})

func TestMain(m *testing.M) {
	if dir := os.Getenv(storeChild); dir != "" {
		fmt.Fprintln(os.Stderr, countInStore(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(suspendChild); dir != "" {
		fmt.Fprintln(os.Stderr, answerInStore(dir))
		os.Exit(1)
	}
	for _, m := range []memimage.Method{memimage.Pagemap, memimage.Remap, memimage.Copy} {
		if os.Getenv(methodChild) == m.String() {
			memimage.SetAuto(m)
		}
	}
	code := m.Run()
	if e, err := shared(); err == nil {
		if err := e.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the engine:", err)
			code = 1
		}
	}
	for range 100 { // what owns pages without having to be closed is found by the collector
		if runtime.GC(); memimage.FrozenBytes() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if left := memimage.FrozenBytes(); left > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "%d bytes of frozen pages have an owner still\n", left)
		code = 1
	}
	os.Exit(code)
}

func testEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func run(t testing.TB, j engine.Job) *engine.Result {
	t.Helper()
	res, err := testEngine(t).Run(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ok runs a job that must end well.
func ok(t testing.TB, j engine.Job) *engine.Result {
	t.Helper()
	res := run(t, j)
	if res.Status != engine.StatusOK {
		t.Fatalf("status %s, exit code %d, error %+v\nstdout: %.2000s\nstderr: %.2000s", res.Status, res.ExitCode, res.Error, res.Stdout, res.Stderr)
	}
	return res
}

func TestValue(t *testing.T) {
	for _, tt := range []struct{ language, code, want string }{
		{engine.Python, "1+1", "2"},
		{engine.Python, "x = 3\nx * 'ab'", "'ababab'"},
		{engine.JavaScript, "1+1", "2"},
		{engine.JavaScript, "await Promise.resolve([1, 'a'])", "[ 1, 'a' ]"},
		{engine.TypeScript, "const n: number = 20;\nn * 2.5 as number", "50"},
	} {
		res := ok(t, engine.Job{Language: tt.language, Code: tt.code})
		if got, _ := res.Value(); got != tt.want {
			t.Errorf("%s %q: value %q, want %q", tt.language, tt.code, got, tt.want)
		}
		if res.Stdout != "" || res.Stderr != "" {
			t.Errorf("%s %q: it printed %q and %q", tt.language, tt.code, res.Stdout, res.Stderr)
		}
	}
}

func TestOutputInputExit(t *testing.T) {
	for _, tt := range []struct {
		name           string
		job            engine.Job
		stdout, stderr string
		exit           int
	}{
		{"print", engine.Job{Code: "print('a'); import sys; print('b', file=sys.stderr)"}, "a\n", "b\n", 0},
		{"stdin", engine.Job{Code: "print(input()); print(input('? '))", Stdin: strings.NewReader("one\ntwo")}, "one\n? two\n", "", 0},
		{"exit", engine.Job{Code: "import sys\nprint(1)\nsys.exit(3)"}, "1\n", "", 3},
		{"args", engine.Job{Code: "import sys; print(sys.argv)", Args: []string{"a b", "ü"}, Name: "tool.py"}, "['tool.py', 'a b', 'ü']\n", "", 0},
		{"env", engine.Job{Code: "import os; print(os.environ['K'])", Env: map[string]string{"K": "v=1"}}, "v=1\n", "", 0},
		{"inputs", engine.Job{Code: "print(n + 1, rows)", Inputs: map[string]any{"n": 41, "rows": []string{"x"}}}, "42 ['x']\n", "", 0},
		{"js print", engine.Job{Language: "javascript", Code: "console.log({a: [1]}); console.error('bad')"}, "{ a: [ 1 ] }\n", "bad\n", 0},
		{"js exit", engine.Job{Language: "javascript", Code: "process.exit(4); console.log('never')"}, "", "", 4},
		{"long inputs", engine.Job{Code: "print(len(str(n)), len(s), x)", Inputs: map[string]any{"n": json.RawMessage(strings.Repeat("9", 4300)), "s": strings.Repeat("9", 5000), "x": json.RawMessage("0." + strings.Repeat("0", 5000))}}, "4300 5000 0.0\n", "", 0},
		{"names", engine.Job{Code: "print(größe, _1, 数)", Inputs: map[string]any{"größe": 1, "_1": 2, "数": 3}}, "1 2 3\n", "", 0},
		{"js inputs", engine.Job{Language: "javascript", Code: "console.log(n + 1, rows.length)", Inputs: map[string]any{"n": 41, "rows": []string{"x"}}}, "42 1\n", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := run(t, tt.job)
			if res.Stdout != tt.stdout || res.Stderr != tt.stderr || res.ExitCode != tt.exit {
				t.Errorf("stdout %q, stderr %q, exit %d; want %q, %q, %d", res.Stdout, res.Stderr, res.ExitCode, tt.stdout, tt.stderr, tt.exit)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		language, code string
		name           string
		line           int
		traceback      string
	}{
		{"python", "def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError", 2, "File \"main.py\", line 4"},
		{"python", "x = [1,\n", "SyntaxError", 1, "main.py"},
		{"python", "import nothing_like_this", "ModuleNotFoundError", 1, "nothing_like_this"},
		{"javascript", "function f(o) {\n  return o.x.y;\n}\nf({});\n", "TypeError", 2, "main.js"},
		{"javascript", "const x = 1;\nconst y = (;\n", "SyntaxError", 2, "main.js"},
		{"typescript", "const a: number = 1;\ninterface A { b: string }\n\nthrow new RangeError('r');\n", "RangeError", 4, "main.ts"},
		{"typescript", "const a: = 1;\n", "SyntaxError", 1, "main.ts"},
	} {
		res := run(t, engine.Job{Language: tt.language, Code: tt.code})
		e := res.Error
		if res.Status != engine.StatusError || res.ExitCode != 1 || e == nil {
			t.Errorf("%q: status %s, exit code %d, error %+v", tt.code, res.Status, res.ExitCode, e)
			continue
		}
		if e.Name != tt.name || e.Line != tt.line || !strings.Contains(e.Traceback, tt.traceback) {
			t.Errorf("%q: %s at line %d, want %s at line %d; traceback:\n%s", tt.code, e.Name, e.Line, tt.name, tt.line, e.Traceback)
		}
		if x, ok := errors.AsType[*engine.Exception](res.Err()); !ok || x.Guest != e {
			t.Errorf("%q: Err() is %v", tt.code, res.Err())
		}
		for _, inside := range []string{"_cloche", "bootstrap", "<frozen", "/work", "/root"} {
			if strings.Contains(e.Traceback, inside) {
				t.Errorf("%q: the traceback shows %q:\n%s", tt.code, inside, e.Traceback)
			}
		}
	}
}

// Every limit ends its run with the status that names it, in time, and leaves the engine healthy.
func TestLimits(t *testing.T) {
	if err := testEngine(t).Prepare(context.Background()); err != nil { // loading is not part of a run's time
		t.Fatal(err)
	}
	short := limits.Limits{Timeout: 1500 * time.Millisecond, MemoryBytes: 256 << 20, OutputBytes: 10_000, DiskBytes: 1 << 20}
	small := limits.Limits{Timeout: time.Minute, MemoryBytes: 256 << 20} // filling it takes as long as it takes
	for _, tt := range []struct {
		name     string
		language string
		code     string
		limits   limits.Limits
		status   engine.Status
		exit     int
	}{
		{"loop", "python", "while True: pass", short, engine.StatusTimeout, 124},
		{"loop that swallows the interrupt", "python", "while True:\n    try:\n        while True: pass\n    except BaseException: pass", short, engine.StatusTimeout, 124},
		{"loop inside C", "python", "import itertools\nsum(itertools.repeat(1))", short, engine.StatusTimeout, 124},
		{"sleep", "python", "import time\ntime.sleep(100)", short, engine.StatusTimeout, 124},
		{"big power", "python", "x = 10**10**8", short, engine.StatusTimeout, 124},
		{"catastrophic regex", "python", "import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')", short, engine.StatusTimeout, 124},
		{"endless output", "python", "while True: print('x' * 1000)", short, engine.StatusTimeout, 124},
		{"endless file", "python", "f = open('f', 'wb')\nwhile True: f.write(b'x' * 65536)", short, engine.StatusError, 1},
		{"10 GB", "python", "x = bytearray(10 * 10**9)", small, engine.StatusOutOfMemory, 137},
		{"numpy, 8 GB", "python", "import numpy as np\nx = np.ones((1 << 15, 1 << 15))", small, engine.StatusOutOfMemory, 137},
		{"growing list", "python", "x = []\nwhile True: x.append(bytearray(1 << 20))", small, engine.StatusOutOfMemory, 137},
		{"numpy", "python", "import numpy as np\nx = np.ones((1 << 13, 1 << 14))", small, engine.StatusOutOfMemory, 137},
		{"deep recursion", "python", "def f(n): return f(n + 1)\nf(0)", short, engine.StatusError, 1},
		{"fuel", "python", "while True: pass", limits.Limits{Fuel: 50_000_000}, engine.StatusOutOfFuel, 124},
		{"js loop", "javascript", "while (true) {}", short, engine.StatusTimeout, 124},
		{"js loop in try", "javascript", "while (true) { try { for (;;); } catch {} }", short, engine.StatusTimeout, 124},
		{"js jobs", "javascript", "const f = () => Promise.resolve().then(f); f()", short, engine.StatusTimeout, 124},
		{"js timer", "javascript", "setTimeout(() => {}, 1e6)", short, engine.StatusTimeout, 124},
		{"js memory", "javascript", "const a = []; for (;;) a.push(new Uint8Array(1 << 20))", small, engine.StatusOutOfMemory, 137},
		{"js objects", "javascript", "const a = []; for (;;) a.push({ a: [a.length] })", small, engine.StatusOutOfMemory, 137},
		{"js null", "javascript", "throw null", small, engine.StatusError, 1},
		{"js recursion", "javascript", "const f = n => f(n + 1) + 1; f(0)", short, engine.StatusError, 1},
		{"js fuel", "javascript", "while (true) {}", limits.Limits{Fuel: 50_000_000}, engine.StatusOutOfFuel, 124},
		{"js output", "javascript", "for (;;) console.log('x'.repeat(1000))", short, engine.StatusTimeout, 124},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stalls := new(stalls)
			stalls.watch(t)
			begin := time.Now()
			res := run(t, engine.Job{Language: tt.language, Code: tt.code, Limits: tt.limits})
			took := time.Since(begin)
			if res.Status != tt.status || res.ExitCode != tt.exit {
				t.Errorf("status %s, exit code %d, error %+v, stderr %.500q; want %s, %d", res.Status, res.ExitCode, res.Error, res.Stderr, tt.status, tt.exit)
			}
			if res.Err() == nil {
				t.Error("Err() is nil")
			}
			if l := tt.limits.Timeout; l > 0 {
				// The promise is 50 ms; a busy test machine gets more.
				if late := took - l; late > 600*time.Millisecond+6*stalls.longest() {
					t.Errorf("it ended %v after its deadline (longest stall of the machine %v)", late, stalls.longest())
				} else {
					t.Logf("%v after the deadline", late)
				}
			}
			if n := len(res.Stdout); tt.limits.OutputBytes > 0 && uint64(n) > tt.limits.OutputBytes {
				t.Errorf("%d bytes of output were kept", n)
			}
			next := ok(t, engine.Job{Language: tt.language, Code: "6*7"})
			if v, _ := next.Value(); v != "42" {
				t.Errorf("the next run: %q", v)
			}
		})
	}
}

func TestTimeoutIsGentleFirst(t *testing.T) {
	res := run(t, engine.Job{
		Code:   "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    print('saw it')\nfinally:\n    print('cleaned up')\n",
		Limits: limits.Limits{Timeout: 300 * time.Millisecond, Grace: 2 * time.Second},
	})
	if res.Status != engine.StatusTimeout || res.Stdout != "saw it\ncleaned up\n" {
		t.Errorf("status %s, stdout %q", res.Status, res.Stdout)
	}
}

func TestTruncation(t *testing.T) {
	res := ok(t, engine.Job{
		Code:   "for i in range(1000): print('line %06d' % i)",
		Limits: limits.Limits{OutputBytes: 120},
	})
	want := engine.Cut{KeptBytes: 120, TotalBytes: 12000}
	if len(res.Stdout) != 120 || res.Truncated == nil || res.Truncated.Stdout == nil || *res.Truncated.Stdout != want {
		t.Errorf("%d bytes, %+v", len(res.Stdout), res.Truncated)
	}
}

func TestStreaming(t *testing.T) {
	first := make(chan string, 100)
	done := make(chan *engine.Result)
	go func() {
		res, err := testEngine(t).Run(context.Background(), engine.Job{
			Code:   "import time\nprint('early')\ntime.sleep(1)\nprint('late')",
			Stdout: writerFunc(func(p []byte) (int, error) { first <- string(p); return len(p), nil }),
		})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	select {
	case got := <-first:
		if !strings.HasPrefix(got, "early") {
			t.Errorf("first came %q", got)
		}
	case <-done:
		t.Error("the run was over before its first line came")
	}
	<-done
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestCancel(t *testing.T) {
	for _, tt := range []struct{ language, code string }{
		{"python", "print('on', flush=True)\nwhile True: pass"}, {"python", "import time; print('on', flush=True); time.sleep(100)"}, {"python", "print('on', flush=True); input()"},
		{"javascript", "console.log('on'); for (;;);"}, {"javascript", "console.log('on'); await new Promise(r => setTimeout(r, 1e6))"},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var begin time.Time
		leave := func() { begin = time.Now(); cancel(errors.New("client left")) }
		res, err := testEngine(t).Run(ctx, engine.Job{Language: tt.language, Code: tt.code, Stdin: never{}, OnEvent: func(e engine.Event) {
			if e.Text == "on\n" {
				time.AfterFunc(50*time.Millisecond, leave)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != engine.StatusCancelled || !strings.Contains(res.Error.Value, "client left") || !errors.Is(res.Err(), engine.ErrCancelled) {
			t.Errorf("%q: status %s, error %+v", tt.code, res.Status, res.Error)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%q: it took %v", tt.code, took)
		}
	}
}

// A host function that is at work for long may be what notices the end of the context.
func TestCancelInHostFunction(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	res, err := testEngine(t).Run(ctx, engine.Job{
		Code:    "import os\nos.write(1, b'x' * 3_000_000)\nprint('on')",
		Limits:  limits.Limits{OutputBytes: 8 << 20},
		OnEvent: func(engine.Event) { cancel(errors.New("client left")) },
	})
	if err != nil || res.Status != engine.StatusCancelled || !errors.Is(res.Err(), engine.ErrCancelled) || strings.Contains(res.Stdout, "on") {
		t.Errorf("status %v, error %v", res.Status, err)
	}
}

// never is a standard input on which nothing ever comes.
type never struct{}

func (never) Read([]byte) (int, error) { select {} }

func TestFiles(t *testing.T) {
	res := ok(t, engine.Job{
		Code: `
import os, pathlib
print(sorted(os.listdir()), os.getcwd(), open('in/a.csv').read())
pathlib.Path('out').mkdir()
pathlib.Path('out/été.txt').write_text('ü')
os.remove('gone.txt')
open('kept.txt', 'a').write('more')
open('/tmp/scratch', 'w').write('x')
print(os.path.realpath('/mnt/data'))
`,
		Files: []engine.File{{Path: "in/a.csv", Content: []byte("x,y")}, {Path: "gone.txt"}, {Path: "kept.txt", Content: []byte("some ")}, {Path: "same.txt"}},
	})
	if want := "['gone.txt', 'in', 'kept.txt', 'same.txt'] /data x,y\n/data\n"; res.Stdout != want {
		t.Errorf("stdout %q, want %q", res.Stdout, want)
	}
	var got []string
	for _, c := range res.FilesChanged {
		got = append(got, fmt.Sprintf("%s %s %d", c.Op, c.Path, c.Bytes))
	}
	want := "deleted /data/gone.txt 0, modified /data/kept.txt 9, created /data/out/été.txt 2"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("changes %s, want %s", s, want)
	}
	for path, want := range map[string]string{"kept.txt": "some more", "/data/out/été.txt": "ü"} {
		if b, err := res.Files().ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
}

const sales = "region,units,price\nNorth,3,2.5\nSouth,10,1.25\nEast,7,4\n"

func TestFlagship(t *testing.T) {
	res := ok(t, engine.Job{
		Code: `
import pandas as pd
import matplotlib.pyplot as plt
df = pd.read_csv('sales.csv')
print(df.describe())
df.plot.bar(x='region', y='units', title='Units 销量')
plt.show()
df
`,
		Files: []engine.File{{Path: "sales.csv", Content: []byte(sales)}},
	})
	if !strings.Contains(res.Stdout, "mean") || !strings.Contains(res.Stdout, "6.666667") {
		t.Errorf("stdout:\n%s", res.Stdout)
	}
	if res.Stderr != "" {
		t.Errorf("stderr:\n%s", res.Stderr)
	}
	charts := res.Charts()
	if len(charts) != 1 {
		t.Fatalf("%d charts", len(charts))
	}
	img, err := png.Decode(bytes.NewReader(charts[0]))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() < 400 || b.Dy() < 300 {
		t.Errorf("the chart has %v", b)
	}
	last := res.Results[len(res.Results)-1]
	html, _ := last.Data["text/html"].(string)
	if !last.Main || !strings.Contains(html, "<table") {
		t.Errorf("the last value: %+v", last)
	}
}

// A fresh sandbox has nothing of the one before, and its own randomness.
func TestFresh(t *testing.T) {
	leave := `
import os, sys, builtins, random
secret = 'alpha'; builtins.secret2 = 'alpha'; os.environ['SECRET'] = 'alpha'
sys.path.insert(0, 'alpha'); open('secret', 'w').write('alpha'); os.chdir('/tmp'); random.seed(1)
f = open('/tmp/held', 'w')
`
	look := `
import os, sys, builtins
print('secret' in globals(), hasattr(builtins, 'secret2'), 'SECRET' in os.environ, 'alpha' in sys.path, os.listdir('/data'), os.listdir('/tmp'), os.getcwd())
try:
    os.fstat(f.fileno())
except NameError:
    print('no f')
`
	for range 3 {
		ok(t, engine.Job{Code: leave})
		res := ok(t, engine.Job{Code: look})
		if want := "False False False False [] [] /data\nno f\n"; res.Stdout != want {
			t.Errorf("stdout %q, want %q", res.Stdout, want)
		}
	}
}

func TestRandomnessDiffers(t *testing.T) {
	for language, code := range map[string]string{
		"python": `
import os, random, secrets, uuid
import numpy as np
print(uuid.uuid4()); print(secrets.token_hex(8)); print(os.urandom(8).hex()); print(random.random()); print(np.random.rand()); print(np.random.default_rng().random())
`,
		"javascript": "console.log(Math.random()); console.log(crypto.randomUUID()); console.log(crypto.getRandomValues(new Uint8Array(8)).join())",
	} {
		seen := map[string]bool{}
		for range 20 {
			for line := range strings.Lines(ok(t, engine.Job{Language: language, Code: code}).Stdout) {
				if seen[line] {
					t.Errorf("%s: two sandboxes drew %q", language, line)
				}
				seen[line] = true
			}
		}
		seed := uint64(7)
		a, b := ok(t, engine.Job{Language: language, Code: code, Seed: &seed}), ok(t, engine.Job{Language: language, Code: code, Seed: &seed})
		if a.Stdout != b.Stdout {
			t.Errorf("%s: the same seed gave\n%sand\n%s", language, a.Stdout, b.Stdout)
		}
	}
}

func TestFuelIsTheSame(t *testing.T) {
	seed := uint64(1)
	for language, code := range map[string]string{
		"python":     "import json\nx = sum(i * i for i in range(20000))\njson.dumps(list(range(1000)))",
		"javascript": "let x = 0; for (let i = 0; i < 1e5; i++) x += i; JSON.stringify([...Array(1000).keys()])",
	} {
		var want uint64
		for n := range 5 {
			got := ok(t, engine.Job{Language: language, Code: code, Seed: &seed}).Usage.Fuel
			if n > 0 && got != want {
				t.Errorf("%s: fuel %d, then %d", language, want, got)
			}
			want = got
		}
		if want < 100_000 {
			t.Errorf("%s: only %d instructions were counted", language, want)
		}
	}
}

func TestConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			for i := range 10 {
				language, code := "python", fmt.Sprintf("print(%d * %d)", n, i)
				if n%2 == 0 {
					language, code = "javascript", fmt.Sprintf("console.log(%d * %d)", n, i)
				}
				res, err := testEngine(t).Run(context.Background(), engine.Job{Language: language, Code: code})
				if err != nil || res.Stdout != fmt.Sprintf("%d\n", n*i) {
					t.Errorf("%s: %v, %+v", code, err, res)
				}
			}
		})
	}
	wg.Wait()
}

func TestInvalidJobs(t *testing.T) {
	for _, tt := range []struct {
		job  engine.Job
		want string
	}{
		{engine.Job{Language: "ruby"}, `language "ruby" is unknown: use python, javascript or typescript`},
		{engine.Job{Limits: limits.Limits{MemoryBytes: 2 << 20}}, "a memory limit of 2 MiB is less than the"},
		{engine.Job{Limits: limits.Limits{OpenFiles: 8}}, "a limit of 8 open files is less than the 15 that python needs to start"},
		{engine.Job{Env: map[string]string{"A=B": "c"}}, `environment variable "A=B"`},
		{engine.Job{Files: []engine.File{{Path: "x/"}}}, `file path "x/": it must name a file`},
		{engine.Job{Files: []engine.File{{Path: "x"}, {Path: "y"}, {Path: "/data/d/../x"}}}, `file path "/data/d/../x": it is given twice (as "x", too)`},
		{engine.Job{Inputs: map[string]any{"a b": 1}}, `input "a b": no program can have such a name`},
		{engine.Job{Inputs: map[string]any{"1x": 1}}, `input "1x": no program`},
		{engine.Job{Inputs: map[string]any{"": 1}, Language: "javascript"}, `input "": no program`},
		{engine.Job{Inputs: map[string]any{"f": func() {}}}, `input "f": json: unsupported type`},
		{engine.Job{Inputs: map[string]any{"n": []any{"a\"", json.RawMessage(strings.Repeat("9", 4301))}}}, `input "n": a whole number has more than 4300 digits`},
		{engine.Job{Mounts: []limits.Mount{{Host: "relative", Guest: "/x", Mode: "ro"}}}, `host path "relative" is not absolute`},
	} {
		_, err := testEngine(t).Run(context.Background(), tt.job)
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func TestArchives(t *testing.T) {
	res := ok(t, engine.Job{Code: `
import os
os.makedirs('d/e'); open('d/e/x.txt', 'w').write('hello'); os.symlink('/etc/passwd', 'd/link'); open('y', 'w').write('z')
`})
	var zipped bytes.Buffer
	if err := res.Files().WriteZip(&zipped, "d"); err != nil {
		t.Fatal(err)
	}
	zr, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range zr.File {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "e/ e/x.txt" {
		t.Errorf("zip of d holds %q", got)
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := res.Files().CopyOut(root, "."); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(dir + "/d/e/x.txt"); err != nil || string(b) != "hello" {
		t.Errorf("copied out: %q, %v", b, err)
	}
	if _, err := os.Lstat(dir + "/d/link"); err == nil {
		t.Error("a link was copied out")
	}
	if err := res.Files().CopyFS("in", os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if b, err := res.Files().ReadFile("in/d/e/x.txt"); err != nil || string(b) != "hello" {
		t.Errorf("copied in: %q, %v", b, err)
	}
}
