package engine_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// percentile sorts took.
func percentile(took []time.Duration, p float64) time.Duration {
	slices.Sort(took)
	return took[min(int(float64(len(took))*p), len(took)-1)]
}

// benchJob runs a job over and over, each in a fresh sandbox, and reports median and 99th percentile.
func benchJob(b *testing.B, j engine.Job) {
	for range 20 { // warm up: the pool, and the pages that this program touches
		ok(b, j)
	}
	var took []time.Duration
	var last *engine.Result
	for b.Loop() {
		begin := time.Now()
		last = ok(b, j)
		took = append(took, time.Since(begin))
	}
	b.ReportMetric(float64(percentile(took, 0.5).Nanoseconds())/1e3, "median-us")
	b.ReportMetric(float64(percentile(took, 0.99).Nanoseconds())/1e3, "p99-us")
	b.ReportMetric(float64(last.Usage.Fuel), "fuel/op")
	b.ReportMetric(float64(last.Usage.PrivateBytes)/1024, "private-KiB")
}

// BenchmarkTurn measures a turn of a session, with its checkpoint and state card.
func BenchmarkTurn(b *testing.B) {
	for _, language := range []string{engine.Python, engine.JavaScript} {
		b.Run(language, func(b *testing.B) {
			s, err := testEngine(b).Open(context.Background(), engine.Options{Language: language})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				res, err := s.Run(context.Background(), engine.Turn{Code: "x=2"})
				if err != nil || res.Status != engine.StatusOK {
					b.Fatal(res, err)
				}
				took = append(took, time.Since(begin))
			}
			b.ReportMetric(float64(percentile(took, 0.5).Nanoseconds())/1e3, "median-us")
			b.ReportMetric(float64(percentile(took, 0.99).Nanoseconds())/1e3, "p99-us")
		})
	}
}

func salesCSV(rows int) []byte {
	var s strings.Builder
	s.WriteString("day,region,units,price\n")
	for i := range rows {
		fmt.Fprintf(&s, "2026-%02d-%02d,%s,%d,%.2f\n", i%12+1, i%28+1, []string{"North", "South", "East", "West"}[i%4], i*7%50, float64(i%97)/3)
	}
	return []byte(s.String())
}

func BenchmarkFreshPython(b *testing.B) { benchJob(b, engine.Job{Code: "x=1"}) }

func BenchmarkFreshJavaScript(b *testing.B) {
	benchJob(b, engine.Job{Language: engine.JavaScript, Code: "x=1"})
}

// BenchmarkDescribe reads and describes a file; printing the answer as a table is measured apart, since that is as much work
// again.
func BenchmarkDescribe(b *testing.B) {
	for _, bb := range []struct{ name, code string }{
		{"describe", "table = pd.read_csv('sales.csv').describe()"},
		{"print", "print(pd.read_csv('sales.csv').describe())"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			benchJob(b, engine.Job{
				Code:  "import pandas as pd\n" + bb.code,
				Files: []engine.File{{Path: "sales.csv", Content: salesCSV(1000)}},
			})
		})
	}
}

func BenchmarkChart(b *testing.B) {
	benchJob(b, engine.Job{
		Code:  "import pandas as pd\npd.read_csv('sales.csv').groupby('region').units.sum().plot.bar()",
		Files: []engine.File{{Path: "sales.csv", Content: salesCSV(1000)}},
	})
}

// BenchmarkSustained runs fresh sandboxes one after the other on each processor, and reports how much the process has grown since
// the first thousand. What two processors give, and a million runs:
//
//	go test -run - -bench Sustained -cpu 1,2 -benchtime 1000000x ./engine
func BenchmarkSustained(b *testing.B) {
	for _, j := range []engine.Job{{Code: "x=2"}, {Language: engine.JavaScript, Code: "x=2"}} {
		name := j.Language
		if name == "" {
			name = engine.Python
		}
		b.Run(name, func(b *testing.B) {
			for range 1000 {
				ok(b, j)
			}
			before, e := resident(), testEngine(b)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) { // without b.Helper, which takes a lock
				for pb.Next() {
					if res, err := e.Run(context.Background(), j); err != nil || res.Status != engine.StatusOK {
						b.Error(res, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(resident()-before, "grown-MiB")
		})
	}
}

// resident is the process's resident memory in MiB, 0 where /proc does not tell.
func resident() float64 {
	var size, pages int
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &pages)
	}
	if err != nil {
		return 0
	}
	return float64(pages) * float64(os.Getpagesize()) / (1 << 20)
}

// collectorTime is the processor time, in seconds, that the garbage collector has taken.
func collectorTime() float64 {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// BenchmarkBusyNeighbours measures what a garbage collection of the host, and the start of one more run, cost
// while eight guests compute without pause. A fair share of what is left to one among nine on two processors is four and a half times
// the processor time that the same work takes alone: alone-cpu for a collection, which has both processors then, and alone for a start.
func BenchmarkBusyNeighbours(b *testing.B) {
	e, err := engine.New(engine.Config{MaxSandboxes: 16})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(context.Background())
	one := func() time.Duration {
		begin := time.Now()
		if _, err := e.Run(context.Background(), engine.Job{Code: "x=1"}); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	collect := func() time.Duration {
		begin := time.Now()
		runtime.GC()
		return time.Since(begin)
	}
	for range 5 {
		one()
	}
	const times = 20
	before := collectorTime()
	var lone []time.Duration
	for range times {
		lone = append(lone, collect())
	}
	aloneCPU := 1e3 * (collectorTime() - before) / times
	alone := map[string]time.Duration{"gc": percentile(lone, 0.5), "start": one()}
	done := make(chan error)
	var fuel atomic.Uint64
	for i := range 8 {
		code, language := "while True: pass", engine.Python
		if i%2 == 1 {
			code, language = "for (;;);", engine.JavaScript
		}
		go func() {
			res, err := e.Run(ctx, engine.Job{Language: language, Code: code, Limits: limits.Limits{Timeout: time.Hour, Fuel: 1e18}})
			if err == nil {
				fuel.Add(res.Usage.Fuel)
			}
			done <- err
		}()
	}
	begun := time.Now()
	time.Sleep(100 * time.Millisecond)
	took := map[string][]time.Duration{}
	for b.Loop() {
		took["gc"] = append(took["gc"], collect())
		took["start"] = append(took["start"], one())
	}
	cancel()
	for range 8 {
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
	b.ReportMetric(float64(fuel.Load())/time.Since(begun).Seconds()/1e9, "guests-Gfuel/s")
	b.ReportMetric(aloneCPU, "gc-alone-cpu-ms")
	for what, d := range took {
		b.ReportMetric(float64(alone[what].Microseconds())/1e3, what+"-alone-ms")
		b.ReportMetric(float64(percentile(d, 0.5).Microseconds())/1e3, what+"-median-ms")
		b.ReportMetric(float64(percentile(d, 0.99).Microseconds())/1e3, what+"-p99-ms")
	}
}
