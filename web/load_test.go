package web_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/web"
	"github.com/cloche-dev/cloche/web/webtest"
)

var programs = []struct{ name, body string }{
	{"python", `{"code":"print(6 * 7)"}`},
	{"javascript", `{"language":"javascript","code":"console.log(6 * 7)"}`},
}

// BenchmarkExecute measures fresh runs over HTTP with client and server in one process, for profiles. Figures of the
// server alone are those of BenchmarkServe in cmd/cloche.
func BenchmarkExecute(b *testing.B) {
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			l := loadOf(serve(b, logToFile(b)), p.body, 8)
			l.Run(b, 200)
			b.ReportAllocs()
			b.ResetTimer()
			l.Run(b, b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// TestLoad: many clients at once get their answers, and once what is kept for later questions has reached its bounds the
// server holds no more than before.
func TestLoad(t *testing.T) {
	const (
		filling = 10_500 // more than the audit keeps
		more    = 5_000
		leak    = 500 // bytes a run, at most
	)
	s := serve(t, func(c *web.Config) {
		c.KeepBytes, c.Logger = 1<<20, slog.New(slog.DiscardHandler)
	})
	python, javascript := loadOf(s, programs[0].body, 32), loadOf(s, programs[1].body, 32)
	python.Run(t, 500)
	javascript.Run(t, filling)
	before, goroutines := heap(), runtime.NumGoroutine()
	took := javascript.Run(t, more-500)
	took = append(took, python.Run(t, 500)...)
	if len(took) != more {
		t.Fatalf("%d answers of %d", len(took), more)
	}
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+8 })
	if after := heap(); after > before+more*leak {
		t.Errorf("the heap grew from %d to %d KiB in %d runs", before>>10, after>>10, more)
	}
}

// logToFile lets a server log as cloche serve does: a write for each record.
func logToFile(b *testing.B) func(*web.Config) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return func(c *web.Config) { c.Logger = slog.New(slog.NewJSONHandler(f, nil)) }
}

func loadOf(s *server, body string, clients int) webtest.Load {
	return webtest.Load{Addr: strings.TrimPrefix(s.url, "http://"), Key: s.key, Body: body, Clients: clients}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
