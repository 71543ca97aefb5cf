//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a cloche serve in a process of its own.
type server struct {
	cmd      *exec.Cmd
	url, key string
	log      *lockedBuffer // its standard error
	ended    chan struct{} // closed when err is set
	err      error
}

// lockedBuffer is written by a process and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const processKey = "a-key-of-the-test-0123456789-0123456789"

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// startProcess starts cmd, which is a cloche serve, with a key, and waits until it listens. It is killed when the test
// ends before it does.
func startProcess(t testing.TB, cmd *exec.Cmd, env ...string) *server {
	t.Helper()
	s := &server{cmd: cmd, key: processKey, log: &lockedBuffer{}, ended: make(chan struct{})}
	cmd.Env = append(append(os.Environ(), "CLOCHE_KEY="+s.key), env...)
	cmd.Stderr = s.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill() })
	r := bufio.NewReader(out)
	for s.url == "" {
		line, err := r.ReadString('\n')
		if m := listening.FindStringSubmatch(line); m != nil {
			s.url = m[1]
		}
		if err != nil {
			_ = cmd.Wait()
			t.Fatalf("cloche serve ended: %s", s.log)
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, r)
		s.err = cmd.Wait()
		close(s.ended)
	}()
	return s
}

// kill ends the process at once.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// stop ends the process in order.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	select {
	case <-s.ended:
		if s.err != nil {
			t.Errorf("cloche serve ended with %v: %s", s.err, s.log)
		}
	case <-time.After(time.Minute):
		t.Error("cloche serve does not end")
		s.kill()
	}
}

// send sends a request with the server's key and returns status and body. An error is the connection's.
func (s *server) send(method, path string, body any) (int, []byte, error) {
	return s.sendAs(s.key, method, path, body)
}

func (s *server) sendAs(key, method, path string, body any) (int, []byte, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, s.url+path, content)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, b, err
}

// execute runs a program in a fresh sandbox.
func (s *server) execute(t testing.TB, language, code string) result {
	t.Helper()
	return s.executeAs(t, s.key, language, code)
}

func (s *server) executeAs(t testing.TB, key, language, code string) result {
	t.Helper()
	status, b, err := s.sendAs(key, "POST", "/v1/execute", map[string]any{"language": language, "code": code})
	if err != nil || status != http.StatusOK {
		t.Fatalf("execute: %d %s %v\n%s", status, b, err, s.log)
	}
	return decode[result](t, b)
}

// result is what tests look at of a Result.
type result struct {
	Status, Stdout, Text string
	ExitCode             int `json:"exit_code"`
}

func decode[T any](t testing.TB, b []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}
