package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
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

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web"
)

var (
	soakTime = flag.Duration("soak", 20*time.Second, "how long TestSoak goes on; make soak says 1h")
	soakRest = flag.Float64("soak-rest", 0, "how long TestSoak's clients rest after what they asked, as a multiple of the time that it took: for a machine with other work to do")
)

// soak is a server under mixed load to which bad things happen.
type soak struct {
	t       *testing.T
	args    []string
	env     []string
	store   string
	limited bool // the store is a file system of its own, which can be filled

	// mu guards srv, which changes when the process is killed. A request is made with whichever there is.
	mu  sync.Mutex
	srv *server

	faulty atomic.Bool // something bad happens, or did a moment ago: requests may fail
	acked  atomic.Int64
	failed atomic.Int64
	counts sync.Map // of what happened, for the report
}

// TestSoak lets a server work on mixed load while processes are killed and stopped, its disk is full, clients are slow and
// programs take all they may. Nothing that was acknowledged is lost, nothing is left over, nothing gets stuck. Half of
// the time the server has a process for each key, half of it one for all.
func TestSoak(t *testing.T) {
	for _, c := range []struct{ name, config string }{
		{"one process", ""},
		{"workers", "[workers]\nper = \"key\"\npatience = \"20s\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) { newSoak(t, c.config).run(*soakTime / 2) })
	}
}

func newSoak(t *testing.T, config string) *soak {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	needsSetup(t, dir, engine.Python)
	needsSetup(t, dir, engine.JavaScript)
	s := &soak{t: t, store: filepath.Join(t.TempDir(), "disk"), env: []string{runtimes.CacheEnv + "=" + dir}}
	if err := os.Mkdir(s.store, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", s.store, "tmpfs", 0, "size=256m,mode=0700"); err == nil {
		s.limited = true
		t.Cleanup(func() {
			if err := syscall.Unmount(s.store, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	} else {
		t.Logf("no file system can be mounted here, so that the disk does not get full: %v", err)
	}
	addr := freeAddr(t) // which stays the same when the process does not
	file := filepath.Join(t.TempDir(), "cloche.toml")
	text := fmt.Sprintf("store = %q\n[server]\nidle_timeout = \"30m\"\nmax_sessions = 1000\nkeep_results = \"1s\"\n%s"+
		"[policies.default.max]\nmemory = \"1GiB\"\n[keys.ann]\nhash = %q\nadmin = true\n[keys.bob]\nhash = %q\n",
		filepath.Join(s.store, "store"), config, web.HashKey(ann), web.HashKey(bob))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{"cloche", "serve", "--listen", addr, "--config", file}
	s.start()
	return s
}

// start starts the server. Where it is allowed, its clocks that count from the machine's start begin somewhere else each time.
func (s *soak) start() {
	args := s.args
	if jump := strconv.Itoa(1 + rand.IntN(1_000_000)); exec.Command("unshare", "-T", "--monotonic", jump, "--boottime", jump, "true").Run() == nil {
		args = append([]string{"unshare", "-T", "--monotonic", jump, "--boottime", jump}, args...)
		s.count("clocks that begin elsewhere")
	}
	srv := startProcess(s.t, exec.Command(args[0], args[1:]...), s.env...)
	srv.key = ann
	s.mu.Lock()
	defer s.mu.Unlock()
	s.srv = srv
}

func (s *soak) server() *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv
}

func (s *soak) count(what string) {
	n, _ := s.counts.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// run is the whole soak.
func (s *soak) run(long time.Duration) {
	warm := time.Now()
	for _, client := range clients {
		for range 2 {
			client(s, ann)
		}
	}
	s.quiet()
	before := s.held()
	s.t.Logf("after a warm-up of %v it holds %v", time.Since(warm).Round(time.Millisecond), before)

	over := make(chan struct{})
	var load sync.WaitGroup
	sessions := make([]*counted, 0, 6)
	for i := range cap(sessions) {
		sessions = append(sessions, &counted{s: s, key: []string{ann, bob}[i%2], language: []string{engine.JavaScript, engine.JavaScript, engine.Python}[i%3]})
	}
	loop := func(f func()) {
		load.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					begun := time.Now()
					f()
					s.rest(time.Since(begun), over)
				}
			}
		})
	}
	for i, c := range clients {
		loop(func() { c(s, []string{ann, bob}[(i+rand.IntN(2))%2]) })
	}
	for _, c := range sessions {
		loop(c.turn)
	}
	end := time.Now().Add(long)
	s.misfortunes(time.Now().Add(long * 2 / 3)) // and then a time without any
	for time.Now().Before(end) {
		time.Sleep(min(time.Minute, time.Until(end)))
		s.t.Logf("%d requests were acknowledged, %d failed; it holds %v", s.acked.Load(), s.failed.Load(), s.held())
	}
	close(over)
	load.Wait()
	for _, c := range sessions {
		c.check()
	}
	s.sweep(ann)
	s.sweep(bob)
	s.quiet()
	s.noMoreThan(before)
	s.counts.Range(func(what, n any) bool {
		s.t.Logf("%6d %s", n.(*atomic.Int64).Load(), what)
		return true
	})
	if s.acked.Load() == 0 {
		s.t.Error("nothing was acknowledged")
	}
	s.server().stop(s.t)
}

