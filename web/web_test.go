package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/web"
)

// shared is the engine of all tests of this package.
var shared = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.New(engine.Config{MaxSandboxes: 1000, MaxIdle: 8})
})

func TestMain(m *testing.M) {
	code := m.Run()
	if e, err := shared(); err == nil {
		if err := e.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the engine:", err)
			code = 1
		}
	}
	os.Exit(code)
}

const secret = "test-key-0123456789-0123456789-0123456789"

// server is a running server with a client that shows a key.
type server struct {
	t    testing.TB
	url  string
	key  string
	http *httptest.Server
	web  *web.Server
	log  *logBuffer
}

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a server on the loopback address with the shared engine and one key.
func serve(t testing.TB, change func(*web.Config)) *server {
	t.Helper()
	eng, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	cfg := web.Config{
		Engine: eng, Keys: []*web.Key{{Name: "test", Hash: web.HashKey(secret), Admin: true}},
		Logger: slog.New(slog.NewJSONHandler(log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error("close the server:", err)
		}
	})
	return &server{t, h.URL, secret, h, s, log}
}

// reply is an answer that was read.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// do sends a request; body is nil, a string or bytes sent as they are, or else sent as JSON. Headers are "Name: value".
func (s *server) do(method, path string, body any, headers ...string) reply {
	s.t.Helper()
	r := s.request(method, path, body, headers...)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{s.t, res.StatusCode, res.Header, b}
}

func (s *server) request(method, path string, body any, headers ...string) *http.Request {
	s.t.Helper()
	var r io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	case io.Reader: // in chunks
		r = b
	default:
		text, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		r, kind = bytes.NewReader(text), "application/json"
	}
	req, err := http.NewRequest(method, s.url+path, r)
	if err != nil {
		s.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	return req
}

// must checks the status and reads the body into v, unless that is nil.
func (r reply) must(status int, v any) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %.1000s", r.status, status, r.body)
	}
	if v != nil {
		if err := json.Unmarshal(r.body, v); err != nil {
			r.t.Fatalf("%v: %.1000s", err, r.body)
		}
	}
	return r
}

// mustFail checks that the answer is an error with a code and a text.
func (r reply) mustFail(status int, code, text string) {
	r.t.Helper()
	var b web.ErrorBody
	r.must(status, &b)
	if b.Error.Code != code || !strings.Contains(b.Error.Message, text) {
		r.t.Errorf("error %+v, want code %s and a message with %q", b.Error, code, text)
	}
}

// result is a Result as a client sees it.
type result struct {
	ID       string
	Language string
	Status   string
	ExitCode int `json:"exit_code"`
	Stdout   string
	Stderr   string
	Error    *engine.Error
	Results  []struct {
		Data map[string]any
		Main bool
	}
	Files        []web.FileContent
	ToolCalls    []any                   `json:"tool_calls"`
	PendingCalls []hostfuncs.PendingCall `json:"pending_calls"`
	RolledBack   bool                    `json:"rolled_back"`
	Usage        struct {
		Fuel   uint64
		WallMS float64 `json:"wall_ms"`
	}
}

// object is a JSON object that is sent.
type object map[string]any

// run executes a program and wants it to end so.
func (s *server) run(body object, status string) result {
	s.t.Helper()
	return s.execute("/v1/execute", body, status)
}

func (s *server) execute(path string, body object, status string) result {
	s.t.Helper()
	var res result
	s.do("POST", path, body).must(200, &res)
	if res.Status != status {
		s.t.Fatalf("status %s, want %s: %+v", res.Status, status, res)
	}
	return res
}

// session makes a session and returns its path.
func (s *server) session(body object) string {
	s.t.Helper()
	var info web.SessionInfo
	r := s.do("POST", "/v1/sessions", body).must(201, &info)
	if r.header.Get("Location") != "/v1/sessions/"+info.ID {
		s.t.Errorf("Location %q for %s", r.header.Get("Location"), info.ID)
	}
	return "/v1/sessions/" + info.ID
}

// output runs a program and returns what it printed, whatever became of it.
func (s *server) output(path string, body object, headers ...string) string {
	s.t.Helper()
	var res struct{ Stdout, Stderr string }
	s.do("POST", path, body, headers...).must(200, &res)
	return res.Stdout + res.Stderr
}

// refusal is what a request asks for that is not given, and the answer.
type refusal struct {
	asked  object
	status int
	code   string
}

// refuses asks for what a program and a session are not given in a field of the request.
func (s *server) refuses(t *testing.T, field string, cases map[string]refusal) {
	t.Helper()
	for name, want := range cases {
		t.Run(name, func(*testing.T) {
			s.do("POST", "/v1/execute", object{"code": "1", field: want.asked}).mustFail(want.status, want.code, field)
			s.do("POST", "/v1/sessions", object{field: want.asked}).mustFail(want.status, want.code, field)
		})
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to be that %s", what)
		}
	}
}
