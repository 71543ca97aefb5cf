package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// modelState is what a session must hold: variables and files, by number.
type modelState map[int]int

// A modelPoint is a state of a session.
type modelPoint struct {
	is    modelState
	waits *modelWait // the session is suspended
}

// modelWait is a turn that sets a variable and its file to the result of a call that comes later.
type modelWait struct {
	call string
	slot int
}

func (p modelPoint) clone() modelPoint { return modelPoint{maps.Clone(p.is), p.waits} }

// modelled is a session beside what it must be.
type modelled struct {
	s        *engine.Session
	rollback bool       // turns are transactions
	start    modelState // what a reset leads to: nothing, or what its template brings
	now      modelPoint
	at       map[int]modelPoint // after each turn
}

// modelWorld is what all sessions share, which no rollback of theirs takes back and no copy of theirs copies.
type modelWorld struct {
	board string // what the file in the shared folder holds
	box   []int  // the messages in the channel, which has room for boxRoom
}

const (
	modelSlots = 5
	boxRoom    = 3
)

// show prints all that a session of the model can hold, and what it sees of the world.
const show = `
const fs = require("fs"), seen = {};
for (let k = 0; k < 5; k++) {
  const v = globalThis["v" + k], f = fs.existsSync("f" + k) ? fs.readFileSync("f" + k, "utf8") : undefined;
  if (String(v) !== String(f)) throw new Error("variable " + k + " is " + v + ", and its file says " + f);
  if (v !== undefined) seen[k] = v;
}
console.log(JSON.stringify({ own: seen, board: fs.readFileSync("/shared/board/f", "utf8") }));`

func change(k, v int) string {
	return fmt.Sprintf("{ const fs = require('fs'); globalThis.v%d = %d; fs.writeFileSync('f%d', '%d'); }\n", k, v, k, v)
}

// TestRandomSessions runs random programs of turns, failures, cuts, calls of tools, suspensions, rollbacks, forks (of
// earlier turns, too), variants, snapshots, resets, messages, writes into a shared folder, starts from a template, hibernations and
// restarts of the engine, and compares every session after every step with a model.
func TestRandomSessions(t *testing.T) {
	testEngine(t)
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		randomSessions(t, uint64(seed), 40)
	}
}

func FuzzSessions(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint8(20))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		testEngine(t)
		randomSessions(t, seed, int(steps)%64)
	})
}

