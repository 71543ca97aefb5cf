package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// past is how long after its deadline and grace a run may go on (promise P9).
const past = 250 * time.Millisecond

// TestDeadlineIsKept lets programs reach their deadline in every state: computing, sleeping, in one call of the
// interpreter's C code, in host functions, in handlers and finalizers, and with the interrupt ignored.
func TestDeadlineIsKept(t *testing.T) {
	eng := testEngine(t)
	for language, programs := range map[string]map[string]string{
		engine.Python: {
			"loop":       "while True: pass",
			"sleep":      "import time\ntime.sleep(3600)",
			"many naps":  "import time\nwhile True: time.sleep(0.0001)",
			"pattern":    "import re\nre.match(r'(a|a|aa)*$', 'a' * 60 + 'b')",
			"power":      "7 ** (10 ** 8)",
			"sort":       "sorted(range(10 ** 7), key=lambda x: -x)",
			"copies":     "b = bytearray(60 << 20)\nwhile True: b[:] = bytes(b)",
			"files":      "b = b'x' * (20 << 20)\nwhile True:\n    with open('f', 'wb') as f: f.write(b)",
			"prints":     "while True: print('x' * 1000)",
			"names":      "import os\nwhile True:\n    for n in range(100): os.listdir('/usr/local/lib') if os.path.exists('/usr/local/lib') else os.listdir('/')",
			"random":     "import os\nwhile True: os.urandom(16 << 20)",
			"matrices":   "import numpy as np\na = np.ones((700, 700))\nwhile True: a = a @ a / 700",
			"caught":     "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
			"finalizer":  "class D:\n    def __del__(self):\n        while True: pass\nD()",
			"recursion":  "import sys\nsys.setrecursionlimit(10 ** 6)\ndef f(n):\n    try: f(n + 1)\n    finally: f(n + 1)\nf(0)",
			"input":      "while True:\n    try: import select; select.select([0], [], [], 3600)\n    except BaseException: pass",
			"collection": "import gc\nkeep = [[] for _ in range(10 ** 6)]\nwhile True: gc.collect()",
		},
		engine.JavaScript: {
			"loop":       "for (;;);",
			"timer":      "await new Promise((r) => setTimeout(r, 1e9))",
			"jobs":       "(function f() { Promise.resolve().then(f); })(); await new Promise(() => {})",
			"pattern":    "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
			"power":      "7n ** (10n ** 8n)",
			"sort":       "[3, 2, 1].sort(() => { for (;;); })",
			"caught":     "for (;;) { try { for (;;); } catch {} finally { for (;;); } }",
			"prints":     "for (;;) console.log('x'.repeat(1000))",
			"codecs":     "const b = Buffer.alloc(16e6); for (;;) b.toString('hex')",
			"hashes":     "const c = require('crypto'); const b = Buffer.alloc(16e6); for (;;) c.createHash('sha256').update(b).digest()",
			"files":      "const fs = require('fs'); const b = Buffer.alloc(16e6); for (;;) fs.writeFileSync('f', b)",
			"join":       "new Array(2 ** 28).join('xy')",
			"getter":     "const o = { get x() { for (;;); } }; JSON.stringify(o)",
			"many naps":  "for (;;) await new Promise((r) => setTimeout(r, 0))",
			"collection": "const keep = Array.from({ length: 1e6 }, () => ({})); for (;;) { keep.map((x) => ({ x })); }",
		},
	} {
		if err := eng.Prepare(context.Background(), language); err != nil {
			t.Fatal(err)
		}
		for name, code := range programs {
			// A machine that others use serves this process late, and less of it goes to who computes than stalls tell: who is always late fails.
			var lates []time.Duration
			for range 3 {
				stalls := new(stalls)
				stalls.watch(t)
				lim := limits.Limits{Timeout: 300 * time.Millisecond, Grace: 40 * time.Millisecond, MemoryBytes: 400 << 20}
				begin := time.Now()
				res, err := eng.Run(context.Background(), engine.Job{Language: language, Code: code, Limits: lim})
				took := time.Since(begin)
				if err != nil {
					t.Fatalf("%s, %s: %v", language, name, err)
				}
				if res.Status != engine.StatusTimeout && res.Status != engine.StatusOutOfMemory && res.Status != engine.StatusError && res.Status != engine.StatusTrapped {
					t.Errorf("%s, %s: status %s", language, name, res.Status)
				}
				late := res.Usage.Wall - lim.Timeout - lim.Grace
				t.Logf("%s, %s: %v, %v past its deadline, %v in all (longest stall of the machine %v)", language, name, res.Status, late.Round(time.Millisecond), took.Round(time.Millisecond), stalls.longest())
				if late <= past+6*stalls.longest() {
					lates = nil
					break
				}
				lates = append(lates, late)
			}
			if lates != nil {
				t.Errorf("%s, %s: past its deadline by %v", language, name, lates)
			}
		}
	}
}

// TestCutInstanceIsNotUsedAgain lets turns be cut, and looks that neither the session nor anybody after it gets the same
// instance (promise P7).
func TestCutInstanceIsNotUsedAgain(t *testing.T) {
	eng := testEngine(t)
	ctx := context.Background()
	for language, programs := range map[string][]string{
		engine.Python: {
			"while True:\n    try:\n        while True: pass\n    except BaseException: pass", // stopped after its grace
			"import os\nos.abort()", // a trap
		},
		engine.JavaScript: {"for (;;);", "for (;;) { try { for (;;); } catch {} }"},
	} {
		for _, code := range programs {
			s, err := eng.Open(ctx, engine.Options{Language: language, Limits: limits.Limits{Timeout: 200 * time.Millisecond}})
			if err != nil {
				t.Fatal(err)
			}
			before := engine.InstanceOf(s)
			res, err := s.Run(ctx, engine.Turn{Code: code})
			if err != nil {
				t.Fatal(err)
			}
			if !res.RolledBack {
				t.Logf("%s, %q ended by itself: %s", language, code, res.Status)
				continue
			}
			var others []*engine.Session
			for range 4 {
				other, err := eng.Open(ctx, engine.Options{Language: language})
				if err != nil {
					t.Fatal(err)
				}
				others = append(others, other)
				if engine.InstanceOf(other) == before {
					t.Errorf("%s, %q: a new session has the instance of the turn that was cut", language, code)
				}
			}
			for _, other := range others {
				if err := other.Close(); err != nil {
					t.Error(err)
				}
			}
			if engine.InstanceOf(s) == before {
				t.Errorf("%s, %q: the session goes on with the instance of the turn that was cut", language, code)
			}
			if res, err := s.Run(ctx, engine.Turn{Code: "6 * 7"}); err != nil || res.Status != engine.StatusOK {
				t.Errorf("%s: the session is of no use any more: %v, %+v", language, err, res)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
