package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web"
)

// The keys of a server with workers.
const (
	ann = "key-of-ann-0123456789-0123456789-0123456789"
	bob = "key-of-bob-0123456789-0123456789-0123456789"
)

// startWorkers starts a server with a worker for each key, and a store. The settings are those of [workers].
func startWorkers(t testing.TB, settings string) *server {
	t.Helper()
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{engine.Python, engine.JavaScript} {
		needsSetup(t, dir, language)
	}
	config := filepath.Join(t.TempDir(), "cloche.toml")
	text := fmt.Sprintf("store = %q\n[server]\ngrace = \"10s\"\n[workers]\nper = \"key\"\n%s\n[keys.ann]\nhash = %q\nadmin = true\n[keys.bob]\nhash = %q\n",
		filepath.Join(t.TempDir(), "store"), settings, web.HashKey(ann), web.HashKey(bob))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startProcess(t, exec.Command("cloche", "serve", "--listen", "127.0.0.1:0", "--config", config), runtimes.CacheEnv+"="+dir)
	s.key = ann
	return s
}

// children are the processes that a process has started.
func children(pid int) []int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well formed
	var out []int
	for _, list := range lists {
		b, _ := os.ReadFile(list) // of a thread that has ended
		for text := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(text); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// workers are the processes of the workers, and spawner is the process that starts them.
func (s *server) workers(t testing.TB) []int { return children(s.spawner(t)) }

func (s *server) spawner(t testing.TB) int {
	t.Helper()
	if c := children(s.cmd.Process.Pid); len(c) == 1 {
		return c[0]
	}
	t.Fatal("the server has not one process that starts workers")
	return 0
}

// workerOf starts the worker of a key, which had none, by a request, and returns its process.
func (s *server) workerOf(t testing.TB, key string) int {
	t.Helper()
	before := s.workers(t)
	s.executeAs(t, key, engine.JavaScript, "1")
	for _, pid := range s.workers(t) {
		if !slices.Contains(before, pid) {
			return pid
		}
	}
	t.Fatal("no worker was started")
	return 0
}

// openSession opens a session and runs a turn in it.
func (s *server) openSession(t testing.TB, key, language, code string) (id string) {
	t.Helper()
	status, b, err := s.sendAs(key, "POST", "/v1/sessions", map[string]any{"language": language})
	if err != nil || status != http.StatusCreated {
		t.Fatalf("open session: %d %s %v\n%s", status, b, err, s.log)
	}
	id = decode[struct{ ID string }](t, b).ID
	s.turn(t, key, id, code)
	return id
}

// turn runs a turn of a session, which must end well, and returns what it printed.
func (s *server) turn(t testing.TB, key, id, code string) string {
	t.Helper()
	status, b, err := s.sendAs(key, "POST", "/v1/sessions/"+id+"/execute", map[string]any{"code": code})
	if err != nil || status != http.StatusOK {
		t.Fatalf("turn: %d %s %v\n%s", status, b, err, s.log)
	}
	r := decode[result](t, b)
	if r.Status != "ok" {
		t.Fatalf("turn: %s", b)
	}
	return r.Stdout
}

// eventually waits until what is said to be true is.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("it did not come to be that %s", what)
}

const loop = "for (;;) {}"