func randomSessions(t *testing.T, seed uint64, steps int) {
	t.Helper()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(seed, 0))
	var story []string
	fatal := func(err error) {
		t.Helper()
		t.Fatalf("seed %d: %v, after %q", seed, err, story)
	}
	var cfg engine.Config
	if rnd.IntN(2) == 0 {
		cfg.Store = filepath.Join(t.TempDir(), "store")
	}
	eng, err := engine.New(cfg)
	if err != nil {
		fatal(err)
	}
	var all []*modelled
	defer func() {
		for _, m := range all {
			if err := m.s.Close(); err != nil {
				t.Errorf("seed %d: close: %v", seed, err)
			}
		}
		if err := eng.Close(); err != nil {
			t.Errorf("seed %d: close: %v", seed, err)
		}
	}()

	world := modelWorld{board: "nothing"}
	folder := sharedFolder(t, limits.SharedReadWrite)
	files, err := folder.Files()
	if err == nil {
		err = files.WriteFile("/shared/board/f", []byte(world.board))
	}
	if err != nil {
		fatal(err)
	}
	hub := testHub(t, limits.Channel{Name: "box", Mode: limits.ChannelBoth, Messages: boxRoom})
	tools, err := lateTools()
	if err == nil {
		err = hub.Offer(tools, nil)
	}
	if err != nil {
		fatal(err)
	}
	// connect adds what is not kept with a session.
	connect := func(o *engine.Options) { o.Tools, o.Shared = tools, []engine.SharedMount{{Folder: folder}} }

	template := fmt.Sprintf("test-random-%d", os.Getpid())
	if res, err := eng.BuildTemplate(ctx, template, engine.Options{Language: engine.JavaScript}, engine.Turn{Code: change(1, 77)}); err != nil || res.Status != engine.StatusOK {
		t.Fatalf("template: %+v, %v", res, err)
	}
	defer func() {
		if err := eng.RemoveTemplate(template); err != nil {
			t.Error(err)
		}
	}()

	add := func(s *engine.Session, like *modelled, now modelPoint) {
		m := &modelled{s: s, rollback: like.rollback, start: like.start, now: now.clone(), at: map[int]modelPoint{}}
		for turn, st := range like.at {
			m.at[turn] = st.clone()
		}
		all = append(all, m)
	}
	open := func() {
		o := engine.Options{Language: engine.JavaScript, Limits: limits.Limits{Timeout: 30 * time.Second, Grace: 10 * time.Second}}
		connect(&o)
		like := &modelled{start: modelState{}}
		if rnd.IntN(2) == 0 {
			o.Template, like.start = template, modelState{1: 77}
		}
		if rnd.IntN(2) == 0 {
			o.OnError, like.rollback = engine.OnErrorRollback, true
		}
		s, err := eng.Open(ctx, o)
		if err != nil {
			fatal(err)
		}
		like.at = map[int]modelPoint{0: {is: like.start}}
		add(s, like, like.at[0])
	}
	open()
	for range steps {
		i := rnd.IntN(len(all))
		m := all[i]
		k, v := rnd.IntN(modelSlots), rnd.IntN(1000)
		op := []string{"set", "set", "set", "fail", "cut", "burn", "fork", "snapshot", "rollback", "reset", "open", "close",
			"suspend", "suspend", "tool", "branch", "variants", "receive", "hibernate", "restart"}[rnd.IntN(20)]
		if (op == "fork" || op == "snapshot" || op == "open" || op == "branch") && len(all) >= 6 {
			op = "close"
		}
		if m.now.waits != nil {
			switch op {
			case "set", "suspend", "tool", "receive":
				op = "resume"
			case "fail", "cut", "burn", "variants":
				op = "cancel"
			}
		}
		if (op == "hibernate" || op == "restart") && cfg.Store == "" {
			continue
		}
		story = append(story, fmt.Sprintf("%s %d of %d", op, i, len(all)))
		switch op {
		case "set", "fail", "cut", "burn":
			turn := engine.Turn{Code: change(k, v)}
			switch rnd.IntN(4) { // something that all see comes first, and stays whatever becomes of the turn
			case 0:
				turn.Code = fmt.Sprintf("require('fs').writeFileSync('/shared/board/f', '%d');\n", v) + turn.Code
				world.board = fmt.Sprint(v)
			case 1:
				if len(world.box) < boxRoom {
					turn.Code = fmt.Sprintf("await tools.box.send(%d);\n", v) + turn.Code
					world.box = append(world.box, v)
				}
			}
			switch op {
			case "fail":
				turn.Code += "throw new Error('no')"
			case "cut": // gently, and not before all is changed: half a change is what such a turn may leave
				turn.Code += "console.log('changed'); for (;;);"
				turn.Stdout = writerFunc(func(b []byte) (int, error) { m.s.Interrupt(); return len(b), nil })
			case "burn":
				turn.Code += "for (;;);"
				turn.Limits.Fuel = 3_000_000
			}
			res, err := m.s.Run(ctx, turn)
			if err != nil {
				fatal(err)
			}
			if good := res.Status == engine.StatusOK; good != (op == "set") || res.RolledBack != (op == "burn" || !good && m.rollback) {
				t.Fatalf("seed %d: %s ends with %s, rolled back %v, after %q", seed, op, res.Status, res.RolledBack, story)
			}
			if !res.RolledBack {
				m.now.is[k] = v
			}
		case "fork":
			forks, err := m.s.Fork(ctx, 1+rnd.IntN(2))
			if err != nil {
				fatal(err)
			}
			for _, f := range forks {
				add(f, m, m.now)
			}
		case "branch":
			history := m.s.History()
			if len(history) == 0 {
				continue
			}
			from := history[rnd.IntN(len(history))].Turn
			forks, err := m.s.ForkAt(ctx, from, 1)
			if err != nil {
				fatal(err)
			}
			add(forks[0], m, m.at[from])
		case "variants":
			c, err := m.s.Variants(ctx, engine.Turn{Code: change(k, v)}, engine.Turn{Code: change(k, v+1)})
			if err != nil {
				fatal(err)
			}
			n := rnd.IntN(2)
			if err := c.Keep(ctx, n); err != nil {
				fatal(err)
			}
			m.now.is[k] = v + n
		case "tool":
			res, err := m.s.Run(ctx, engine.Turn{Code: fmt.Sprintf("if (await tools.now() !== 'at once') throw 0;\n%s", change(k, v))})
			if err != nil || res.Status != engine.StatusOK {
				t.Fatalf("seed %d: a tool: %+v, %v, after %q", seed, res, err, story)
			}
			m.now.is[k] = v
		case "receive":
			res, err := m.s.Run(ctx, engine.Turn{Code: fmt.Sprintf("const got%[2]d = await tools.box.receive(0); globalThis.v%[1]d = got%[2]d; require('fs').writeFileSync('f%[1]d', String(got%[2]d))", k, len(story))})
			if err != nil || (res.Status == engine.StatusOK) != (len(world.box) > 0) {
				t.Fatalf("seed %d: receive with %v in the channel: %+v, %v, after %q", seed, world.box, res, err, story)
			}
			if len(world.box) > 0 {
				m.now.is[k], world.box = world.box[0], world.box[1:]
			}
		case "hibernate":
			if err := engine.Hibernate(m.s); err != nil {
				fatal(err)
			}
		case "restart":
			if err := eng.Close(); err != nil {
				fatal(err)
			}
			if eng, err = engine.New(cfg); err != nil {
				fatal(err)
			}
			for _, m := range all {
				if m.s, err = eng.Session(ctx, m.s.ID(), connect); err != nil {
					fatal(err)
				}
			}
		case "suspend":
			code := fmt.Sprintf("const got%[2]d = await tools.approve(); globalThis.v%[1]d = got%[2]d; require('fs').writeFileSync('f%[1]d', String(got%[2]d))", k, len(story))
			res, err := m.s.Run(ctx, engine.Turn{Code: code})
			if err != nil || res.Status != engine.StatusSuspended {
				t.Fatalf("seed %d: suspended: %+v, %v, after %q", seed, res, err, story)
			}
			m.now.waits = &modelWait{res.PendingCalls[0].ID, k}
		case "resume", "cancel":
			w, want := m.now.waits, engine.StatusOK
			r := engine.Resumption{Results: []hostfuncs.ToolResult{{CallID: w.call, Result: json.RawMessage(fmt.Sprint(v))}}}
			if op == "cancel" {
				r, want = engine.Resumption{Cancel: true}, engine.StatusCancelled
			}
			res, err := m.s.Resume(ctx, r)
			if err != nil || res.Status != want || res.RolledBack {
				t.Fatalf("seed %d: %s: %+v, %v, after %q", seed, op, res, err, story)
			}
			if op == "resume" {
				m.now.is[w.slot] = v
			}
			m.now.waits = nil
			if _, err := m.s.Resume(ctx, r); !errors.Is(err, engine.ErrNoCall) {
				t.Fatalf("seed %d: a result was taken twice: %v, after %q", seed, err, story)
			}
		case "snapshot":
			sn, err := m.s.Snapshot(ctx)
			if err != nil {
				fatal(err)
			}
			var file bytes.Buffer
			if _, err = sn.WriteTo(&file); err != nil {
				fatal(err)
			}
			read, err := eng.ReadSnapshot(&file)
			if err != nil {
				fatal(err)
			}
			o := read.Options()
			connect(&o)
			s, err := eng.RestoreWith(ctx, read, o)
			if err != nil {
				fatal(err)
			}
			add(s, m, m.now)
			for _, c := range []*engine.Snapshot{sn, read} {
				if err := c.Close(); err != nil {
					fatal(err)
				}
			}
		case "rollback":
			history := m.s.History()
			if len(history) == 0 {
				continue
			}
			to := history[rnd.IntN(len(history))].Turn
			if err := m.s.Rollback(ctx, to); err != nil {
				fatal(err)
			}
			want, ok := m.at[to]
			if !ok {
				t.Fatalf("seed %d: the history has a turn %d that never was, after %q", seed, to, story)
			}
			m.now = want.clone()
			maps.DeleteFunc(m.at, func(turn int, _ modelPoint) bool { return turn > to })
		case "reset":
			if err := m.s.Reset(ctx); err != nil {
				fatal(err)
			}
			m.now, m.at = modelPoint{is: maps.Clone(m.start)}, map[int]modelPoint{}
		case "open":
			open()
		case "close":
			if err := m.s.Close(); err != nil {
				fatal(err)
			}
			if all = append(all[:i], all[i+1:]...); len(all) == 0 {
				open()
			}
		}
		for j, m := range all {
			m.at[m.s.Info().Turns] = m.now.clone()
			res, err := m.s.Run(ctx, engine.Turn{Code: show})
			if m.now.waits != nil {
				if !errors.Is(err, engine.ErrSuspended) {
					t.Fatalf("seed %d: a suspended session takes a turn: %v, after %q", seed, err, story)
				}
				continue
			}
			if err != nil {
				fatal(err)
			}
			m.at[m.s.Info().Turns] = m.now.clone()
			var got struct {
				Own   modelState
				Board string
			}
			if err := json.Unmarshal([]byte(res.Stdout), &got); err != nil || !maps.Equal(got.Own, m.now.is) || got.Board != world.board {
				t.Fatalf("seed %d: session %d holds %s (%v %v), want %v and the board %s, after %q", seed, j, res.Stdout, res.Status, res.Error, m.now.is, world.board, story)
			}
		}
	}
	for _, v := range world.box {
		if got, err := hub.Receive(ctx, "box"); err != nil || string(got) != fmt.Sprint(v) {
			t.Fatalf("seed %d: the channel holds %s (%v), want %d of %v, after %q", seed, got, err, v, world.box, story)
		}
	}
}
