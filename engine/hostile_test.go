package engine_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
)

// TestHostile runs the programs of testdata/hostile, each of which attempts something that a sandbox must not allow.
// The head of each says what, and which limit or errno stops it, and has a line for this test:
//
//	run: status=timeout,error timeout=1s memory=256MiB mounts=ro,rw
//
// The statuses are those that may come out; the other keys are limits by their names in a policy; mounts; over, by
// how much a run may pass its timeout (1s, as test machines are busy); and repeat, how often it runs, with seed counting from 0. A line "turn: status=ok" begins the next turn of a
// session; its keys are those of its turn. A program that found a promise broken prints a line that begins with BROKEN.
//
// After each program: nothing of the host is in any part of the result, the host's folders are as they were, the
// next run sees what the first run of all saw, and idle instances equal the image byte for byte.
func TestHostile(t *testing.T) {
	files, err := filepath.Glob("../testdata/hostile/*.*")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	eng := testEngine(t)
	canary := "CANARY-" + rand.Text()
	t.Setenv("HOSTILE_HOST_ENV", canary)
	pristine := map[string]string{}
	for language, program := range mirrors {
		pristine[language] = ok(t, engine.Job{Language: language, Code: program}).Stdout
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h := &hostile{t: t, ground: newGround(t, canary), language: engine.Python, stalls: new(stalls)}
			h.stalls.watch(t)
			if strings.HasSuffix(name, ".js") {
				h.language = engine.JavaScript
			}
			h.run(eng, string(source))
			h.ground.check(t)
			if got := ok(t, engine.Job{Language: h.language, Code: mirrors[h.language]}).Stdout; got != pristine[h.language] {
				t.Errorf("the next run sees\n%s, not\n%s", got, pristine[h.language])
			}
			if n, err := engine.CheckIdle(eng, h.language); err != nil || n == 0 {
				t.Errorf("%d idle instances: %v", n, err)
			}
		})
	}
}

// Hostile programs in some sandboxes make no difference to what runs in others meanwhile, nor to what comes after.
func TestHostileNeighbours(t *testing.T) {
	eng := testEngine(t)
	want := map[string]string{}
	for language, program := range mirrors {
		want[language] = ok(t, engine.Job{Language: language, Code: program}).Stdout
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
	defer cancel()
	var neighbours sync.WaitGroup
	for _, name := range []string{"memory_writes.py", "bytecode.py", "isolation.py", "isolation.js", "engine_bugs.js"} {
		source, err := os.ReadFile("../testdata/hostile/" + name)
		if err != nil {
			t.Fatal(err)
		}
		language := engine.Python
		if strings.HasSuffix(name, ".js") {
			language = engine.JavaScript
		}
		neighbours.Go(func() {
			for seed := 0; ctx.Err() == nil; seed++ {
				_, err := eng.Run(ctx, engine.Job{
					Language: language, Code: string(source), Inputs: map[string]any{"seed": seed % 40},
					Limits: limits.Limits{Timeout: 500 * time.Millisecond},
				})
				if err != nil && ctx.Err() == nil {
					t.Errorf("%s, seed %d: %v", name, seed%40, err)
				}
			}
		})
	}
	looks := 0
	for ; ctx.Err() == nil; looks++ {
		for language, program := range mirrors {
			if got := ok(t, engine.Job{Language: language, Code: program}).Stdout; got != want[language] {
				t.Errorf("beside hostile programs it sees\n%s, not\n%s", got, want[language])
			}
		}
	}
	neighbours.Wait()
	if looks < 3 {
		t.Errorf("only %d looks", looks)
	}
	for language := range mirrors {
		if n, err := engine.CheckIdle(eng, language); err != nil || n == 0 {
			t.Errorf("%d idle instances: %v", n, err)
		}
	}
}

// hostile is one program while it is tested.
type hostile struct {
	t        *testing.T
	ground   *ground
	language string
	mounts   []limits.Mount
	stalls   *stalls
}

// moment is when a turn began, by the clock and by what this process had computed.
type moment struct {
	at       time.Time
	computed time.Duration
}

func now() moment { return moment{time.Now(), computed()} }

// stalls notes for how long at most this process was not served by its machine.
type stalls struct{ nanoseconds atomic.Int64 }

// watch looks every few milliseconds, until the test ends.
func (s *stalls) watch(t *testing.T) {
	const every = 5 * time.Millisecond
	done := make(chan struct{})
	go func() {
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-done:
				return
			case <-time.After(every):
			}
			if late := int64(time.Since(last) - every); late > s.nanoseconds.Load() {
				s.nanoseconds.Store(late)
			}
		}
	}()
	t.Cleanup(func() { close(done) })
}