// TestWorkersApart: what one key does is neither in the answers that another gets nor in the memory of its process.
func TestWorkersApart(t *testing.T) {
	s := startWorkers(t, "")
	canary := "canary-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	pidOfAnn := s.workerOf(t, ann)
	id := s.openSession(t, ann, engine.JavaScript, "globalThis.kept = '"+canary+"'; require('fs').writeFileSync('/data/f', kept)")
	pidOfBob := s.workerOf(t, bob)
	for _, path := range []string{"/v1/sessions/" + id, "/v1/sessions/" + id + "/files/f", "/v1/sessions", "/v1/audit", "/v1/snapshots", "/v1/sessions/" + id + "/history"} {
		_, b, err := s.sendAs(bob, "GET", path, nil)
		if err != nil || bytes.Contains(b, []byte(canary)) || path != "/v1/sessions/"+id && path != "/v1/sessions/"+id+"/files/f" && path != "/v1/sessions/"+id+"/history" && bytes.Contains(b, []byte(id)) {
			t.Errorf("%s answers bob %s, %v", path, b, err)
		}
	}
	if status, b, _ := s.sendAs(bob, "GET", "/v1/sessions/"+id, nil); status != http.StatusNotFound {
		t.Errorf("bob is answered %d %s for ann's session", status, b)
	}
	found, err := inMemory(pidOfBob, canary)
	if err != nil {
		t.Log("the memory of processes cannot be read here: ", err)
	} else {
		if found {
			t.Error("bob's worker has ann's canary in its memory")
		}
		if found, err := inMemory(pidOfAnn, canary); err != nil || !found {
			t.Errorf("ann's worker has not her canary (%v), so that the search proves nothing", err)
		}
		// Nor does a worker learn the key by which its client is known to the front, or those of others.
		for _, secret := range []string{ann, bob} {
			if found, err := inMemory(pidOfBob, secret); err != nil || found {
				t.Errorf("bob's worker knows %s, %v", secret, err)
			}
		}
	}
	for _, pid := range []int{pidOfAnn, pidOfBob} {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(env, []byte("CLOCHE_KEY")) {
			t.Errorf("a worker has the environment %q", env)
		}
	}
	// The audit of all keys is with the front, which hears of runs beside their answers; each record is its key's.
	var list web.AuditList
	eventually(t, "all runs are on record", func() bool {
		_, b, _ := s.send("GET", "/v1/audit", nil)
		list = decode[web.AuditList](t, b)
		return len(list.Records) == 3
	})
	if list.Records[0].Key != "bob" || list.Records[2].Key != "ann" {
		t.Errorf("the audit is %+v", list)
	}
	_, b, _ := s.send("GET", "/metrics", nil)
	for _, want := range []string{`cloche_runs_total{key="ann",language="javascript",status="ok"} 2`, `cloche_runs_total{key="bob",language="javascript",status="ok"} 1`, `cloche_worker_starts_total{key="ann"} 1`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	s.stop(t)
	eventually(t, "all processes have ended", func() bool { return syscall.Kill(pidOfAnn, 0) != nil && syscall.Kill(pidOfBob, 0) != nil })
}

// inMemory says whether the memory of a process holds a text. Most of its addresses are reserved only, so that pagemap is
// asked which pages are there.
func inMemory(pid int, text string) (bool, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return false, err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return false, err
	}
	defer mem.Close()
	pages, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return false, err
	}
	defer pages.Close()
	var from, to int64
	var mode string
	for line := range strings.Lines(string(maps)) {
		var resident int64
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n == 3 {
			continue
		}
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &resident); n == 1 && resident > 0 && strings.HasPrefix(mode, "rw") && present(mem, pages, from, to, text) {
			return true, nil
		}
	}
	return false, nil
}

// present says whether the pages that are there between two addresses hold a text.
func present(mem, pages io.ReaderAt, from, to int64, text string) bool {
	const entry, chunk = 8, 1 << 16
	size := int64(os.Getpagesize())
	list, page := make([]byte, entry*chunk), make([]byte, size)
	var before []byte // the end of the page before
	for at := from; at < to; at += chunk * size {
		n, _ := pages.ReadAt(list[:min(chunk, (to-at)/size)*entry], at/size*entry)
		for i := range int64(n / entry) {
			const here = 1 << 7 // of the last byte: present; the bit below it: swapped out
			if list[i*entry+entry-1]&here == 0 {
				before = nil
				continue
			}
			n, _ := mem.ReadAt(page, at+i*size)
			if bytes.Contains(append(before, page[:n]...), []byte(text)) {
				return true
			}
			before = bytes.Clone(page[max(0, n-len(text)):n])
		}
	}
	return false
}

