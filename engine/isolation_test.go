package engine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// spread puts the canary wherever a program can put it, or has it put there by who starts it.
var spread = map[string]string{
	engine.Python: `
import os, sys, builtins, gc, weakref, array
with open("f-" + given[-8:], "w") as f: f.write(given)
with open("/tmp/t", "w") as f: f.write(given * 1000)
os.environ["LEAK"] = given
builtins.leak = given
sys.modules["leak"] = given
keep = [given + str(n) for n in range(20000)] + [array.array("b", given.encode() * 10000)]
import numpy as np; block = np.frombuffer(given.encode() * 200000, dtype="u1").copy()
print(given); print(given, file=sys.stderr); sys.stdin.read()
from IPython.display import display, HTML; display(HTML(given))
`,
	engine.JavaScript: `
const fs = require("fs");
fs.writeFileSync("f-" + given.slice(-8), given); fs.writeFileSync("/tmp/t", given.repeat(1000));
process.env.LEAK = given; globalThis.leak = given; Object.prototype.leak = given; Array.prototype.leak = given;
globalThis.keep = Array.from({ length: 20000 }, (_, n) => given + n);
globalThis.block = Buffer.from(given.repeat(200000));
globalThis[Symbol.for(given)] = 1; new RegExp(given);
console.log(given); console.error(given);
`,
}

// endings are ways for a tenant's turn to end.
var endings = map[string]map[string]string{
	engine.Python: {
		"ok": "", "error": "raise Exception(given)", "exit": "os._exit(3)", "timeout": "while True: pass",
		"deep": "for _ in range(1000000): keep = (keep,)\ndel keep", "out of memory": "hog = [block] + [bytearray(100 << 20) for _ in range(100)]",
	},
	engine.JavaScript: {
		"ok": "", "error": "throw new Error(given)", "exit": "process.exit(3)", "timeout": "for (;;) {}",
		"out of memory": "for (;;) globalThis.keep.push(new Uint8Array(50e6).fill(7))",
	},
}

// journal is a log that several goroutines write.
type journal struct {
	mu sync.Mutex
	bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Buffer.Write(p)
}

