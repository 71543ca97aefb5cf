package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// stubborn are turns that have to be stopped from outside, with what must be told of them: functions from the innermost on,
// a line of the source, and the largest name.
var stubborn = []struct {
	name, language, before, code string
	limits                       limits.Limits
	status                       engine.Status
	functions                    []string
	source, largest              string
	missing                      string // why not all is told, when the stop has left too little in order
}{
	{"fuel", engine.Python, "big = bytearray(3 << 20)\nsmall = 1", "def inner(n):\n    while True:\n        n += 1\ndef outer():\n    inner(0)\nouter()",
		limits.Limits{Fuel: 50_000_000}, engine.StatusOutOfFuel, []string{"inner", "outer", "<module>"}, "n += 1|while True:", "big", ""},
	{"fuel in an earlier turn's function", engine.Python, "import numpy\nbig = numpy.zeros((500, 1000))\ndef old(f):\n    while f(): pass", "old(lambda: True)",
		limits.Limits{Fuel: 50_000_000}, engine.StatusOutOfFuel, []string{"<lambda>|old"}, "while f(): pass|old(lambda: True)", "big", ""},
	{"fuel in native code", engine.Python, "import re\nbig = 'x' * 100000", "re.match('(a+)+$', 'a' * 40 + 'b')",
		limits.Limits{Fuel: 50_000_000}, engine.StatusOutOfFuel, nil, "re.match('(a+)+$', 'a' * 40 + 'b')", "big", ""},
	{"deadline", engine.Python, "big = list(range(100_000))", "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass",
		limits.Limits{Timeout: 200 * time.Millisecond, Grace: 50 * time.Millisecond}, engine.StatusTimeout, []string{"<module>"}, "while True: pass|except KeyboardInterrupt: pass", "big", ""},
	{"a sleep", engine.Python, "big = bytes(1_000_000)", "import time\ndef waits():\n    while True:\n        try: time.sleep(100)\n        except KeyboardInterrupt: pass\nwaits()",
		limits.Limits{Timeout: 200 * time.Millisecond, Grace: 50 * time.Millisecond}, engine.StatusTimeout, []string{"waits", "<module>"}, "try: time.sleep(100)|except KeyboardInterrupt: pass", "big", ""},
	{"recursion", engine.Python, "big = {i: str(i) for i in range(10_000)}", "def f(n):\n    try: f(n + 1)\n    except RecursionError: pass\n    f(n + 1)\nf(0)",
		limits.Limits{Fuel: 100_000_000}, engine.StatusOutOfFuel, []string{"f", "f", "f"}, "", "big", ""},
	{"memory", engine.Python, "", "x = []\nwhile True:\n    try:\n        x.append(bytes(1 << 20))\n    except MemoryError: pass",
		limits.Limits{Fuel: 300_000_000}, engine.StatusOutOfFuel, []string{"<module>"}, "x.append(bytes(1 << 20))|try:|while True:|except MemoryError: pass", "x", ""},
	{"trap", engine.Python, "big = 'x' * 1_000_000\n" + lie, "def outside():\n    return memory(0xfff00000, 4).sum()\noutside()",
		limits.Limits{}, engine.StatusTrapped, []string{"_sum|outside"}, "return memory(0xfff00000, 4).sum()", "big", ""},
	{"fuel", engine.JavaScript, "const big = new Uint8Array(1 << 20); let small = 1", "function inner(n) {\n  for (;;)\n    n++\n}\nfunction outer() { inner(0) }\nouter()",
		limits.Limits{Fuel: 50_000_000}, engine.StatusOutOfFuel, []string{"inner", "outer"}, "", "big", ""},
	{"fuel in native code", engine.JavaScript, "var big = 'x'.repeat(1e6)", "/(a+)+$/.exec('a'.repeat(40) + 'b')",
		limits.Limits{Fuel: 50_000_000}, engine.StatusOutOfFuel, nil, "/(a+)+$/.exec('a'.repeat(40) + 'b')", "big", ""},
	{"recursion", engine.JavaScript, "const big = Array.from({ length: 1e5 }, (_, i) => i)", "function f(n) {\n  try { f(n + 1) } catch {}\n  f(n + 1)\n}\nf(0)",
		limits.Limits{Fuel: 200_000_000}, engine.StatusOutOfFuel, []string{"f|<anonymous>", "f", "f"}, "", "big", ""},
	{"trap", engine.JavaScript, "const big = 'x'.repeat(1e6)", strings.Repeat("function f(){", 4_000) + strings.Repeat("}", 4_000),
		limits.Limits{}, engine.StatusTrapped, nil, "", "big", "trap: out of bounds memory access"}, // its stack has run into its heap
}