// TestWorkerKilled kills a worker under load: its runs end with an error of ours, its session comes back, and nobody else
// notices.
func TestWorkerKilled(t *testing.T) {
	s := startWorkers(t, "")
	pidOfAnn, _ := s.workerOf(t, ann), s.workerOf(t, bob)
	id := s.openSession(t, ann, engine.JavaScript, "globalThis.n = 41")

	var load sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		load.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				status, b, err := s.sendAs(bob, "POST", "/v1/execute", map[string]any{"language": engine.JavaScript, "code": "console.log(6*7)"})
				if err != nil || status != http.StatusOK || !bytes.Contains(b, []byte(`"stdout":"42\n"`)) {
					t.Errorf("bob is answered %d %s, %v", status, b, err)
					return
				}
			}
		})
	}
	type answer struct {
		status int
		body   []byte
		err    error
	}
	lost := make(chan answer, 3)
	for range cap(lost) {
		go func() {
			status, b, err := s.sendAs(ann, "POST", "/v1/execute", map[string]any{"language": engine.JavaScript, "code": loop})
			lost <- answer{status, b, err}
		}()
	}
	eventually(t, "ann's programs run", func() bool {
		_, b, _ := s.send("GET", "/metrics", nil)
		return bytes.Contains(b, []byte(`cloche_worker_running{key="ann"} 3`))
	})
	if err := syscall.Kill(pidOfAnn, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range cap(lost) {
		a := <-lost
		e := decode[web.ErrorBody](t, a.body).Error
		if a.err != nil || a.status != http.StatusBadGateway || e.Code != "unavailable" || e.RequestID == "" {
			t.Errorf("a run that was lost is answered %d %s, %v", a.status, a.body, a.err)
		}
	}
	eventually(t, "ann is served again", func() bool {
		status, _, err := s.sendAs(ann, "GET", "/v1/sessions/"+id, nil)
		return err == nil && status == http.StatusOK
	})
	if got := s.turn(t, ann, id, "console.log(n + 1)"); got != "42\n" {
		t.Errorf("the session that came back prints %q", got)
	}
	close(done)
	load.Wait()
	_, b, _ := s.send("GET", "/metrics", nil)
	if !bytes.Contains(b, []byte(`cloche_worker_crashes_total{key="ann"} 1`)) || !bytes.Contains(b, []byte(`cloche_worker_crashes_total{key="bob"} 0`)) {
		t.Error("the metrics do not count the crash")
	}
	s.stop(t)
}