func (s *stalls) longest() time.Duration { return time.Duration(s.nanoseconds.Load()) }

var directive = regexp.MustCompile(`(?m)^(?:#|//) (run|turn): (.*)\n`)

// run runs the turns of a program.
func (h *hostile) run(eng *engine.Engine, source string) {
	for _, word := range []string{"Attempts: ", "Stopped by: "} {
		if !strings.Contains(source, word) {
			h.t.Errorf("its head has no %q", word)
		}
	}
	marks := directive.FindAllStringSubmatchIndex(source, -1)
	if len(marks) == 0 {
		h.t.Fatal("its head has no line run:")
	}
	var session *engine.Session
	for i, m := range marks {
		kind, keys, code := source[m[2]:m[3]], source[m[4]:m[5]], source[m[1]:]
		if i+1 < len(marks) {
			code = source[m[1]:marks[i+1][0]]
		}
		w := h.want(keys)
		begin := now()
		var res *engine.Result
		var err error
		switch {
		case len(marks) == 1:
			for seed := range max(w.repeat, 1) {
				begin = now()
				res, err = eng.Run(context.Background(), engine.Job{
					Language: h.language, Code: code, Mounts: h.mounts, Limits: w.limits, Inputs: map[string]any{"seed": seed},
				})
				h.judge(w, fmt.Sprint("seed ", seed), res, err, begin)
			}
			return
		case kind == "run":
			session, err = eng.Open(context.Background(), engine.Options{Language: h.language, Mounts: h.mounts, Limits: w.limits})
			if err != nil {
				h.t.Fatal(err)
			}
			defer session.Close()
			begin = now()
			res, err = session.Run(context.Background(), engine.Turn{Code: code})
		default:
			res, err = session.Run(context.Background(), engine.Turn{Code: code, Limits: w.limits})
		}
		h.judge(w, strings.TrimSpace(code), res, err, begin)
	}
}

// want is what a directive asks for.
type want struct {
	statuses []string
	limits   limits.Limits
	over     time.Duration
	repeat   int
}

func (h *hostile) want(keys string) want {
	w := want{over: time.Second}
	for _, kv := range strings.Fields(keys) {
		key, value, _ := strings.Cut(kv, "=")
		var err error
		switch key {
		case "status":
			w.statuses = strings.Split(value, ",")
		case "over":
			w.over, err = time.ParseDuration(value)
		case "repeat":
			w.repeat, err = strconv.Atoi(value)
		case "mounts":
			for _, dir := range strings.Split(value, ",") {
				h.mounts = append(h.mounts, limits.Mount{
					Host: filepath.Join(h.ground.base, dir), Guest: "/" + dir, Mode: limits.MountMode(dir),
				})
			}
		default:
			var p *limits.Policy
			if p, err = limits.ParsePolicy("limits", fmt.Appendf(nil, "[presets.x]\n%s = %q", key, value)); err == nil {
				// Only the field that the preset names differs.
				var l limits.Limits
				if l, err = p.Preset("x"); err == nil {
					w.limits = only(key, l).Or(w.limits)
				}
			}
		}
		if err != nil {
			h.t.Fatalf("%s: %v", kv, err)
		}
	}
	return w
}