func TestAutopsy(t *testing.T) {
	ctx := context.Background()
	for _, tt := range stubborn {
		t.Run(tt.language+" "+tt.name, func(t *testing.T) {
			s, err := testEngine(t).Open(ctx, engine.Options{Language: tt.language, Autopsy: time.Minute, Limits: limits.Limits{MemoryBytes: 256 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Autopsy(ctx); !errors.Is(err, engine.ErrNoAutopsy) {
				t.Errorf("before anything failed: %v", err)
			}
			if res, err := s.Run(ctx, engine.Turn{Code: tt.before}); err != nil || res.Status != engine.StatusOK || res.Autopsy != nil {
				t.Fatal(res, err)
			}
			res, err := s.Run(ctx, engine.Turn{Code: tt.code, Limits: tt.limits})
			if err != nil {
				t.Fatal(err)
			}
			if res.Status != tt.status || !res.RolledBack || res.Autopsy == nil {
				t.Fatalf("status %s, rolled back %t, autopsy %v, error %+v", res.Status, res.RolledBack, res.Autopsy, res.Error)
			}
			a, err := s.Autopsy(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if a.ID != res.Autopsy.ID || a.Run != res.ID || a.Turn != 2 || a.Status != tt.status || a.Usage.Fuel != res.Usage.Fuel {
				t.Errorf("%+v", a)
			}
			if !strings.Contains(a.Missing, tt.missing) || tt.missing == "" && a.Missing != "" {
				t.Errorf("what is missing: %q", a.Missing)
			}
			checkFrames(t, a, tt.functions, tt.source)
			if len(a.Globals) == 0 || a.Globals[0].Name != tt.largest {
				t.Errorf("globals %+v", a.Globals)
			}
			if again, err := s.Autopsy(ctx); err != nil || !reflect.DeepEqual(again, a) {
				t.Errorf("asked again: %+v, %v", again, err)
			}
			if res, err := s.Run(ctx, engine.Turn{Code: tt.before}); err != nil || res.Status != engine.StatusOK {
				t.Errorf("the next turn: %+v, %v", res, err)
			}
		})
	}
}

// checkFrames compares the innermost frames with what is wanted, each function or one of several, and looks for a line of source.
func checkFrames(t *testing.T, a *engine.Autopsy, functions []string, source string) {
	t.Helper()
	one := func(of, is string) bool { return slices.Contains(strings.Split(of, "|"), is) }
	for i, want := range functions {
		if i >= len(a.Frames) || !one(want, a.Frames[i].Function) {
			t.Errorf("frame %d should be of %s:\n%s", i, want, a.Traceback)
		}
	}
	if source == "" {
		return
	}
	if !slices.ContainsFunc(a.Frames, func(f engine.AutopsyFrame) bool { return one(source, f.Source) && f.Line > 0 }) {
		t.Errorf("no frame is at %s:\n%s", source, a.Traceback)
	}
	if first, _, _ := strings.Cut(source, "|"); !strings.Contains(a.Traceback, "turn") || len(a.Frames) == 0 {
		t.Errorf("the traceback is %s, without %s", a.Traceback, first)
	}
}

// lie is how a program of Python's gets at all of its interpreter's memory.
const lie = `
import numpy as np
class Lie:
    def __init__(self, address, size):
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}
def memory(address, size):
    return np.asarray(Lie(address, size))
`

// failed runs a turn that is stopped, in a session of its own.
func failed(t *testing.T, o engine.Options, turns ...engine.Turn) (*engine.Session, *engine.Result) {
	t.Helper()
	if o.Autopsy == 0 {
		o.Autopsy = time.Minute
	}
	s, err := testEngine(t).Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var res *engine.Result
	for _, turn := range turns {
		if turn.Limits == (limits.Limits{}) {
			turn.Limits.Fuel = 50_000_000
		}
		if res, err = s.Run(context.Background(), turn); err != nil {
			t.Fatal(err)
		}
	}
	return s, res
}

// A turn that comes back by itself tells what is to be told; one that was cancelled nobody asks about.
func TestNoAutopsy(t *testing.T) {
	for _, turn := range []engine.Turn{
		{Code: "1"}, {Code: "throw new Error('x')"}, {Code: "const f = () => f() + 1; f()"},
		{Code: "const x = []; for (;;) x.push(new Uint8Array(1 << 20))", Limits: limits.Limits{Fuel: 1e12}},
		{Code: "for (;;);", Limits: limits.Limits{Timeout: 50 * time.Millisecond, Grace: 10 * time.Second, Fuel: 1e12}},
	} {
		s, res := failed(t, engine.Options{Language: engine.JavaScript, Limits: limits.Limits{MemoryBytes: 64 << 20}}, turn)
		if _, err := s.Autopsy(context.Background()); !errors.Is(err, engine.ErrNoAutopsy) || res.Autopsy != nil {
			t.Errorf("%s: %v, %v, status %s", turn.Code, res.Autopsy, err, res.Status)
		}
	}
	s, err := testEngine(t).Open(context.Background(), engine.Options{Language: engine.JavaScript})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if res, err := s.Run(context.Background(), engine.Turn{Code: "for (;;);", Limits: limits.Limits{Fuel: 1_000_000}}); err != nil || res.Autopsy != nil {
		t.Errorf("an autopsy that nobody wants: %+v, %v", res, err)
	}
	if _, err := testEngine(t).Open(context.Background(), engine.Options{Autopsy: time.Hour}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("an hour: %v", err)
	}
}

func TestAutopsyKnowsWhatTheHostKnows(t *testing.T) {
	url, allowed := site(t)
	s, _ := failed(t, engine.Options{Tools: tools(t), Network: allowed},
		engine.Turn{Code: "import tools, urllib.request\nkept = open('kept.txt', 'w')", Limits: limits.Limits{Fuel: 1e12}},
		engine.Turn{Code: "tools.lookup(name='Ann')\nurllib.request.urlopen('" + url + "/json').read()\nf = open('more.txt', 'w')\nf.write('abc'); f.flush()\nwhile True: pass", Limits: limits.Limits{Fuel: 200_000_000}},
	)
	a, err := s.Autopsy(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]int64{}
	for _, f := range a.OpenFiles {
		paths[f.Path] = f.Offset
	}
	if !maps.Equal(paths, map[string]int64{"/data/kept.txt": 0, "/data/more.txt": 3}) {
		t.Errorf("open files %+v", a.OpenFiles)
	}
	if a.ToolCall == nil || a.ToolCall.Name != "lookup" || a.HTTPRequest == nil || a.HTTPRequest.URL != url+"/json" {
		t.Errorf("%+v %+v", a.ToolCall, a.HTTPRequest)
	}
}

// What a stopped program has prepared for whoever asks it ends in the copy that is asked.
func TestAutopsyOfHostilePrograms(t *testing.T) {
	for name, tt := range map[string]struct{ language, code string }{
		"all memory is overwritten":   {engine.Python, lie + "memory(4096, 120 << 20)[:] = 0"},
		"the reporter never ends":     {engine.Python, "import sys\nsys.modules['_cloche.autopsy'].dumps = lambda x: [0 for _ in iter(int, 1)]\nwhile True: pass"},
		"the reporter writes files":   {engine.Python, "import sys\nraw = sys.modules['_cloche.host'].raw\ndef mine(b):\n    open('/data/evil', 'w').write('x')\n    print('evil')\n    return raw(b[:1] + b'{\"frames\": [{\"line\": 1, \"file\": \"' + b'x' * 100000 + b'\"}] }')\nsys.modules['_cloche.host'].raw = mine\nwhile True: pass"},
		"the reporter tells no JSON":  {engine.Python, "import sys\nsys.modules['_cloche.autopsy'].dumps = lambda x: '{'\nwhile True: pass"},
		"the reporter tells too much": {engine.Python, "import sys\nsys.modules['_cloche.autopsy'].dumps = lambda x: '{\"globals\": [' + ','.join(['{\"name\": \"x\", \"bytes\": 1}'] * 5000) + '], \"frames\": [' + ','.join(['{\"line\": -5}'] * 5000) + ']}'\nwhile True: pass"},
		"methods are replaced":        {engine.JavaScript, "String.prototype.split = RegExp.prototype.exec = JSON.stringify = () => { for (;;); }; Object.defineProperty(Error.prototype, 'stack', { get() { for (;;); } }); Error.prepareStackTrace = () => { for (;;); }; for (;;);"},
	} {
		t.Run(name, func(t *testing.T) {
			s, res := failed(t, engine.Options{Language: tt.language}, engine.Turn{Code: "1", Limits: limits.Limits{Fuel: 1e12}}, engine.Turn{Code: tt.code, Limits: limits.Limits{Fuel: 200_000_000}})
			if res.Autopsy == nil {
				t.Fatalf("status %s, error %+v", res.Status, res.Error)
			}
			begun := time.Now()
			a, err := s.Autopsy(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			text, err := json.Marshal(a)
			if err != nil || len(text) > 256<<10 {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			for _, f := range a.Frames {
				if len(f.File) > 512 || f.Line < 0 {
					t.Errorf("frame %.200v", f)
				}
			}
			if next, err := s.Run(context.Background(), engine.Turn{Code: "2"}); err != nil || next.Status != engine.StatusOK || next.Stdout != "" {
				t.Errorf("the next turn: %+v, %v", next, err)
			}
			if _, err := s.Files().ReadFile("evil"); err == nil {
				t.Error("the copy wrote into the session's files")
			}
		})
	}
}

// TestAutopsyAnswers: what a program replaced, or called as nothing is called, keeps no autopsy from telling where it was.
func TestAutopsyAnswers(t *testing.T) {
	for name, tt := range map[string]struct{ language, code string }{
		"functions of sys are replaced": {engine.Python, "import sys\nsys._getframe = sys.getsizeof = lambda *a: 1 / 0\nx = 1\nwhile True: pass"},
		"a name is no string":           {engine.Python, "x = 1\nglobals()[5] = 2\nwhile True: pass"},
		"names are long":                {engine.Python, "x = 1\ndef f():\n  while True: pass\ntype(f)(f.__code__.replace(co_filename='x' * 10**6, co_qualname='\\0' * 10**6), {})()"},
		"names are long, JavaScript":    {engine.JavaScript, "globalThis.x = 1; const f = { ['\\u001b'.repeat(1e6)]() { for (;;); } }; f[Object.keys(f)[0]]()"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := failed(t, engine.Options{Language: tt.language}, engine.Turn{Code: tt.code, Limits: limits.Limits{Fuel: 200_000_000}})
			a, err := s.Autopsy(context.Background())
			if err != nil || a.Missing != "" || len(a.Frames) == 0 || !slices.ContainsFunc(a.Globals, func(g engine.AutopsyName) bool { return g.Name == "x" }) {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

func TestAutopsyEnds(t *testing.T) {
	ctx := context.Background()
	loop := engine.Turn{Code: "for (;;);", Limits: limits.Limits{Fuel: 1_000_000}}
	s, res := failed(t, engine.Options{Language: engine.JavaScript, Autopsy: 300 * time.Millisecond}, loop)
	for engine.FailedBytes(testEngine(t)) > 0 && time.Until(res.Autopsy.Expires) > -5*time.Second {
		time.Sleep(10 * time.Millisecond)
	}
	if n := engine.FailedBytes(testEngine(t)); n != 0 {
		t.Errorf("%d bytes are kept after its time", n)
	}
	if _, err := s.Autopsy(ctx); !errors.Is(err, engine.ErrNoAutopsy) || !strings.Contains(err.Error(), "time is over") {
		t.Errorf("after its time: %v", err)
	}

	s, first := failed(t, engine.Options{Language: engine.JavaScript}, loop)
	second, err := s.Run(ctx, loop)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := s.Autopsy(ctx); err != nil || a.ID != second.Autopsy.ID || a.ID == first.Autopsy.ID {
		t.Errorf("%+v, %v", a, err)
	}
	if n := engine.FailedBytes(testEngine(t)); n != 0 {
		t.Errorf("%d bytes are kept after it was told", n)
	}

	s, _ = failed(t, engine.Options{Language: engine.JavaScript}, loop)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if a, err := s.Autopsy(cancelled); err == nil {
		t.Errorf("with a cancelled context: %+v", a)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := engine.FailedBytes(testEngine(t)); n != 0 {
		t.Errorf("%d bytes are kept after the session", n)
	}
	if _, err := s.Autopsy(ctx); !errors.Is(err, engine.ErrNoAutopsy) {
		t.Errorf("after the session: %v", err)
	}
}

// A run in a fresh sandbox leaves nothing but what can be asked.
func TestAutopsyOfRun(t *testing.T) {
	ctx, eng := t.Context(), testEngine(t)
	for _, tt := range stubborn {
		if tt.missing != "" {
			continue
		}
		t.Run(tt.language+" "+tt.name, func(t *testing.T) {
			lim := tt.limits
			lim.MemoryBytes, lim.Fuel = 256<<20, lim.Fuel*2 // for what comes before, too
			before := strings.Count(tt.before, "\n") + 1
			code := tt.before + "\n" + tt.code
			if tt.language == engine.JavaScript {
				code = tt.before + ";\n" + tt.code
			}
			res, err := eng.Run(ctx, engine.Job{Language: tt.language, Code: code, Limits: lim, Autopsy: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if res.Status != tt.status || res.Autopsy == nil {
				t.Fatalf("status %s, autopsy %v, error %+v", res.Status, res.Autopsy, res.Error)
			}
			a, err := eng.Autopsy(ctx, res.Autopsy.ID)
			if err != nil {
				t.Fatal(err)
			}
			if a.Run != res.ID || a.Turn != 0 || a.Missing != "" {
				t.Errorf("%+v", a)
			}
			checkFrames(t, a, tt.functions, "")
			if !slices.ContainsFunc(a.Frames, func(f engine.AutopsyFrame) bool { return f.Line > before }) {
				t.Errorf("it stopped after line %d:\n%s", before, a.Traceback)
			}
			if len(a.Globals) == 0 || a.Globals[0].Name != tt.largest {
				t.Errorf("globals %+v", a.Globals)
			}
			if again, err := eng.Autopsy(ctx, res.Autopsy.ID); err != nil || !reflect.DeepEqual(again, a) {
				t.Errorf("asked again: %+v, %v", again, err)
			}
		})
	}
	if n := engine.FailedBytes(eng); n != 0 {
		t.Errorf("%d bytes are kept after all was told", n)
	}
	if _, err := eng.Autopsy(ctx, "aut_that_never_was"); !errors.Is(err, engine.ErrNoAutopsy) {
		t.Errorf("one that never was: %v", err)
	}
	if res, err := eng.Run(ctx, engine.Job{Language: engine.JavaScript, Code: "for (;;);", Limits: limits.Limits{Fuel: 1_000_000}}); err != nil || res.Autopsy != nil {
		t.Errorf("one that nobody wants: %+v, %v", res, err)
	}
}

// What is kept is shared out: one owner with many failures drops its own, and no other's.
func TestAutopsyOwners(t *testing.T) {
	ctx := t.Context()
	eng, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	fail := func(owner string) string {
		res, err := eng.Run(ctx, engine.Job{Language: engine.JavaScript, Code: "for (;;);", Limits: limits.Limits{Fuel: 100_000}, Autopsy: time.Minute, Owner: owner})
		if err != nil || res.Autopsy == nil {
			t.Fatal(res, err)
		}
		return res.Autopsy.ID
	}
	ann := fail("ann")
	bob := make([]string, 200)
	for i := range bob {
		bob[i] = fail("bob")
	}
	for name, id := range map[string]string{"ann's": ann, "bob's newest": bob[len(bob)-1]} {
		if _, err := eng.Autopsy(ctx, id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := eng.Autopsy(ctx, bob[0]); !errors.Is(err, engine.ErrNoAutopsy) {
		t.Errorf("bob's oldest of %d: %v", len(bob), err)
	}
	cyd := fail("cyd") // takes the place of one of bob's
	if _, err := eng.Autopsy(ctx, cyd); err != nil {
		t.Error(err)
	}
	if _, err := eng.Autopsy(ctx, ann); err != nil {
		t.Error(err)
	}
}

// Who waits for another who asks leaves when its context ends.
func TestAutopsyWaits(t *testing.T) {
	s, res := failed(t, engine.Options{Language: engine.JavaScript}, engine.Turn{Code: "for (;;);", Limits: limits.Limits{Fuel: 1_000_000}})
	release := engine.AskMeanwhile(testEngine(t), res.Autopsy.ID)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if a, err := s.Autopsy(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", a, err)
	}
	release()
	if _, err := s.Autopsy(t.Context()); err != nil {
		t.Error(err)
	}
}

// Many ask while turns run and fail, and sessions end.
func TestAutopsyHammer(t *testing.T) {
	ctx := context.Background()
	var wg sync.WaitGroup
	for range 4 {
		s, _ := failed(t, engine.Options{Language: engine.JavaScript}, engine.Turn{Code: "let n = 0; for (;;) n++", Limits: limits.Limits{Fuel: 1_000_000}})
		wg.Go(func() {
			for range 10 {
				if _, err := s.Run(ctx, engine.Turn{Code: "for (;;);", Limits: limits.Limits{Fuel: 1_000_000}}); err != nil {
					t.Error(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		for range 2 {
			wg.Go(func() {
				for range 10 {
					if a, err := s.Autopsy(ctx); err != nil && !errors.Is(err, engine.ErrNoAutopsy) || err == nil && a.Status != engine.StatusOutOfFuel {
						t.Error(a, err)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := engine.FailedBytes(testEngine(t)); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// FuzzAutopsy: whatever a stopped interpreter tells of itself, the report is small and can be written.
func FuzzAutopsy(f *testing.F) {
	f.Add([]byte(`{"frames":[{"file":"main.js","line":2,"function":"f"},{"left_out":5}]}`), []byte(`{"globals":[{"name":"x","type":"int","bytes":5,"shape":[1,2],"length":3,"preview":"5"}]}`))
	f.Add([]byte(`{"frames":[{"line":-1},{"line":1e9}],"globals":{}}`), []byte(`null`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a := engine.Told(one, two)
		text, err := json.Marshal(a)
		if err != nil || len(text) > 1<<20 {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		for _, frame := range a.Frames {
			if frame.Line < 0 || frame.LeftOut < 0 || len(frame.File)+len(frame.Function)+len(frame.Source) > 3*512 {
				t.Errorf("%+v", frame)
			}
		}
	})
}