// TestWorkerReplaced: in the moment of a worker's death nobody is answered that it ended: what it had not read is sent to the next.
func TestWorkerReplaced(t *testing.T) {
	s := startWorkers(t, "")
	for range 3 {
		s.executeAs(t, ann, engine.JavaScript, "1")
		var list []int
		eventually(t, "ann has one worker", func() bool { list = s.workers(t); return len(list) == 1 })
		var idle sync.WaitGroup
		for range 4 { // connections, which are kept
			idle.Go(func() { s.executeAs(t, ann, engine.JavaScript, "1") })
		}
		idle.Wait()
		if err := syscall.Kill(list[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for runs(list[0]) { // until then a thread of it may read a request and say so, which is lost then
			time.Sleep(100 * time.Microsecond)
		}
		for range 3 {
			idle.Go(func() { s.executeAs(t, ann, engine.JavaScript, "2") })
		}
		idle.Wait()
	}
	_, b, _ := s.send("GET", "/metrics", nil)
	if !bytes.Contains(b, []byte(`cloche_worker_crashes_total{key="ann"} 3`)) {
		t.Error("the workers did not end")
	}
	s.stop(t)
}

// runs tells whether a process has a thread that has neither ended nor been stopped.
func runs(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		panic(err)
	}
	return slices.ContainsFunc(threads, func(name string) bool {
		stat, err := os.ReadFile(name)
		_, state, _ := bytes.Cut(stat, []byte(") "))
		return err == nil && len(state) > 0 && !bytes.ContainsRune([]byte("ZXT"), rune(state[0]))
	})
}

// TestWorkerStreams: streams and WebSockets pass through the front as they happen, and a client that leaves ends its
// program.
func TestWorkerStreams(t *testing.T) {
	s := startWorkers(t, "")
	id := s.openSession(t, ann, engine.JavaScript, "1")
	for _, format := range []string{"text/event-stream", "application/x-ndjson"} {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/execute", strings.NewReader(`{"language": "javascript", "code": "console.log('first'); for (;;) {}"}`))
		r.Header = http.Header{"Authorization": {"Bearer " + ann}, "Content-Type": {"application/json"}, "Accept": {format}}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var text []byte
		for b := make([]byte, 512); !bytes.Contains(text, []byte("first")); {
			n, err := res.Body.Read(b)
			if text = append(text, b[:n]...); err != nil {
				t.Fatalf("%s: the stream ended (%v) after %s", format, err, text)
			}
		}
		cancel()
		res.Body.Close()
		eventually(t, "the program of a client that left has ended", func() bool {
			_, b, _ := s.send("GET", "/metrics", nil)
			return bytes.Contains(b, []byte(`cloche_worker_running{key="ann"} 0`))
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.url, "http")+"/v1/sessions/"+id+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + ann}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := wsjson.Write(ctx, conn, map[string]any{"type": "execute", "code": "console.log(6*7)"}); err != nil {
		t.Fatal(err)
	}
	for text := ""; text != "42\n"; {
		var event struct{ Type, Text string }
		if err := wsjson.Read(ctx, conn, &event); err != nil {
			t.Fatal(err)
		}
		text = event.Text
	}
	go s.stop(t)
	// The worker says good-bye.
	for err == nil {
		_, _, err = conn.Read(ctx)
	}
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the WebSocket ended with %v", err)
	}
	<-s.ended
}

// TestWorkerHangs stops a worker as a hung process would: it is killed, and another one takes its place.
func TestWorkerHangs(t *testing.T) {
	s := startWorkers(t, `patience = "8s"`)
	pid := s.workerOf(t, ann)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for runs(pid) { // until then a thread of it may read the request, which is lost then
		time.Sleep(100 * time.Microsecond)
	}
	status, b, err := s.sendAs(ann, "POST", "/v1/execute", map[string]any{"language": engine.JavaScript, "code": "1"})
	// It is killed with the request unread, which the next one takes, unless that does not start within the queue's wait.
	if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
		t.Errorf("who asks a worker that hangs is answered %d %s, %v", status, b, err)
	}
	// On a busy machine the next one may be late, too; the client is told to come again.
	for end := time.Now().Add(time.Minute); status != http.StatusOK; {
		status, b, err = s.sendAs(ann, "POST", "/v1/execute", map[string]any{"language": engine.JavaScript, "code": "1"})
		if err != nil || status != http.StatusOK && (status != http.StatusServiceUnavailable || time.Now().After(end)) {
			t.Fatalf("after the worker that hung: %d %s, %v", status, b, err)
		}
	}
	s.stop(t)
}

// TestWorkersTools: a worker starts MCP servers by the names of their programs, as a server without workers does.
func TestWorkersTools(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	s := startWorkers(t, fmt.Sprintf("[tools.mcp.inner]\ncommand = [\"cloche\", \"mcp\"]\nenv = { CLOCHE_CACHE = %q }", dir))
	const call = "const r = await tools.inner.run_code({ language: 'javascript', code: '6 * 7' }); console.log(r.status)"
	if r := s.executeAs(t, ann, engine.JavaScript, call); r.Stdout != "ok\n" {
		t.Errorf("the program had %+v\n%s", r, s.log)
	}
	s.stop(t)
}