// only is the one limit of that name.
func only(key string, l limits.Limits) limits.Limits {
	switch key {
	case "fuel":
		return limits.Limits{Fuel: l.Fuel}
	case "timeout":
		return limits.Limits{Timeout: l.Timeout}
	case "grace":
		return limits.Limits{Grace: l.Grace}
	case "memory":
		return limits.Limits{MemoryBytes: l.MemoryBytes}
	case "output":
		return limits.Limits{OutputBytes: l.OutputBytes}
	case "results":
		return limits.Limits{ResultBytes: l.ResultBytes}
	case "disk":
		return limits.Limits{DiskBytes: l.DiskBytes}
	case "inodes":
		return limits.Limits{Inodes: l.Inodes}
	case "open_files":
		return limits.Limits{OpenFiles: l.OpenFiles}
	case "host_calls":
		return limits.Limits{HostCalls: l.HostCalls}
	}
	panic("unknown limit " + key)
}

// judge looks at how a turn ended.
func (h *hostile) judge(w want, turn string, res *engine.Result, err error, begin moment) {
	t := h.t
	t.Helper()
	took, worked := time.Since(begin.at), computed()-begin.computed
	if err != nil {
		t.Fatalf("%.200s: an error of the host's: %v", turn, err)
	}
	shown := fmt.Sprintf("%.200s: status %s, exit code %d, error %+v\nstdout: %.3000s\nstderr: %.3000s", turn, res.Status, res.ExitCode, res.Error, res.Stdout, res.Stderr)
	if !slices.Contains(w.statuses, string(res.Status)) {
		t.Errorf("want status %v: %s", w.statuses, shown)
	}
	if strings.HasPrefix(res.Stdout, "BROKEN") || strings.Contains(res.Stdout, "\nBROKEN") {
		t.Errorf("it found a promise broken: %s", shown)
	}
	l := w.limits.WithDefaults()
	// The run's own time: what comes before and after it, such as a rollback, depends on how busy the machine is more.
	// And where others have the machine only what this process had of it counts, but a wait, which needs nothing of it, has a bound, too.
	const forever = 30 * time.Second
	if most := l.Timeout + l.Grace + w.over; res.Usage.Wall > most+4*h.stalls.longest() && (worked > most || took > forever) {
		t.Errorf("%.200s: it took %v, its timeout is %v (start %v, run %v, computed %v)", turn, took, l.Timeout, res.Usage.Start, res.Usage.Wall, worked)
	}
	if after := took - res.Usage.Start - res.Usage.Wall; after > 3*time.Second+8*h.stalls.longest() && (worked > 3*time.Second || took > forever) {
		t.Errorf("%.200s: the host went on for %v after the run", turn, after)
	}
	if uint64(len(res.Stdout)) > l.OutputBytes || uint64(len(res.Stderr)) > l.OutputBytes {
		t.Errorf("%d and %d bytes of output were kept", len(res.Stdout), len(res.Stderr))
	}
	if res.Usage.MemoryPeakBytes > l.MemoryBytes {
		t.Errorf("it had %d bytes of memory", res.Usage.MemoryPeakBytes)
	}
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatalf("the result is no JSON: %v", err)
	}
	everything := string(text)
	if err := res.Err(); err != nil {
		everything += err.Error()
	}
	for _, word := range h.ground.secrets {
		if strings.Contains(everything, word) {
			t.Errorf("%q came out: %s", word, shown)
		}
	}
}

// ground is a folder tree of the host's, of which ro and rw may be mounted and outside never is.
type ground struct {
	base    string
	secrets []string // words of the host's that no result may hold
	before  string
}

