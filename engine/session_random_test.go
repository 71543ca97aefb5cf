package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// modelState is what a session must hold: variables and files, by number.
type modelState map[int]int

// modelled is a session beside what it must be.
type modelled struct {
	s        *engine.Session
	rollback bool // turns are transactions
	now      modelState
	at       map[int]modelState // after each turn
}

const modelSlots = 5

// show prints all that a session of the model can hold.
const show = `
const fs = require("fs"), seen = {};
for (let k = 0; k < 5; k++) {
  const v = globalThis["v" + k], f = fs.existsSync("f" + k) ? fs.readFileSync("f" + k, "utf8") : undefined;
  if (String(v) !== String(f)) throw new Error("variable " + k + " is " + v + ", and its file says " + f);
  if (v !== undefined) seen[k] = v;
}
console.log(JSON.stringify(seen));`

func change(k, v int) string {
	return fmt.Sprintf("{ const fs = require('fs'); globalThis.v%d = %d; fs.writeFileSync('f%d', '%d'); }\n", k, v, k, v)
}

// TestRandomSessions runs random programs of turns, failures, cuts, rollbacks, forks, snapshots and resets, and
// compares every session after every step with a model.
func TestRandomSessions(t *testing.T) {
	eng := testEngine(t)
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		randomSessions(t, eng, uint64(seed), 40)
	}
}

func FuzzSessions(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint8(20))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) { randomSessions(t, testEngine(t), seed, int(steps)) })
}

func randomSessions(t *testing.T, eng *engine.Engine, seed uint64, steps int) {
	t.Helper()
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(seed, 0))
	var all []*modelled
	defer func() {
		for _, m := range all {
			if err := m.s.Close(); err != nil {
				t.Errorf("seed %d: close: %v", seed, err)
			}
		}
	}()
	var story []string
	fatal := func(err error) {
		t.Helper()
		t.Fatalf("seed %d: %v, after %q", seed, err, story)
	}
	add := func(s *engine.Session, like *modelled) {
		m := &modelled{s: s, rollback: like.rollback, now: maps.Clone(like.now), at: map[int]modelState{}}
		for turn, st := range like.at {
			m.at[turn] = maps.Clone(st)
		}
		all = append(all, m)
	}
	open := func() {
		o := engine.Options{Language: engine.JavaScript, Limits: limits.Limits{Timeout: 30 * time.Second}}
		like := &modelled{now: modelState{}, at: map[int]modelState{0: {}}}
		if rnd.IntN(2) == 0 {
			o.OnError, like.rollback = engine.OnErrorRollback, true
		}
		s, err := eng.Open(ctx, o)
		if err != nil {
			fatal(err)
		}
		add(s, like)
	}
	open()
	for range steps {
		i := rnd.IntN(len(all))
		m := all[i]
		k, v := rnd.IntN(modelSlots), rnd.IntN(1000)
		op := []string{"set", "set", "set", "fail", "cut", "burn", "fork", "snapshot", "rollback", "reset", "open", "close"}[rnd.IntN(12)]
		if (op == "fork" || op == "snapshot" || op == "open") && len(all) >= 6 {
			op = "close"
		}
		story = append(story, fmt.Sprintf("%s %d of %d", op, i, len(all)))
		switch op {
		case "set", "fail", "cut", "burn":
			turn := engine.Turn{Code: change(k, v)}
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
			ran := m.s.Info().Turns
			if !res.RolledBack {
				m.now[k] = v
			}
			m.at[ran] = maps.Clone(m.now)
		case "fork":
			forks, err := m.s.Fork(ctx, 1+rnd.IntN(2))
			if err != nil {
				fatal(err)
			}
			for _, f := range forks {
				add(f, m)
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
			s, err := eng.Restore(ctx, read)
			if err != nil {
				fatal(err)
			}
			add(s, m)
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
			m.now = maps.Clone(want)
			maps.DeleteFunc(m.at, func(turn int, _ modelState) bool { return turn > to })
		case "reset":
			if err := m.s.Reset(ctx); err != nil {
				fatal(err)
			}
			m.now, m.at = modelState{}, map[int]modelState{m.s.Info().Turns: {}}
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
			res, err := m.s.Run(ctx, engine.Turn{Code: show})
			if err != nil {
				fatal(err)
			}
			m.at[m.s.Info().Turns] = maps.Clone(m.now)
			var got modelState
			if err := json.Unmarshal([]byte(res.Stdout), &got); err != nil || !maps.Equal(got, m.now) {
				t.Fatalf("seed %d: session %d holds %s (%v %v), want %v, after %q", seed, j, res.Stdout, res.Status, res.Error, m.now, story)
			}
		}
	}
}