// rest waits after work that took so long, or until the load is over.
func (s *soak) rest(took time.Duration, over <-chan struct{}) {
	select {
	case <-over:
	case <-time.After(time.Duration(float64(took) * *soakRest)):
	}
}

// request sends a request that must be answered within a minute, and well unless something bad happens. It is false when
// it was not acknowledged.
func (s *soak) request(key, method, path string, body any, want int) ([]byte, bool) {
	begun := time.Now()
	trouble := s.faulty.Load()
	status, b, err := s.server().sendAs(key, method, path, body)
	if took := time.Since(begun); took > time.Minute {
		s.t.Errorf("%s %s took %v", method, path, took)
	}
	if err == nil && status == want {
		s.acked.Add(1)
		return b, true
	}
	s.failed.Add(1)
	s.count(fmt.Sprintf("answers %d", status))
	if !trouble && !s.faulty.Load() {
		s.t.Errorf("%s %s: %d %.300s %v, and nothing bad happens", method, path, status, b, err)
	}
	time.Sleep(50 * time.Millisecond)
	return b, false
}

// clients are what is asked of the server, beside the sessions that count.
var clients = []func(s *soak, key string){
	// Short programs.
	func(s *soak, key string) {
		n := rand.IntN(1000)
		for language, code := range map[string]string{engine.JavaScript: "console.log(%d * 2)", engine.Python: "print(%d * 2)"} {
			if b, ok := s.request(key, "POST", "/v1/execute", map[string]any{"language": language, "code": fmt.Sprintf(code, n)}, http.StatusOK); ok {
				if r := decode[result](s.t, b); r.Stdout != fmt.Sprintln(n*2) {
					s.t.Errorf("%s: %s", language, b)
				}
			}
		}
	},
	// Programs that take all they may.
	func(s *soak, key string) {
		for code, want := range map[string]string{
			"a = []\nwhile True: a.append(bytearray(10 << 20))": "error", // MemoryError
			"while True: pass": "timeout",
			"f = open('f', 'wb')\nwhile True: f.write(bytes(1 << 20))": "error", // OSError
			"def f(): f()\nf()": "error",
		} {
			limits := map[string]any{"timeout_ms": 3000, "memory_bytes": 768 << 20}
			if want == "timeout" {
				limits["timeout_ms"] = 100
			}
			if b, ok := s.request(key, "POST", "/v1/execute", map[string]any{"code": code, "limits": limits}, http.StatusOK); ok {
				if r := decode[result](s.t, b); r.Status != want && r.Status != "timeout" && r.Status != "out_of_memory" {
					s.t.Errorf("%q ended with %s", code, b)
				}
			}
		}
	},
	// Files, snapshots and forks of a session that is then deleted.
	func(s *soak, key string) {
		b, ok := s.request(key, "POST", "/v1/sessions", map[string]any{"language": engine.JavaScript}, http.StatusCreated)
		if !ok {
			return
		}
		path := "/v1/sessions/" + decode[struct{ ID string }](s.t, b).ID
		defer s.remove(key, path)
		content := bytes.Repeat([]byte(strconv.Itoa(rand.Int())), 1000)
		if _, ok := s.request(key, "PUT", path+"/files/f", content, http.StatusOK); !ok {
			return
		}
		if b, ok := s.request(key, "GET", path+"/files/f", nil, http.StatusOK); ok && !bytes.Equal(b, content) {
			s.t.Error("a file that was put is another one")
		}
		if b, ok := s.request(key, "POST", path+"/fork", map[string]any{"count": 2}, http.StatusCreated); ok {
			for _, f := range decode[web.SessionList](s.t, b).Sessions {
				s.remove(key, "/v1/sessions/"+f.ID)
			}
		}
		if b, ok := s.request(key, "POST", path+"/snapshots", nil, http.StatusCreated); ok {
			s.remove(key, "/v1/snapshots/"+decode[web.SnapshotInfo](s.t, b).ID)
		}
	},
	// Clients that read a stream slowly and leave, or send half of a request.
	func(s *soak, key string) {
		srv := s.server()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", srv.url+"/v1/execute", strings.NewReader(`{"language": "javascript", "code": "for (;;) console.log('x'.repeat(1000))"}`))
		if err != nil {
			s.t.Error(err)
			return
		}
		r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
		if res, err := http.DefaultClient.Do(r); err == nil {
			for b := make([]byte, 100); err == nil; time.Sleep(20 * time.Millisecond) {
				_, err = res.Body.Read(b)
			}
			res.Body.Close()
			s.count("slow readers")
		}
		if conn, err := net.Dial("tcp", strings.TrimPrefix(srv.url, "http://")); err == nil {
			fmt.Fprintf(conn, "POST /v1/execute HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", strings.TrimPrefix(srv.url, "http://"), key)
			time.Sleep(time.Second)
			conn.Close()
			s.count("halves of a request")
		}
	},
}