func newGround(t *testing.T, canary string) *ground {
	t.Helper()
	g := &ground{base: t.TempDir()}
	for name, content := range map[string]string{
		"outside/secret.txt": canary, "outside/dir/secret.txt": canary, "ro/a.txt": "read only\n", "ro/sub/b.txt": "below\n", "rw/a.txt": "writable\n",
	} {
		file := filepath.Join(g.base, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"ro/out": "../outside", "ro/abs": filepath.Join(g.base, "outside/secret.txt"), "rw/out": "../outside", "rw/abs": filepath.Join(g.base, "outside/secret.txt"),
	} {
		if err := os.Symlink(target, filepath.Join(g.base, link)); err != nil {
			t.Fatal(err)
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	g.secrets = []string{canary, g.base, filepath.Dir(wd), cache, home, "goroutine ", "runtime error", "panic", ".go:"}
	g.secrets = slices.DeleteFunc(g.secrets, func(s string) bool { return len(s) < 4 })
	g.before = g.sum(t)
	return g
}

// check says whether anything changed outside of what could be written.
func (g *ground) check(t *testing.T) {
	t.Helper()
	if after := g.sum(t); after != g.before {
		t.Errorf("the host's folders were\n%s, and are\n%s", g.before, after)
	}
}

// sum lists what is in outside and ro, and the folder above them.
func (g *ground) sum(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(g.base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(p, g.base)
		if name == "/rw" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&out, name, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(p)
			fmt.Fprintf(&out, " %d %x\n", len(content), sha256.Sum256(content))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// mirrors print all that a program can see of its interpreter, and what addresses it can, so that a difference
// between two runs shows.
var mirrors = map[string]string{
	engine.Python: `
import atexit, builtins, gc, hashlib, locale, os, signal, sys, threading, warnings, decimal
def address(value):
    return type(value).__name__, id(value)
print(len(sys.modules), hashlib.sha256(repr(sorted(sys.modules)).encode()).hexdigest()[:16])
for name in ("builtins", "sys", "os", "json", "re", "random", "threading", "codecs", "io", "importlib", "numpy", "pandas"):
    module = sys.modules.get(name)
    if module is not None:
        seen = sorted((k, *address(v)) for k, v in vars(module).items() if type(v).__name__ not in ("int", "float", "str"))
        print(name, len(seen), hashlib.sha256(repr(seen).encode()).hexdigest()[:16])
print(sys.path, sys.argv, sys.getrecursionlimit(), sys.getswitchinterval(), sys.gettrace(), sys.getprofile(), sys.excepthook, sys.displayhook, sys.unraisablehook)
print(sorted(os.environ.items()), os.getcwd(), sorted(os.listdir("/data")), sorted(os.listdir("/tmp")), sorted(globals()))
print(gc.isenabled(), gc.get_threshold(), gc.callbacks, warnings.filters[:3], len(warnings.filters), locale.setlocale(locale.LC_ALL))
print(threading.active_count(), threading.excepthook, decimal.getcontext(), signal.getsignal(signal.SIGINT), atexit._ncallbacks())
fds = []
for fd in range(64):
    try:
        os.fstat(fd); fds.append(fd)
    except OSError:
        pass
print(fds, sys.stdin.fileno(), sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering, len(gc.get_objects()))
`,
	engine.JavaScript: `
const { createHash } = require("crypto"), fs = require("fs");
const seen = new Map(), lines = [];
const walk = (value, path, depth) => {
  if (value === null || typeof value !== "object" && typeof value !== "function" || depth > 6) return;
  if (seen.has(value)) return;
  seen.set(value, path);
  let proto = Reflect.getPrototypeOf(value);
  for (const key of Reflect.ownKeys(value)) {
    const d = Reflect.getOwnPropertyDescriptor(value, key);
    const at = path + "." + String(key);
    lines.push(at + " " + ("value" in d ? typeof d.value + (typeof d.value === "function" ? d.value.toString().length : "") : "accessor") + d.writable + d.enumerable + d.configurable);
    if ("value" in d) walk(d.value, at, depth + 1); else { walk(d.get, at, depth + 1); walk(d.set, at, depth + 1); }
  }
  lines.push(path + " extensible " + Reflect.isExtensible(value));
  walk(proto, path + ".__proto__", depth + 1);
};
walk(globalThis, "", 0);
console.log(lines.length, createHash("sha256").update(lines.join("\n")).digest("hex"));
console.log(JSON.stringify(process.env), process.cwd(), fs.readdirSync("/data"), fs.readdirSync("/tmp"), process.argv, process.exitCode);
`,
}
