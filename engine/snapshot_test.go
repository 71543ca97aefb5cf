package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// written is a snapshot of the session as a file.
func written(t *testing.T, s *engine.Session) []byte {
	t.Helper()
	sn, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	var b bytes.Buffer
	n, err := sn.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// restored is a session of a snapshot file.
func restored(t *testing.T, e *engine.Engine, file []byte) *engine.Session {
	t.Helper()
	sn, err := e.ReadSnapshot(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	s, err := e.Restore(context.Background(), sn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var copies = []struct{ name, language, before, between, after, want string }{
	{
		"python", "python",
		"import numpy as np\nx = [1]; a = np.arange(3_000_000); open('f', 'w').write('one'); f = open('f'); f.read(1)\ndef add(n): x.append(n); return x",
		"x.append(5); a[:] = 0; open('f', 'w').write('other'); f.close()",
		"print(add(2), int(a.sum()), open('f').read(), f.read())", "[1, 2] 4499998500000 one ne\n",
	},
	{
		"javascript", "javascript",
		"let x = [1]; const a = new Uint8Array(20_000_000).fill(7); require('fs').writeFileSync('f', 'one'); function add(n) { x.push(n); return x }",
		"x.push(5); a.fill(0); require('fs').writeFileSync('f', 'other')",
		"console.log(JSON.stringify(add(2)), a[0] + a[19_999_999], require('fs').readFileSync('f', 'utf8'))", "[1,2] 14 one\n",
	},
}

func TestFork(t *testing.T) {
	for _, tt := range copies {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, engine.Options{Language: tt.language})
			if res := turn(t, s, engine.Turn{Code: tt.before}); res.Status != engine.StatusOK {
				t.Fatalf("%+v", res.Error)
			}
			forks, err := s.Fork(context.Background(), 3)
			if err != nil {
				t.Fatal(err)
			}
			turn(t, s, engine.Turn{Code: tt.between})
			turn(t, forks[0], engine.Turn{Code: tt.between})
			more, err := forks[1].Fork(context.Background(), 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range append(forks[1:], more...) {
				if res := turn(t, f, engine.Turn{Code: tt.after}); res.Stdout != tt.want {
					t.Errorf("fork %d: stdout %q, want %q (%+v)", i, res.Stdout, tt.want, res.Error)
				}
				if n := f.Info().Turns; n != 2 {
					t.Errorf("fork %d has %d turns", i, n)
				}
			}
			for _, f := range append(forks, more...) {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			if _, err := s.Fork(context.Background(), 0); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("no forks: %v", err)
			}
		})
	}
}

func TestSnapshotAndRestore(t *testing.T) {
	for _, tt := range copies {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, engine.Options{Language: tt.language, Env: map[string]string{"K": "v"}})
			turn(t, s, engine.Turn{Code: tt.before})
			file := written(t, s)
			sn, err := s.Snapshot(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			turn(t, s, engine.Turn{Code: tt.between})
			inMemory, err := testEngine(t).Restore(context.Background(), sn)
			if err != nil {
				t.Fatal(err)
			}
			defer inMemory.Close()
			if err := sn.Close(); err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]*engine.Session{"memory": inMemory, "file": restored(t, testEngine(t), file)} {
				if res := turn(t, c, engine.Turn{Code: tt.after}); res.Stdout != tt.want {
					t.Errorf("from %s: stdout %q, want %q (%+v)", name, res.Stdout, tt.want, res.Error)
				}
				// A turn that has to be cut goes back to what was restored and one turn more.
				if res := turn(t, c, engine.Turn{Code: map[string]string{"python": "while True: pass", "javascript": "for (;;);"}[tt.language], Limits: limits.Limits{Fuel: 1_000_000}}); !res.RolledBack {
					t.Errorf("from %s: %+v", name, res)
				}
				if res := turn(t, c, engine.Turn{Code: tt.after}); !strings.Contains(strings.ReplaceAll(res.Stdout, " ", ""), "[1,2,2]") {
					t.Errorf("from %s, rolled back: stdout %q", name, res.Stdout)
				}
			}
			if _, err := testEngine(t).Restore(context.Background(), sn); !errors.Is(err, engine.ErrClosed) {
				t.Errorf("a closed snapshot: %v", err)
			}
		})
	}
}