// remove deletes a session or a snapshot, however often that takes.
func (s *soak) remove(key, path string) {
	for range 600 {
		status, _, err := s.server().sendAs(key, "DELETE", path, nil)
		if err == nil && (status == http.StatusNoContent || status == http.StatusNotFound || status == http.StatusGone) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Errorf("%s cannot be deleted", path)
}

// sweep deletes all that a key has: its clients do not know of what was made for a request whose answer got lost.
func (s *soak) sweep(key string) {
	if b, ok := s.request(key, "GET", "/v1/sessions", nil, http.StatusOK); ok {
		for _, i := range decode[web.SessionList](s.t, b).Sessions {
			s.remove(key, "/v1/sessions/"+i.ID)
		}
	}
	if b, ok := s.request(key, "GET", "/v1/snapshots", nil, http.StatusOK); ok {
		for _, i := range decode[web.SnapshotList](s.t, b).Snapshots {
			s.remove(key, "/v1/snapshots/"+i.ID)
		}
	}
}

// counted is a session whose every turn counts on. What it counts to lies from the last number that was acknowledged to
// that plus the turns since then, which may have been done or not.
type counted struct {
	s             *soak
	key, language string
	path          string
	low, high     int
}

func (c *counted) turn() {
	if c.path == "" {
		b, ok := c.s.request(c.key, "POST", "/v1/sessions", map[string]any{"language": c.language}, http.StatusCreated)
		if !ok {
			return
		}
		c.path, c.low, c.high = "/v1/sessions/"+decode[struct{ ID string }](c.s.t, b).ID, 0, 0
	}
	code := "globalThis.n = (globalThis.n ?? 0) + 1; console.log(n)"
	if c.language == engine.Python {
		code = "n = globals().get('n', 0) + 1\nprint(n)"
	}
	c.high++
	b, ok := c.s.request(c.key, "POST", c.path+"/execute", map[string]any{"code": code}, http.StatusOK)
	if !ok {
		return
	}
	c.heard(b)
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
}

func (c *counted) heard(b []byte) {
	n, err := strconv.Atoi(strings.TrimSpace(decode[result](c.s.t, b).Stdout))
	if err != nil || n < c.low+1 || n > c.high {
		c.s.t.Errorf("%s %s counted to %d at the most after %d: %s", c.language, c.path, c.high, c.low, b)
	}
	c.low, c.high = n, n
	c.s.count("turns of sessions")
}

// check takes one more turn, now that nothing bad happens.
func (c *counted) check() {
	c.turn()
	if c.low == 0 {
		c.s.t.Errorf("%s has no turn that was acknowledged", c.path)
	}
}

// misfortunes has bad things happen until then.
func (s *soak) misfortunes(until time.Time) {
	bad := []func(){s.killServer, s.killWorker, s.stopProcess}
	if s.limited {
		bad = append(bad, s.fillDisk)
	}
	for i := 0; time.Now().Before(until); i++ {
		pause := time.Duration(rand.Int64N(int64(2 * time.Second)))
		time.Sleep(pause)
		s.rest(pause, nil)
		s.faulty.Store(true)
		bad[i%len(bad)]()
		// Until all that was asked meanwhile was answered, and nobody has to wait for a new process any longer.
		time.Sleep(3 * time.Second)
		for _, key := range []string{ann, bob} {
			eventually(s.t, "programs run again", func() bool {
				status, _, err := s.server().sendAs(key, "POST", "/v1/execute", map[string]any{"language": engine.JavaScript, "code": "1"})
				return err == nil && status == http.StatusOK
			})
		}
		s.faulty.Store(false)
	}
}

func (s *soak) killServer() {
	s.count("servers killed")
	srv := s.server()
	rest := append(srv.workersIfAny(), srv.spawnerIfAny()...)
	srv.kill()
	for _, pid := range rest { // they end by themselves, and free the store
		eventually(s.t, "the processes of a dead server have ended", func() bool { return syscall.Kill(pid, 0) != nil })
	}
	s.start()
}

func (s *soak) killWorker() {
	if w := s.server().workersIfAny(); len(w) > 0 {
		s.count("workers killed")
		_ = syscall.Kill(w[rand.IntN(len(w))], syscall.SIGKILL)
	}
}

// stopProcess holds a process for a second, for which the clock jumps.
func (s *soak) stopProcess() {
	s.count("processes held")
	srv := s.server()
	all := append(srv.workersIfAny(), srv.pid())
	pid := all[rand.IntN(len(all))]
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	time.Sleep(time.Second)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// fillDisk leaves no room in the store for a while.
func (s *soak) fillDisk() {
	s.count("full disks")
	name := filepath.Join(s.store, "fill")
	f, err := os.Create(name)
	if err != nil {
		s.t.Error(err)
		return
	}
	for b := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(b)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		s.t.Error(err)
	}
	time.Sleep(time.Second)
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		s.t.Error(err)
	}
}