// TestWorkerNumber: of one worker the second key gets it once the first has nothing to lose; its session comes back.
func TestWorkerNumber(t *testing.T) {
	s := startWorkers(t, "max = 1\nidle = \"2s\"")
	id := s.openSession(t, ann, engine.JavaScript, "globalThis.n = 42")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	running := make(chan struct{})
	go func() {
		defer close(running)
		r, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/execute", strings.NewReader(`{"language": "javascript", "code": "await new Promise(() => setTimeout(() => 0, 1e6))"}`))
		r.Header = http.Header{"Authorization": {"Bearer " + ann}, "Content-Type": {"application/json"}}
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
			t.Errorf("ann is answered %s", res.Status)
		}
	}()
	eventually(t, "ann's program runs", func() bool {
		_, b, _ := s.send("GET", "/metrics", nil)
		return bytes.Contains(b, []byte(`cloche_worker_running{key="ann"} 1`))
	})
	first := s.workers(t)
	status, b, err := s.sendAs(bob, "POST", "/v1/execute", map[string]any{"language": engine.JavaScript, "code": "1"})
	if err != nil || status != http.StatusServiceUnavailable || !bytes.Contains(b, []byte("1 workers")) {
		t.Errorf("bob is answered %d %s, %v", status, b, err)
	}
	leave()
	<-running
	eventually(t, "bob has a worker", func() bool {
		status, _, err := s.sendAs(bob, "GET", "/v1/sessions", nil)
		return err == nil && status == http.StatusOK
	})
	eventually(t, "it is the only one", func() bool {
		n := s.workers(t)
		return len(n) == 1 && !slices.Equal(n, first)
	})
	eventually(t, "the idle worker is ended", func() bool { return len(s.workers(t)) == 0 })
	if got := s.turn(t, ann, id, "console.log(n)"); got != "42\n" {
		t.Errorf("the session that came back prints %q", got)
	}
	s.stop(t)
}

// TestWorkersEnd: a server that is told to stop delivers what finishes within its grace, and when it is killed its workers end
// too.
func TestWorkersEnd(t *testing.T) {
	s := startWorkers(t, "[policies.default.mailbox.told]\nmode = \"both\"\n")
	s.workerOf(t, ann)
	runs := func(n int) func() bool {
		return func() bool {
			_, b, _ := s.send("GET", "/metrics", nil)
			return bytes.Contains(b, fmt.Appendf(nil, `cloche_worker_running{key="ann"} %d`, n))
		}
	}
	eventually(t, "what found the worker is over", runs(0))
	got := make(chan string, 1)
	go func() {
		status, b, err := s.sendAs(ann, "POST", "/v1/execute", map[string]any{
			"language": engine.JavaScript, "mailbox": map[string]string{"told": "receive"},
			"code": "await tools.told.receive(); await new Promise(r => setTimeout(r, 1000)); console.log(42)",
		})
		got <- fmt.Sprint(status, " ", string(b), err)
	}()
	eventually(t, "ann's program runs", runs(1))
	status, b, err := s.sendAs(ann, "POST", "/v1/execute", map[string]any{"language": engine.JavaScript, "mailbox": map[string]string{"told": "send"}, "code": "await tools.told.send(1)"})
	if err != nil || !bytes.Contains(b, []byte(`"status":"ok"`)) {
		t.Errorf("%d %s %v", status, b, err)
	}
	s.stop(t)
	if g := <-got; !strings.Contains(g, `"stdout":"42\n"`) {
		t.Errorf("the program that ran to its end is answered %s", g)
	}

	s = startWorkers(t, "")
	pid := s.workerOf(t, bob)
	spawner := s.spawner(t)
	s.kill()
	eventually(t, "the worker of a dead server has ended", func() bool { return syscall.Kill(pid, 0) != nil && syscall.Kill(spawner, 0) != nil })
}