// What is kept of one session must not be had from another language, deployment or version, nor after a change.
func TestSnapshotRefused(t *testing.T) {
	s := open(t, engine.Options{Language: "javascript"})
	turn(t, s, engine.Turn{Code: "let x = 41"})
	file := written(t, s)
	if res := turn(t, restored(t, testEngine(t), file), engine.Turn{Code: "console.log(x + 1)"}); res.Stdout != "42\n" {
		t.Fatalf("the file itself: %q", res.Stdout)
	}
	bad := map[string][]byte{"empty": nil, "grown": append(bytes.Clone(file), 0), "other": []byte(strings.Repeat("x", 1000))}
	for i := 0; i < len(file); i += 1 + len(file)/300 {
		flipped := bytes.Clone(file)
		flipped[i] ^= 1 << (i % 8)
		bad[fmt.Sprintf("flipped at %d", i)] = flipped
		bad[fmt.Sprintf("cut at %d", i)] = file[:i]
	}
	version := bytes.Clone(file)
	binary.LittleEndian.PutUint32(version[8:], 1)
	bad["version"] = version
	huge := bytes.Clone(file)
	binary.LittleEndian.PutUint32(huge[12:], 1<<31)
	bad["huge header"] = huge
	piece := bytes.Clone(file)
	binary.LittleEndian.PutUint32(piece[32+binary.LittleEndian.Uint32(file[12:]):], 1<<31) // behind the header
	bad["huge piece"] = piece
	for name, b := range bad {
		if _, err := testEngine(t).ReadSnapshot(bytes.NewReader(b)); !errors.Is(err, engine.ErrSnapshot) || !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other, err := engine.New(engine.Config{SnapshotKey: []byte("another deployment's")})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ReadSnapshot(bytes.NewReader(file)); !errors.Is(err, engine.ErrSnapshot) {
		t.Errorf("another deployment: %v", err)
	}
	sn, err := testEngine(t).ReadSnapshot(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testEngine(t).RestoreWith(context.Background(), sn, engine.Options{Language: "python"}); !errors.Is(err, engine.ErrSnapshot) {
		t.Errorf("another language: %v", err)
	}
	if _, err := testEngine(t).RestoreWith(context.Background(), sn, engine.Options{Language: "javascript", Limits: limits.Limits{MemoryBytes: 1 << 20}}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("less memory: %v", err)
	}
}

// copiesOf are the session, two forks of it and two sessions that a snapshot of it was restored to.
func copiesOf(t *testing.T, s *engine.Session) []*engine.Session {
	t.Helper()
	file := written(t, s)
	forks, err := s.Fork(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forks[0].Close(); forks[1].Close() })
	return []*engine.Session{s, forks[0], forks[1], restored(t, testEngine(t), file), restored(t, testEngine(t), file)}
}

// Copies must not share what they draw, whatever made it; with a seed of its own a program repeats.
func TestCopiesDrawApart(t *testing.T) {
	for _, tt := range []struct{ language, before, draw string }{
		{"python", "import random, secrets, uuid, numpy as np, tempfile\nr = random.Random(); g = np.random.default_rng(); h = np.random.RandomState(); k = np.random.default_rng().spawn(2)[1]; s = random.SystemRandom(); r.random(); g.random(); np.random.rand(); random.gauss(0, 1); r.gauss(0, 1); np.random.normal(); h.normal()\n" +
			"class Unhashable(random.Random): __hash__ = None\nclass Same(random.Random):\n  def __eq__(self, other): return True\n  def __hash__(self): return 0\n" +
			"u = Unhashable(); seeded = Same(1); e = Same(); import gc; f = random.Random(); gc.freeze()",
			"print(u.random()); print(e.random()); print(f.random()); print(random.random()); print(r.random()); print(g.random()); print(h.rand()); print(np.random.rand()); print(secrets.token_hex(8)); print(uuid.uuid4()); print(s.random()); print(g.spawn(1)[0].random()); print(k.random()); print(random.gauss(0, 1)); print(r.gauss(0, 1)); print(np.random.normal()); print(h.normal())"},
		{"javascript", "Math.random()", "console.log(Math.random()); console.log(crypto.randomUUID()); console.log(crypto.getRandomValues(new Uint32Array(2)).join())"},
	} {
		s := open(t, engine.Options{Language: tt.language})
		if res := turn(t, s, engine.Turn{Code: tt.before}); res.Status != engine.StatusOK {
			t.Fatalf("%+v", res.Error)
		}
		seen := map[string]int{}
		for _, c := range copiesOf(t, s) {
			res := turn(t, c, engine.Turn{Code: tt.draw})
			if res.Status != engine.StatusOK {
				t.Fatalf("%s: %+v", tt.language, res.Error)
			}
			for i, line := range strings.Split(strings.TrimSpace(res.Stdout), "\n") {
				if seen[line]++; seen[line] > 1 {
					t.Errorf("%s: line %d, %s, was drawn twice", tt.language, i, line)
				}
			}
		}
	}
}

// With a seed or a state of the program's own a copy draws what the original does, and whatever else there is is renewed.
func TestCopiesGoOnAsSeeded(t *testing.T) {
	for _, tt := range []struct{ name, before, draw string }{
		{"seeds", "random.seed(7); np.random.seed(7); r = random.Random(7); g = np.random.default_rng(7); random.gauss(0, 1)\nclass U(random.Random): __hash__ = None\nu = U(7)",
			"random.random(), random.gauss(0, 1), r.random(), g.random(), np.random.rand(), u.random()"},
		{"large seeds", "gs = [np.random.default_rng(n) for n in (2**64, 2**100, 2**128 - 1, [2**64, 3])]; gs += gs[1].spawn(2); h = np.random.Generator(np.random.Philox(key=2**80))\n" +
			"q = np.random.RandomState(np.random.PCG64(2**90)); p = np.random.default_rng(np.random.SeedSequence(2**127, spawn_key=(1,)))",
			"[g.random() for g in gs], h.random(), q.normal(), p.random()"},
		{"states", "random.setstate(random.Random(1).getstate()); np.random.set_state(np.random.RandomState(1).get_state())\nr = random.Random(); r.setstate(r.getstate())\n" +
			"h = np.random.RandomState(); h.normal(); h.set_state(h.get_state())\ngs = [np.random.Generator(k()) for k in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)]\n" +
			"for g in gs: g.bit_generator.state = g.bit_generator.state\nimport pickle, copy; c = pickle.loads(pickle.dumps(np.random.default_rng())); d = copy.deepcopy(random.Random())",
			"random.random(), np.random.rand(), np.random.normal(), r.random(), h.normal(), [g.random() for g in gs], c.random(), d.random()"},
		{"legacy", "h = np.random.RandomState(); h.seed(5); k = np.random.RandomState(5)\nm = np.random.RandomState(np.random.MT19937()); m.seed(6); m.normal()\nnp.random.mtrand._rand.set_state(np.random.RandomState(2).get_state())",
			"h.rand(), k.rand(), m.normal(), np.random.rand()"},
	} {
		s := open(t, engine.Options{})
		// Classes that get in the way of the renewal of others.
		res := turn(t, s, engine.Turn{Code: "import random, numpy as np\n" + tt.before + `
class Leaves(random.Random):
    armed = False
    def seed(self, *args):
        super().seed(*args)
        if self.armed: raise SystemExit(3)
class Odd:
    @property
    def __class__(self): raise SystemExit(4)
leaves, odd, fresh, again, redone = Leaves(), Odd(), random.Random(), np.random.default_rng(), np.random.RandomState()
other = np.random.RandomState(3); other.seed(None)
Leaves.armed = True; redone.normal()`})
		if res.Status != engine.StatusOK {
			t.Fatalf("%s: %+v", tt.name, res.Error)
		}
		want, drawn := "", map[string]bool{}
		for _, c := range copiesOf(t, s) {
			res := turn(t, c, engine.Turn{Code: "print(" + tt.draw + ")"})
			if want == "" {
				want = res.Stdout
			}
			if res.Status != engine.StatusOK || res.Stdout != want {
				t.Errorf("%s: %s %q, the parent drew %q", tt.name, res.Status, res.Stdout, want)
			}
			others := turn(t, c, engine.Turn{Code: "for x in (leaves, fresh, again, redone, other): print(x.random())\nprint(redone.normal())"}).Stdout
			for line := range strings.Lines(others) {
				if drawn[line] {
					t.Errorf("%s: a generator of the system's drew %s twice", tt.name, line)
				}
				drawn[line] = true
			}
			if strings.Count(others, "\n") != 6 {
				t.Errorf("%s: drew %q", tt.name, others)
			}
		}
	}
}
