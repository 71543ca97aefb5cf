package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web/webtest"
)

// served is a process that runs cloche serve, as an operator starts it: with the second wall, logging into a file.
type served struct {
	tb   testing.TB
	cmd  *exec.Cmd
	addr string
	log  string // name of the file
}

const serveKey = "a-key-of-the-test-0123456789-0123456789"

func serveProcess(tb testing.TB, args ...string) *served {
	tb.Helper()
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	s := &served{tb: tb, log: filepath.Join(tb.TempDir(), "log")}
	log, err := os.Create(s.log)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command("cloche", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Env = append(os.Environ(), runtimes.CacheEnv+"="+dir, "CLOCHE_KEY="+serveKey)
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = s.cmd.Process.Kill() // where the test did not end it
		_ = s.cmd.Wait()
	})
	const says = "cloche: listening on http://"
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), says); ok {
			s.addr = addr
			return s
		}
	}
	b, _ := os.ReadFile(s.log)
	tb.Fatalf("cloche serve ended before it listened: %s", b)
	return nil
}

// stop ends the server in order.
func (s *served) stop() {
	s.tb.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.tb.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.tb.Error(err)
	}
}

// load is a Load of programs in a language, which ask for little.
func (s *served) load(language string, clients int) webtest.Load {
	code := map[string]string{"python": "print(6 * 7)", "javascript": "console.log(6 * 7)"}[language]
	return webtest.Load{Addr: s.addr, Key: serveKey, Clients: clients, Body: fmt.Sprintf(`{"language":%q,"code":%q}`, language, code)}
}

// cpu is the time that the server has computed so far, in steps of 10 ms.
func (s *served) cpu() time.Duration {
	s.tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	var ticks int
	for _, field := range strings.Fields(rest)[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		if err != nil {
			s.tb.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// resident is the memory of the server's own, in bytes: interpreters' images and machine code are files, and not counted.
func (s *served) resident() int64 {
	s.tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "RssAnon:")
	line, _, _ := strings.Cut(rest, " kB")
	kb, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		s.tb.Fatal(err)
	}
	return kb << 10
}

// BenchmarkServe measures fresh runs over HTTP against cloche serve, the client on the same machine: as many as there can
// be, and the times of answers at half of what the project asks for.
func BenchmarkServe(b *testing.B) {
	for _, c := range []struct {
		name, language string
		rate           float64 // requests a second
	}{
		{"python", "python", 0},
		{"javascript", "javascript", 0},
		{"python-half", "python", 1250},
		{"javascript-half", "javascript", 4000},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := serveProcess(b)
			l := s.load(c.language, 16)
			l.Run(b, 500)
			l.Rate = c.rate
			before, memory := s.cpu(), s.resident()
			b.ResetTimer()
			took := l.Run(b, b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64((s.cpu()-before).Microseconds())/float64(b.N), "server-cpu-us/op")
			b.ReportMetric(float64(s.resident()-memory)/(1<<20), "grown-MiB")
			b.ReportMetric(float64(webtest.Percentile(took, 0.5).Microseconds()), "p50-us")
			b.ReportMetric(float64(webtest.Percentile(took, 0.99).Microseconds()), "p99-us")
			s.stop()
		})
	}
}

// TestServeTerminated: kill -TERM under load ends the server in good time, and each program that ran to its end has its
// answer delivered whole.
func TestServeTerminated(t *testing.T) {
	const clients = 16
	s := serveProcess(t)
	l := s.load("javascript", clients)
	var answers atomic.Int64
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			c, err := l.Dial()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for ; err == nil; err = c.Execute() {
				answers.Add(1)
			}
			answers.Add(-1) // for the start of the loop
			if !errors.Is(err, webtest.ErrNoAnswer) && !strings.HasPrefix(err.Error(), "HTTP/1.1 503 ") {
				t.Error(err)
			}
		})
	}
	s.eventually("the server is under load", func() bool { return answers.Load() > 10*clients })
	begin := time.Now()
	s.stop()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v to end", took)
	}
	group.Wait()
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	if ran := bytes.Count(log, []byte(`"msg":"run"`)); int64(ran) != answers.Load() || ran < clients {
		t.Errorf("%d programs ran, and %d answers came", ran, answers.Load())
	}
}

// TestServeProfile: behind the wall, too, a profile says where the time of the server goes.
func TestServeProfile(t *testing.T) {
	config := filepath.Join(t.TempDir(), "cloche.toml")
	if err := os.WriteFile(config, []byte("[server]\npprof = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveProcess(t, "--config", config)
	defer s.stop()
	var body []byte
	var group sync.WaitGroup
	group.Go(func() {
		r, err := http.NewRequest("GET", "http://"+s.addr+"/debug/pprof/profile?seconds=1", nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+serveKey)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Error(res.Status, err)
			return
		}
		if body, err = io.ReadAll(z); err != nil {
			t.Error(err)
		}
	})
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for l := s.load("javascript", 2); ; {
		l.Run(t, 50)
		select {
		case <-done:
			if function := "net/http.(*conn).serve"; !bytes.Contains(body, []byte(function)) {
				t.Errorf("the profile, of %d bytes, has no %s", len(body), function)
			}
			return
		default:
		}
	}
}
