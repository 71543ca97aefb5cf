package js_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
	"github.com/cloche-dev/cloche/wasi"
)

// FuzzTornHeap: a program that owns its interpreter's memory writes into it what it likes. What the host reads there afterwards
// (the state card, results, promises that it gives out again, the objects of an autopsy) is nonsense, and costs the program its run
// at most: no fault of the host's, and no more time than any other program has.
func FuzzTornHeap(f *testing.F) {
	for seed := range uint64(24) {
		f.Add(seed, uint16(1<<(seed%11)))
	}
	f.Fuzz(func(t *testing.T, seed uint64, words uint16) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := newSandbox(t)
		s.torn = true
		s.session = true
		calls := hostfuncs.NewCalls(t.Context(), func(ctx context.Context, done <-chan struct{}, _ time.Duration) (bool, error) {
			select {
			case <-done:
				return true, nil
			case <-time.After(time.Second):
				return false, nil
			}
		})
		defer calls.Close()
		tools := &hostfuncs.Tools{Registry: &hostfuncs.Registry{}, Calls: calls}
		err := hostfuncs.Register(tools.Registry, "add", func(_ context.Context, in struct{ A, B int }) (map[string]any, error) {
			return map[string]any{"sum": in.A + in.B, "list": []int{1, 2, 3}, "text": "ü"}, nil
		}, hostfuncs.Quick())
		if err != nil {
			t.Fatal(err)
		}
		d := &hostfuncs.Door{Handlers: calls.Handlers(), MaxCalls: 1000}
		maps.Copy(d.Handlers, tools.Handlers())
		s.door = d.Serve
		offer := func(t *runtimes.Turn) { t.Tools = true }
		const source = `
			var o = { a: 1, self: null, f() {}, get g() { return 1 }, s: "x".repeat(300) + 1, d: new Date(), m: new Map([[1, { }]]), set: new Set([1n << 70n]), r: /a/g };
			o.self = o; var list = [1, "two", [3], new Float64Array(9), Symbol("s"), new Proxy({}, {}), null, undefined, -0, class A {}, new Error("e")];
			var rope = ""; for (let i = 0; i < 300; i++) rope += i; let lexical = 5; const fn = async () => {};
			const fs = require("fs"); fs.writeFileSync("t.txt", rope); fs.readFileSync("t.txt", "utf8");
			const got = [await tools.add({ A: 1, B: 2 }), await tools.add({ A: 3, B: 4 })];
			got`
		for range 2 {
			s.ok(source, offer)
		}
		s.timeout = 300 * time.Millisecond
		mem := s.inst.Memory()
		at := func() uint32 { return uint32(r.IntN(int(mem.Size())-8)) &^ 3 }
		tear := func() {
			b := make([]byte, 8)
			switch r.IntN(5) {
			case 0:
				binary.LittleEndian.PutUint64(b, r.Uint64())
			case 1:
				binary.LittleEndian.PutUint64(b, uint64(at())|0xffffffff<<32) // an object somewhere
			case 2:
				binary.LittleEndian.PutUint64(b, uint64(r.Uint32N(70000)))
			case 3:
				binary.LittleEndian.PutUint64(b, ^uint64(0)>>r.IntN(64))
			case 4: // what is elsewhere
				o, _ := mem.Read(at(), 8)
				copy(b, o)
			}
			to := at()
			if p, ok := mem.ReadUint32(to); ok && p > 1<<16 && p < mem.Size()-64 { // mostly in what something points to
				to = p&^3 + 4*r.Uint32N(10)
			}
			mem.Write(to, b[:4<<r.IntN(2)])
		}
		for _, source := range []string{"await tools.add({ A: 5, B: 6 })", "list[8]", "o; throw new Error(rope)", "x = "} {
			for range 1 + int(words) {
				tear()
			}
			begin := time.Now()
			res := s.turn(source, offer)
			if took := time.Since(begin); took > 10*time.Second { // the hard end comes after five
				t.Errorf("%q took %v", source, took)
			}
			checkTorn(t, res.err)
			if res.err != nil {
				break
			}
		}
		state, err := wasi.New(wasi.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		ctx, stop := context.WithTimeout(wasi.WithState(context.Background(), state), 300*time.Millisecond)
		defer stop()
		meter := vm.Meter{Budget: 1 << 30, Check: func(ctx context.Context, _ vm.Guest) error { return ctx.Err() }}
		begin := time.Now()
		var parts []json.RawMessage
		checkTorn(t, s.inst.Run(js.WithEnv(ctx, &s.env), &meter, func(ctx context.Context) (err error) {
			parts, err = s.baked.Driver.Autopsy(ctx, s.inst, s.baked.Info)
			return err
		}))
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("an autopsy took %v", took)
		}
		for _, p := range parts {
			if len(p) > 1<<20 {
				t.Errorf("an autopsy has a part of %d bytes", len(p))
			}
		}
	})
}

// checkTorn fails when the run ended with a fault of ours.
func checkTorn(t *testing.T, err error) {
	t.Helper()
	if trap, ok := errors.AsType[*vm.Trap](err); ok && trap.Fault != "" {
		t.Errorf("a fault of the host's: %s\n%s", trap.Fault, trap.Reason)
	}
}