// TestWorkerUnderStrace attaches strace to a worker that runs hostile programs.
func TestWorkerUnderStrace(t *testing.T) {
	strace := straceFor(t)
	s := startWorkers(t, "")
	pid := s.workerOf(t, bob)
	record := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command(strace, "-f", "-o", record, "-p", strconv.Itoa(pid))
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, _ := said.Read(make([]byte, 1)); n == 0 {
		_ = cmd.Wait()
		t.Skip("strace cannot be used here")
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	for _, name := range []string{"paths.js", "paths.py", "engine_bugs.js", "door.py"} {
		code, err := os.ReadFile(filepath.Join("../../testdata/hostile", name))
		if err != nil {
			t.Fatal(err)
		}
		language := engine.JavaScript
		if strings.HasSuffix(name, ".py") {
			language = engine.Python
		}
		s.executeAs(t, bob, language, string(code))
	}
	_ = cmd.Process.Signal(os.Interrupt) // it lets go
	_ = cmd.Wait()
	text, err := os.ReadFile(record)
	if err != nil || len(text) == 0 {
		t.Skipf("strace cannot be used here: %v", err)
	}
	calls := callsIn(t, text, append([]string{"recvmsg", "sendmsg"}, talking...)...)
	if calls["read"] == 0 || calls["futex"] == 0 {
		t.Errorf("the record lacks what was done: %v", calls)
	}
	s.stop(t)
}

// TestJobHasNoOthersTools: what starts a tool server may hold its credentials, and goes to those workers alone whose keys may call it.
func TestJobHasNoOthersTools(t *testing.T) {
	server := func(name string) limits.MCPServer {
		return limits.MCPServer{Name: name, Command: []string{"/bin/true"}, Env: map[string]string{"TOKEN": "secret-of-" + name}}
	}
	s := &web.Settings{Tools: &limits.Tools{MCP: []limits.MCPServer{server("crm"), server("mail"), server("mailing")}}}
	for _, tt := range []struct {
		tools []string
		want  string
	}{{nil, "crm mail mailing"}, {[]string{"mail.send"}, "mail"}, {[]string{"crm", "mailing"}, "crm mailing"}, {[]string{}, ""}} {
		var got []string
		for _, m := range jobOf(s, &web.Key{Name: "ann", Policy: web.Policy{Tools: tt.tools}}, "", true).Settings.Tools.MCP {
			got = append(got, m.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("with %q the worker is told of %q, want %q", tt.tools, got, tt.want)
		}
	}
}

// TestShareOut: what keys may have together is not more than there may be, whichever of them have a process.
func TestShareOut(t *testing.T) {
	for _, c := range []struct {
		runs           []int // of the policies; 0 does not say
		processes, all int
		want           []int
		more           int
	}{
		{[]int{0, 0}, 16, 64, []int{32, 32}, 0},
		{[]int{0, 0, 0}, 2, 64, []int{32, 32, 32}, 0},
		{[]int{4, 0}, 16, 64, []int{4, 32}, 0},
		{[]int{0, 0, 0}, 16, 2, []int{1, 1, 1}, 1},
		{[]int{60, 0}, 16, 64, []int{60, 32}, 28},
		{[]int{60, 0}, 1, 64, []int{60, 64}, 0},
		{nil, 16, 64, nil, 0},
	} {
		var keys []*web.Key
		for _, n := range c.runs {
			keys = append(keys, &web.Key{Policy: web.Policy{MaxRuns: n, MaxSessions: n}})
		}
		runs, sessions := shareOut(keys, c.processes, c.all, c.all)
		var got []int
		for _, k := range keys {
			got = append(got, k.Policy.MaxRuns)
		}
		if !slices.Equal(got, c.want) || runs != c.more || sessions != c.more {
			t.Errorf("%v of %d in %d processes: %v, %d and %d more", c.runs, c.all, c.processes, got, runs, sessions)
		}
	}
}