// pid is the process of the server itself, which unshare may have become.
func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) spawnerIfAny() []int { return children(s.pid()) }

func (s *server) workersIfAny() (list []int) {
	for _, pid := range s.spawnerIfAny() {
		list = append(list, children(pid)...)
	}
	return list
}

// quiet waits until the server has nothing to do.
func (s *soak) quiet() {
	s.t.Helper()
	var text []byte
	for range 600 {
		_, text, _ = s.server().send("GET", "/metrics", nil)
		if metric(text, "cloche_running") == 0 && metric(text, "cloche_waiting") == 0 && metric(text, "cloche_sessions") == 0 {
			time.Sleep(3 * time.Second) // for instances that are given back, and connections that are closed
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("it does not become quiet: %d programs run, %d wait, %d sessions live", metric(text, "cloche_running"), metric(text, "cloche_waiting"), metric(text, "cloche_sessions"))
}

func metric(text []byte, name string) int {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			v, _ := strconv.ParseFloat(string(bytes.TrimSpace(rest)), 64)
			return int(v)
		}
	}
	return -1
}

// holding is what processes and the store hold.
type holding struct {
	processes, descriptors, mappings, threads, goroutines, files int
	memory                                                       uint64 // anonymous, in bytes
}

func (h holding) String() string {
	return fmt.Sprintf("%d processes, %d descriptors, %d mappings, %d threads, %d goroutines, %d files, %s",
		h.processes, h.descriptors, h.mappings, h.threads, h.goroutines, h.files, limits.ApproxSize(h.memory))
}

func (s *soak) held() (h holding) {
	srv := s.server()
	for _, pid := range append(append(srv.workersIfAny(), srv.spawnerIfAny()...), srv.pid()) {
		dir := fmt.Sprintf("/proc/%d/", pid)
		entries := func(name string) int { l, _ := os.ReadDir(dir + name); return len(l) }
		h.processes++
		h.descriptors += entries("fd")
		h.threads += entries("task")
		maps, _ := os.ReadFile(dir + "maps")
		h.mappings += bytes.Count(maps, []byte("\n"))
		status, _ := os.ReadFile(dir + "status")
		if _, rest, ok := bytes.Cut(status, []byte("RssAnon:")); ok {
			var kib uint64
			_, _ = fmt.Sscan(string(rest), &kib)
			h.memory += kib << 10
		}
	}
	_, text, _ := srv.send("GET", "/metrics", nil)
	h.goroutines = metric(text, "go_goroutines")
	_ = filepath.WalkDir(s.store, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			h.files++
		}
		return nil
	})
	return h
}

// noMoreThan checks that nothing was left over, which may take a moment to show.
func (s *soak) noMoreThan(before holding) {
	s.t.Helper()
	// A process that has worked harder than at its warm-up has more threads, warm instances, pages of its heap, and
	// connections that it keeps for a minute. What leaks would be thousands.
	const more = 200
	var now holding
	for range 40 {
		now = s.held()
		n := now.processes
		if now.descriptors <= before.descriptors+more*n && now.mappings <= before.mappings+more*n && now.threads <= before.threads+50*n &&
			now.goroutines <= before.goroutines+more && now.files <= before.files+2 && now.memory <= before.memory*uint64(n)+uint64(n)<<30 {
			s.t.Logf("at the end it holds %v", now)
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	s.t.Errorf("it holds %v, and held %v after its warm-up", now, before)
}