// TestCanaryStaysWithItsTenant gives one tenant random words in all that a job has, lets its turns end in every way, and
// looks for them in what others have: their whole linear memory, files, results, and the log.
func TestCanaryStaysWithItsTenant(t *testing.T) {
	testEngine(t) // skips when there are no interpreters
	ctx := context.Background()
	log := &journal{}
	eng, err := engine.New(engine.Config{Logger: slog.New(slog.NewJSONHandler(log, nil)), MaxIdle: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	for language, code := range spread {
		prefix := "canary" + rand.Text() // of all canaries
		beside, err := eng.Open(ctx, engine.Options{Language: language})
		if err != nil {
			t.Fatal(err)
		}
		defer beside.Close()
		look := func(who string, s *engine.Session, res *engine.Result) {
			t.Helper()
			text, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			memory, err := engine.MemoryOf(s)
			if err != nil {
				t.Fatal(err)
			}
			for what, where := range map[string][]byte{"memory": memory, "results": text, "log": log.Bytes()} {
				if i := bytes.Index(where, []byte(prefix)); i >= 0 {
					t.Errorf("%s: in the %s of %s, at %d: %q", language, what, who, i, where[max(0, i-20):min(len(where), i+60)])
				}
			}
		}
		for ending, end := range endings[language] {
			canary := prefix + rand.Text()
			options := engine.Options{
				Language: language, Env: map[string]string{"GIVEN": canary},
				Files:  []engine.File{{Path: "given", Content: []byte(canary)}},
				Limits: limits.Limits{Timeout: time.Minute, MemoryBytes: 400 << 20},
			}
			if ending == "timeout" {
				options.Limits.Timeout = time.Second
			}
			turn := engine.Turn{
				Code: code + end, Name: canary + "." + language, Args: []string{canary}, Stdin: strings.NewReader(canary),
				Inputs: map[string]any{"given": canary},
			}
			mine, err := eng.Open(ctx, options)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := mine.Run(ctx, turn); err != nil || !strings.Contains(res.Stdout, canary) {
				t.Fatalf("%s, %s: %v, %+v", language, ending, err, res)
			}
			if memory, err := engine.MemoryOf(mine); err != nil || ending == "ok" && !bytes.Contains(memory, []byte(canary)) {
				t.Errorf("%s: the tenant's own memory lacks its canary (%v): the test looks in the wrong place", language, err)
			}
			// While the tenant's session is there, and after it.
			for _, when := range []string{"beside", "after"} {
				res, err := beside.Run(ctx, engine.Turn{Code: mirrors[language]})
				if err != nil || res.Status != engine.StatusOK {
					t.Fatalf("%v, %+v", err, res)
				}
				look(when+" "+ending, beside, res)
				fresh, err := eng.Open(ctx, engine.Options{Language: language})
				if err != nil {
					t.Fatal(err)
				}
				if res, err = fresh.Run(ctx, engine.Turn{Code: mirrors[language]}); err != nil || res.Status != engine.StatusOK {
					t.Fatalf("%v, %+v", err, res)
				}
				look("fresh "+when+" "+ending, fresh, res)
				if err := fresh.Close(); err != nil {
					t.Error(err)
				}
				if when == "beside" {
					if err := mine.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	if log.Len() == 0 {
		t.Error("there is no log")
	}
}

// TestNoTwoStartsDrawTheSame draws random numbers in 10,000 sandboxes, which all start from one image.
func TestNoTwoStartsDrawTheSame(t *testing.T) {
	eng := testEngine(t)
	starts := 10_000
	if testing.Short() {
		starts = 500
	}
	for language, code := range map[string]string{
		engine.Python: `
import os, random
import numpy as np
print(os.urandom(8).hex(), random.random(), np.random.rand())
`,
		engine.JavaScript: "console.log(Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(8)).join())",
	} {
		var mu sync.Mutex
		seen := make(map[string]bool, 6*starts)
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() {
				for range starts / 2 {
					res, err := eng.Run(context.Background(), engine.Job{Language: language, Code: code})
					if err != nil || res.Status != engine.StatusOK {
						t.Errorf("%v, %+v", err, res)
						return
					}
					mu.Lock()
					for at, drawn := range strings.Fields(res.Stdout) {
						key := fmt.Sprint(at, drawn)
						if seen[key] {
							t.Errorf("%s: two of %d sandboxes drew %s", language, starts, drawn)
						}
						seen[key] = true
					}
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		if len(seen) < 3*starts {
			t.Errorf("%s: only %d different values in %d starts", language, len(seen), starts)
		}
	}
}

// TestTenThousandCopiesDrawApart draws in as many copies of one session, forked and restored, which all have its generators.
func TestTenThousandCopiesDrawApart(t *testing.T) {
	ctx := context.Background()
	for language, tt := range map[string]struct {
		copies       int
		before, code string
	}{
		engine.JavaScript: {10_000, "Math.random()", "console.log(Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(8)).join())"},
		engine.Python: {
			1_000, "import os, random, numpy as np\nr = random.Random(); g = np.random.default_rng()",
			"print(os.urandom(8).hex(), random.random(), np.random.rand(), r.random(), g.random())",
		},
	} {
		copies := tt.copies
		if testing.Short() {
			copies /= 20
		}
		s, err := testEngine(t).Open(ctx, engine.Options{Language: language})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		turn(t, s, engine.Turn{Code: tt.before})
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		seen := map[string]bool{}
		for drawn := 0; drawn < copies; {
			batch, err := s.Fork(ctx, min(50, copies-drawn))
			if err != nil {
				t.Fatal(err)
			}
			r, err := testEngine(t).Restore(ctx, sn)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range append(batch, r) {
				for at, number := range strings.Fields(turn(t, c, engine.Turn{Code: tt.code}).Stdout) {
					key := fmt.Sprint(at, number)
					if seen[key] {
						t.Errorf("%s: two of %d copies drew %s", language, drawn, number)
					}
					seen[key] = true
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				drawn++
			}
		}
		if len(seen) < 3*copies {
			t.Errorf("%s: only %d different values in %d copies", language, len(seen), copies)
		}
	}
}
