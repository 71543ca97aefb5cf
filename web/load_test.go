package web_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load sends programs from several clients at once, each over its own connection, and says how long each took.
type load struct {
	s       *server
	body    []byte
	clients int
	// pause is between the requests of one client. Zero: as fast as it goes.
	pause time.Duration
}

func (l load) run(tb testing.TB, total int) []time.Duration {
	var left atomic.Int64
	left.Store(int64(total))
	var mu sync.Mutex
	var all []time.Duration
	var group sync.WaitGroup
	for range l.clients {
		group.Go(func() {
			transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			var took []time.Duration
			for left.Add(-1) >= 0 {
				begin := time.Now()
				if err := l.one(client); err != nil {
					tb.Error(err)
					break
				}
				took = append(took, time.Since(begin))
				time.Sleep(l.pause)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	group.Wait()
	slices.Sort(all)
	return all
}

func (l load) one(c *http.Client) error {
	r, err := http.NewRequest("POST", l.s.url+"/v1/execute", bytes.NewReader(l.body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+l.s.key)
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != 200 || !bytes.Contains(b, []byte(`"status":"ok"`)) {
		return fmt.Errorf("status %d: %s", res.StatusCode, b)
	}
	return nil
}

func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

var programs = []struct{ name, body string }{
	{"python", `{"code":"print(6 * 7)"}`},
	{"javascript", `{"language":"javascript","code":"console.log(6 * 7)"}`},
}

// BenchmarkExecute measures fresh runs over HTTP, client and server on the same machine.
func BenchmarkExecute(b *testing.B) {
	for _, p := range []struct {
		name, body string
		clients    int
		pause      time.Duration
	}{
		{"python", programs[0].body, 8, 0},
		{"javascript", programs[1].body, 8, 0},
		{"python-half", programs[0].body, 16, 12 * time.Millisecond}, // about half of what it can do, evenly
	} {
		b.Run(p.name, func(b *testing.B) {
			l := load{s: serve(b, nil), body: []byte(p.body), clients: p.clients, pause: p.pause}
			l.run(b, 200)
			b.ResetTimer()
			took := l.run(b, b.N)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(percentile(took, 0.5).Microseconds()), "p50-us")
			b.ReportMetric(float64(percentile(took, 0.99).Microseconds()), "p99-us")
		})
	}
}

// TestLoad: many clients at once get their answers, and afterwards the server holds no more than before.
func TestLoad(t *testing.T) {
	for _, p := range programs {
		l := load{s: serve(t, nil), body: []byte(p.body), clients: 32}
		l.run(t, 300)
		before, goroutines := heap(), runtime.NumGoroutine()
		took := l.run(t, 1500)
		if len(took) != 1500 {
			t.Fatalf("%s: %d answers", p.name, len(took))
		}
		t.Logf("%s: p50 %v, p99 %v", p.name, percentile(took, 0.5), percentile(took, 0.99))
		eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+8 })
		// What is kept for later questions is bounded by KeepBytes.
		if after := heap(); after > before+80<<20 {
			t.Errorf("%s: the heap grew from %d to %d MiB", p.name, before>>20, after>>20)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
