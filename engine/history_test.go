package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/cloche-dev/cloche/engine"
)

func TestRollback(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct{ language, begin, step, show string }{
		{"python", "x = 0; f = open('log', 'w+')", "x += 1; f.write(f'{x}.'); f.flush()", "print(x, open('log').read()); f.seek(0, 2); f.write('|'); f.flush()"},
		{"javascript", "let x = 0; const fs = require('fs')", "x++; fs.appendFileSync('log', `${x}.`)", "console.log(x, fs.readFileSync('log', 'utf8')); fs.appendFileSync('log', '|')"},
	} {
		t.Run(tt.language, func(t *testing.T) {
			s := open(t, engine.Options{Language: tt.language})
			turn(t, s, engine.Turn{Code: tt.begin})
			for range 5 {
				turn(t, s, engine.Turn{Code: tt.step})
			}
			past := s.History()
			if len(past) != 7 || past[0].Turn != 0 || past[6].Turn != 6 || past[6].ID == "" || past[6].Bytes == 0 || past[6].Bytes > 2<<20 {
				t.Errorf("history %+v", past)
			}
			for _, back := range []struct {
				to   int
				want string
			}{{4, "3 1.2.3."}, {4, "3 1.2.3."}, {2, "1 1."}} {
				if err := s.Rollback(ctx, back.to); err != nil {
					t.Fatal(err)
				}
				if info := s.Info(); info.Turns != back.to {
					t.Errorf("after rollback to %d: %+v", back.to, info)
				}
				if res := turn(t, s, engine.Turn{Code: tt.show}); res.Stdout != back.want+"\n" {
					t.Errorf("after rollback to %d: stdout %q, want %q (%+v)", back.to, res.Stdout, back.want, res.Error)
				}
			}
			if err := s.Rollback(ctx, 6); !errors.Is(err, engine.ErrInvalid) || err.Error() != "invalid: turn 6 is not in the session's history, which has 0 to 3" {
				t.Errorf("rollback to a turn that is no more: %v", err)
			}
			forks, err := s.ForkAt(ctx, 2, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer forks[0].Close()
			if res := turn(t, forks[0], engine.Turn{Code: tt.show}); res.Stdout != "1 1.\n" {
				t.Errorf("fork of turn 2: stdout %q", res.Stdout)
			}
			if err := s.Rollback(ctx, 0); err != nil {
				t.Fatal(err)
			}
			if res := turn(t, s, engine.Turn{Code: tt.begin}); res.Status != engine.StatusOK {
				t.Errorf("from the beginning: %+v", res)
			}
		})
	}
}

// The history keeps to its budget, and a session without one keeps none.
func TestHistoryBudget(t *testing.T) {
	s := open(t, engine.Options{Language: "javascript", HistoryBytes: 10 << 20})
	for i := range 8 {
		turn(t, s, engine.Turn{Code: fmt.Sprintf("var a = new Uint8Array(3 << 20).fill(%d)", i)})
	}
	past := s.History()
	if n := len(past); n < 3 || n > 5 || past[n-1].Turn != 8 {
		t.Errorf("a history of %d states: %+v", n, past)
	}
	if err := s.Rollback(context.Background(), 7); err != nil {
		t.Fatal(err)
	}
	if res := turn(t, s, engine.Turn{Code: "a[0]"}); len(res.Results) != 1 || res.Results[0].Data["text/plain"] != "6" {
		t.Errorf("after turn 7: %+v", res.Results)
	}
	none := open(t, engine.Options{Language: "javascript", HistoryBytes: -1})
	turn(t, none, engine.Turn{Code: "1"})
	turn(t, none, engine.Turn{Code: "2"})
	if past := none.History(); len(past) != 1 {
		t.Errorf("without a budget: %+v", past)
	}
}

// What each turn of a long session writes stays small: it writes where the last one did.
func TestTurnsWriteLittle(t *testing.T) {
	for language, most := range map[string]uint64{"python": 36 << 12, "javascript": 4 << 12} {
		s := open(t, engine.Options{Language: language})
		for range 300 {
			turn(t, s, engine.Turn{Code: "x = 2"})
		}
		var bytes uint64
		past := s.History()[200:]
		for _, e := range past {
			bytes += e.Bytes
		}
		if each := bytes / uint64(len(past)); each > most {
			t.Errorf("%s: each turn writes %d bytes, want at most %d", language, each, most)
		}
	}
}

func TestVariants(t *testing.T) {
	ctx := context.Background()
	s := open(t, engine.Options{})
	turn(t, s, engine.Turn{Code: "x = [1, 2, 3]"})
	c, err := s.Variants(ctx,
		engine.Turn{Code: "x.append(4); open('out', 'w').write('a'); sum(x)"},
		engine.Turn{Code: "x.clear(); open('out', 'w').write('b'); sum(x)"},
		engine.Turn{Code: "1/0"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, want := range []string{"10", "0", ""} {
		if got, _ := c.Results[i].Value(); got != want {
			t.Errorf("variant %d: %q, want %q", i, got, want)
		}
	}
	if c.Results[2].Status != engine.StatusError || c.Results[0].FilesChanged[0].SHA256 == c.Results[1].FilesChanged[0].SHA256 {
		t.Errorf("results %+v", c.Results)
	}
	if b, err := c.Files(1).ReadFile("out"); err != nil || string(b) != "b" {
		t.Errorf("file of variant 1: %q, %v", b, err)
	}
	if res := turn(t, s, engine.Turn{Code: "print(x)"}); res.Stdout != "[1, 2, 3]\n" {
		t.Errorf("the session itself: %q", res.Stdout)
	}
	if err := c.Keep(ctx, 0); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("keep after the session went on: %v", err)
	}
	if err := s.Rollback(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.Keep(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if res := turn(t, s, engine.Turn{Code: "print(x, open('out').read())"}); res.Stdout != "[1, 2, 3, 4] a\n" {
		t.Errorf("with variant 0 kept: %q", res.Stdout)
	}
	if err := s.Rollback(ctx, 2); err != nil {
		t.Errorf("the kept variant is a turn: %v", err)
	}
}

func TestStateCard(t *testing.T) {
	type step struct{ code, want string }
	for _, tt := range []struct {
		language string
		steps    []step
	}{
		{"python", []step{
			{"x = 1; s = 'abc'; _private = 2", `{"added":[{"name":"x","type":"int","preview":"1"},{"name":"s","type":"str","length":3,"preview":"'abc'"}]}`},
			{"x = 1", `null`},
			{"x = 2; del s", `{"changed":[{"name":"x","type":"int","preview":"2"}],"removed":["s"]}`},
			{"import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': ['u', 'v']})", `{"added":[{"name":"pd","type":"module","preview":"pandas"},{"name":"df","type":"DataFrame","shape":[2,2],"preview":"a: int64, b: str"}]}`},
			{"df['c'] = 0.5", `{"changed":[{"name":"df","type":"DataFrame","shape":[2,3],"preview":"a: int64, b: str, c: float64"}]}`},
			{"df.loc[:, 'a'] = [8, 9]\ndf['a'] = df['a'] * 2", `{"changed":[{"name":"df","type":"DataFrame","shape":[2,3],"preview":"a: int64, b: str, c: float64"}]}`},
			{"l = [1, 2]; d = {'k': None}", `{"added":[{"name":"l","type":"list","length":2,"preview":"[1, 2]"},{"name":"d","type":"dict","length":1,"preview":"{'k': None}"}]}`},
			{"l[0] = 7", `{"changed":[{"name":"l","type":"list","length":2,"preview":"[7, 2]"}]}`},
			{"class A:\n  def __repr__(self): return open('no')\n  def __len__(self): raise SystemExit\na = [A()]\ndef f(n, m=2): pass", `{"added":[{"name":"A","type":"type","preview":"class A"},{"name":"a","type":"list","length":1},{"name":"f","type":"function","preview":"f(n, m)"}]}`},
			{"y = 5; 1/0", `{"added":[{"name":"y","type":"int","preview":"5"}]}`},
			{"class M(type):\n  def __hash__(c):\n    while True: pass\n  __eq__ = __module__ = property(__hash__)\nclass B(metaclass=M):\n  __module__ = 'pandas'\n  shape = property(M.__hash__)\nb = B(); globals()[1] = 2", `{"added":[{"name":"M","type":"type","preview":"class M"},{"name":"B","type":"M"},{"name":"b","type":"B"}]}`},
			{"class R:\n  def __repr__(s):\n    while True: pass\n  __str__ = __repr__\nr = pd.Series([R(), 1]); t = pd.DataFrame([[1]], columns=[R()])", `{"added":[{"name":"R","type":"type","preview":"class R"},{"name":"r","type":"Series","shape":[2],"preview":"object: …, 1"},{"name":"t","type":"DataFrame","shape":[1,1],"preview":"…: int64"}]}`},
			{"class Slow:\n  def __getattr__(s, n):\n    while True: pass\n  __len__ = __iter__ = __class__ = property(lambda s: s.x)\nslow = Slow()\ndf._mgr = slow", `{"added":[{"name":"Slow","type":"type","preview":"class Slow"},{"name":"slow","type":"Slow"}],"changed":[{"name":"df","type":"DataFrame"}]}`},
			{"df = pd.DataFrame([[1]]); df._mgr.axes[0] = slow; i = pd.Index([1]); i._data = slow; n = pd.array([1, None]); n._data = slow", `{"added":[{"name":"i","type":"Index"},{"name":"n","type":"IntegerArray"}],"changed":[{"name":"df","type":"DataFrame"}]}`},
			{"import datetime\nclass Zone(datetime.tzinfo):\n  def utcoffset(s, t):\n    while armed: pass\n    return datetime.timedelta(0)\n  dst = tzname = utcoffset\n  def __str__(s):\n    while armed: pass\narmed = False\nz = pd.Series(pd.to_datetime(['2024-01-01'])).dt.tz_localize(Zone()); w = pd.Series([pd.Timestamp('2024-01-01', tz=Zone())], dtype=object); armed = True", `{"added":[{"name":"datetime","type":"module","preview":"datetime"},{"name":"Zone","type":"type","preview":"class Zone"},{"name":"armed","type":"bool","preview":"True"},{"name":"z","type":"Series"},{"name":"w","type":"Series","shape":[1],"preview":"object: …"}]}`},
			{"del df, i, n, z, w, slow, armed, Zone, Slow, datetime\nu = pd.Series(pd.to_datetime(['2024-01-01'], utc=True)); m = pd.DataFrame({'a': pd.Categorical(['u']), 'b': pd.array([1, None])[:1]}, index=pd.MultiIndex.from_tuples([(1, 2)]))", `{"added":[{"name":"u","type":"Series","shape":[1],"preview":"datetime64[us, UTC]: Timestamp('2024-01-01 00:00:00+0000', tz='UTC')"},{"name":"m","type":"DataFrame","shape":[1,2],"preview":"a: category, b: Int64"}],"removed":["df","Slow","slow","i","n","datetime","Zone","armed","z","w"]}`},
			{"k = __import__('numpy').ones((2, 3))", `{"added":[{"name":"k","type":"ndarray","shape":[2,3],"preview":"float64"}]}`},
			{"y = 6", `{"changed":[{"name":"y","type":"int","preview":"6"}]}`},
		}},
		{"javascript", []step{
			{"let x = 1; const s = 'abc'; var v = [1, 'a']; g = null", `{"added":[{"name":"x","type":"number","preview":"1"},{"name":"s","type":"string","length":3,"preview":"\"abc\""},{"name":"v","type":"Array","length":2,"preview":"[1, \"a\"]"},{"name":"g","type":"null","preview":"null"}]}`},
			{"x = 1", `null`},
			{"x = 2; delete globalThis.g", `{"changed":[{"name":"x","type":"number","preview":"2"}],"removed":["g"]}`},
			{"v.push({})", `{"changed":[{"name":"v","type":"Array","length":3}]}`},
			{"class A {}; const m = new Map([[1, 2]]), u = new Uint8Array(3); function f(n) {}; const a = new A(), o = {k: 1}", `{"added":[{"name":"A","type":"function","preview":"A(0)"},{"name":"m","type":"Map","length":1},{"name":"u","type":"Uint8Array","length":3,"preview":"[0, 0, 0]"},{"name":"a","type":"A"},{"name":"o","type":"Object","preview":"{k}"},{"name":"f","type":"function","preview":"f(1)"}]}`},
			{"v[1] = 'b'; o.k = 2; m.set(3, 4); u[2] = 9", `{"changed":[{"name":"m","type":"Map","length":2},{"name":"u","type":"Uint8Array","length":3,"preview":"[0, 0, 9]"},{"name":"o","type":"Object","preview":"{k}"},{"name":"v","type":"Array","length":3}]}`},
			{"const o2 = {k: 2}, p = new Proxy({}, new Proxy({}, { get() { for (;;); } })), q = Object.create(p)", `{"added":[{"name":"o2","type":"Object","preview":"{k}"},{"name":"p","type":"Proxy"},{"name":"q","type":"Object"}]}`},
			{"Object.defineProperty(globalThis, 'bad', {get() { for (;;); }, enumerable: true, configurable: true}); var big = -(2n ** 65n), é = '数' + 'x'.repeat(70), nan = NaN", `{"added":[{"name":"big","type":"bigint","preview":"-36893488147419103232n"},{"name":"é","type":"string","length":71,"preview":"\"数xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\""},{"name":"nan","type":"number","preview":"NaN"},{"name":"bad","type":"accessor"}]}`},
			{"Object.prototype.toJSON = Array.prototype.push = function () { for (;;); }; Object.defineProperty(Map, 'name', {get() { for (;;); }}); delete globalThis.bad", `{"removed":["bad"]}`},
			{"const fresh = new Map()", `{"added":[{"name":"fresh","type":"Object","length":0}]}`},
		}},
	} {
		s := open(t, engine.Options{Language: tt.language})
		for _, st := range tt.steps {
			res := turn(t, s, engine.Turn{Code: st.code})
			got, err := json.Marshal(res.State)
			if err != nil || string(got) != st.want {
				t.Errorf("%q:\n got %s\nwant %s (%v)", st.code, got, st.want, res.Error)
			}
		}
	}
	// A program can lie in its card; it cannot do harm.
	for _, code := range []string{
		"import _host\n_host.call(b'\\x08{\"added\": [{\"name\": \"' + b'x' * 10000 + b'\", \"type\": \"int\", \"shape\": [1e99]}]}')",
		"import _host\n_host.call(b'\\x08[1, 2')", "import _host\n_host.call(b'\\x08' + b'x' * 10_000_000)",
	} {
		s := open(t, engine.Options{})
		if res := turn(t, s, engine.Turn{Code: code}); res.Status != engine.StatusOK {
			t.Errorf("%.60q: %+v", code, res.Error)
		}
	}
}
