package js_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/js"
	"github.com/cloche-dev/cloche/wasi"
)

// BenchmarkFresh is a turn in an instance that was reset before, as the engine runs a job. p50-us is the turn alone, ns/op
// has the reset too.
func BenchmarkFresh(b *testing.B) {
	for _, c := range []struct{ name, source string }{
		{"assign", "x=1"},
		{"log", `console.log("hello")`},
		{"object", `({a: [1, 2, 3], b: "text"})`},
		{"await", `await Promise.resolve(1)`},
		{"timer", `setTimeout(() => {}, 0)`},
		{"import", `import { join } from "node:path"; join("a", "b")`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSandbox(b)
			state, err := wasi.New(wasi.Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer state.Close()
			ctx := js.WithEnv(wasi.WithState(context.Background(), state), &js.Env{Files: s.files})
			turn := benchTurn(c.source)
			var pages float64
			var took []time.Duration
			for b.Loop() {
				meter := vm.Meter{Budget: math.MaxInt64}
				start := time.Now()
				err := s.inst.Run(ctx, &meter, func(ctx context.Context) error {
					out, err := s.baked.Driver.Turn(ctx, s.inst, s.baked.Info, turn)
					if out.Error != nil {
						b.Fatal(out.Error)
					}
					return err
				})
				took = append(took, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				st, err := s.inst.Reset()
				if err != nil {
					b.Fatal(err)
				}
				pages += float64(st.PrivateBytes) / 4096
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-us")
			b.ReportMetric(pages/float64(b.N), "pages/op")
		})
	}
}

func benchTurn(source string) *runtimes.Turn {
	seed := uint64(1)
	return &runtimes.Turn{
		Source: source, Name: "main.js", First: true, Seed: &seed,
		Door: func(context.Context, []byte) ([]byte, error) { return []byte{0}, nil },
	}
}

// BenchmarkTurn is a turn of a session that has a few names, without what the engine does around it.
func BenchmarkTurn(b *testing.B) {
	for _, c := range []struct{ name, source string }{
		{"same", "x=2"},
		{"changed", "x=Math.random()"},
		{"const", "const x = 2"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSandbox(b)
			s.session = true
			s.turn("let a = [1, 2, 3], o = {k: 1}, text = 'text'; class A {}; const m = new Map(), f = () => 1")
			ctx := js.WithEnv(context.Background(), &js.Env{Files: s.files})
			turn := benchTurn(c.source)
			turn.First, turn.Session = false, true
			meter := vm.Meter{Budget: math.MaxInt64}
			for b.Loop() {
				if err := s.inst.Run(ctx, &meter, func(ctx context.Context) error {
					_, err := s.baked.Driver.Turn(ctx, s.inst, s.baked.Info, turn)
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(meter.Used())/float64(b.N), "fuel/op")
		})
	}
}
