package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
	"github.com/cloche-dev/cloche/web/mcp"
	"github.com/cloche-dev/cloche/web/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// connect gives a client of the official SDK, connected to Serve by pipes.
func connect(t *testing.T, cfg mcp.Config, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	cfg.Engine = webtest.Engine(t)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- mcp.Serve(context.Background(), cfg, in, out)
		out.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// dial gives a client that is connected over HTTP.
func dial(t *testing.T, url string, by http.RoundTripper) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: by}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type args = map[string]any

func call(t *testing.T, s *sdk.ClientSession, tool string, a args) *sdk.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

// text is all text of a result.
func text(res *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text + "\n")
		}
	}
	return b.String()
}

func wantText(t *testing.T, res *sdk.CallToolResult, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text(res), w) {
			t.Errorf("the result has no %q:\n%s", w, text(res))
		}
	}
}

// field is a value in structured content.
func field(t *testing.T, res *sdk.CallToolResult, name string) any {
	t.Helper()
	m, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("structured content is %T", res.StructuredContent)
	}
	return m[name]
}

func TestRunCode(t *testing.T) {
	s := connect(t, mcp.Config{}, nil)
	res := call(t, s, "run_code", args{"code": "x = 20\nprint('hello')\nx * 2", "language": "python"})
	wantText(t, res, "ok after", "stdout:\nhello\n", "value:\n40")
	if res.IsError || field(t, res, "status") != "ok" || field(t, res, "stdout") != "hello\n" {
		t.Errorf("structured content: %v", res.StructuredContent)
	}
	wantText(t, call(t, s, "run_code", args{"code": "x + 1"}), "value:\n21") // variables stay

	res = call(t, s, "run_code", args{"code": "def f():\n    raise ValueError('no')\nf()"})
	wantText(t, res, "error after", "ValueError: no", "at line 2")
	if !res.IsError || field(t, res, "status") != "error" {
		t.Error("an exception is not marked as an error")
	}

	// JavaScript and TypeScript share a session, which is not Python's.
	call(t, s, "run_code", args{"code": "globalThis.y = 5", "language": "javascript"})
	wantText(t, call(t, s, "run_code", args{"code": "const z: number = y; z + 1", "language": "typescript"}), "value:\n6")
	wantText(t, call(t, s, "run_code", args{"code": "x"}), "value:\n20")
}

func TestSessions(t *testing.T) {
	s := connect(t, mcp.Config{MaxSessions: 3}, nil)
	call(t, s, "run_code", args{"code": "v = 1", "session_id": "a"})
	call(t, s, "run_code", args{"code": "v = 2", "session_id": "b"})
	wantText(t, call(t, s, "run_code", args{"code": "v", "session_id": "a"}), "value:\n1")
	wantText(t, call(t, s, "run_code", args{"code": "v", "session_id": "b"}), "value:\n2")
	wantText(t, call(t, s, "run_code", args{"code": "1", "session_id": "a", "language": "javascript"}), "session a runs python, not javascript")
	call(t, s, "run_code", args{"code": "1"})
	res := call(t, s, "run_code", args{"code": "1", "session_id": "d"})
	wantText(t, res, "3 sessions are open", "a, b, python")
	if !res.IsError {
		t.Error("one session too many is no error")
	}
	wantText(t, call(t, s, "list_files", args{"session_id": "nobody"}), `there is no session "nobody"`)
	wantText(t, call(t, s, "run_code", args{"code": "1", "session_id": "../x"}), "use up to 64 letters")
}

// TestDroppedWhileWaitedFor: a call that waits for a session which then cannot be opened gets another one, and that is closed with the
// connection.
func TestDroppedWhileWaitedFor(t *testing.T) {
	var opened, open atomic.Int32
	begun, fail := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { // after that of connect
		if n := open.Load(); n != 0 {
			t.Errorf("%d sessions were not closed", n)
		}
	})
	s := connect(t, mcp.Config{Open: func() (func(), error) {
		if opened.Add(1) == 1 {
			close(begun)
			<-fail
			return nil, errors.New("no place")
		}
		open.Add(1)
		return func() { open.Add(-1) }, nil
	}}, nil)
	var calls sync.WaitGroup
	calls.Go(func() {
		wantText(t, call(t, s, "run_code", args{"code": "1", "session_id": "a"}), "no place")
	})
	<-begun
	calls.Go(func() { call(t, s, "list_files", args{}) }) // of the session used last
	time.Sleep(100 * time.Millisecond)                    // for it to come so far; all is well, too, if it does not
	close(fail)
	calls.Wait()
	wantText(t, call(t, s, "run_code", args{"code": "1 + 1", "session_id": "a"}), "value:\n2")
}

// TestConnectionsAreApart checks that a session belongs to its connection.
func TestConnectionsAreApart(t *testing.T) {
	a, b := connect(t, mcp.Config{}, nil), connect(t, mcp.Config{}, nil)
	call(t, a, "run_code", args{"code": "secret = 1", "session_id": "s"})
	wantText(t, call(t, b, "run_code", args{"code": "secret", "session_id": "s"}), "NameError")
}

func TestChartsAndFiles(t *testing.T) {
	s := connect(t, mcp.Config{}, nil)
	res := call(t, s, "run_code", args{
		"code": `import pandas as pd, matplotlib.pyplot as plt
df = pd.read_csv("in/sales é.csv")
df.plot(x="day", y="sold")
df.describe().to_csv("out put.csv")
open("raw.bin", "wb").write(bytes(range(256)))`,
		"files": []args{{"path": "in/sales é.csv", "content": "day,sold\n1,10\n2,20\n"}},
	})
	if res.IsError {
		t.Fatal(text(res))
	}
	images, links := 0, map[string]*sdk.ResourceLink{}
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.ImageContent:
			images++
			if c.MIMEType != "image/png" || !bytes.HasPrefix(c.Data, []byte("\x89PNG")) {
				t.Errorf("image: %s, %.8q", c.MIMEType, c.Data)
			}
		case *sdk.ResourceLink:
			links[c.Name] = c
		}
	}
	if images != 1 {
		t.Errorf("%d images, want 1", images)
	}
	structured, _ := json.Marshal(res.StructuredContent)
	if !strings.Contains(string(structured), `"image/png":{"content_index":`) || len(structured) > 4000 {
		t.Errorf("structured content has the picture's bytes, or no reference: %.500s", structured)
	}

	link := links["out put.csv"]
	if link == nil || link.Size == nil || *link.Size == 0 {
		t.Fatalf("links: %v", links)
	}
	got, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
	if err != nil || !strings.Contains(got.Contents[0].Text, "mean,1.5,15.0") {
		t.Fatalf("resource: %v, %+v", err, got)
	}
	got, err = s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: links["raw.bin"].URI})
	if err != nil || len(got.Contents[0].Blob) != 256 {
		t.Fatalf("resource: %v, %+v", err, got)
	}
	for _, uri := range []string{"cloche://sessions/python/data/none", "cloche://sessions/other/data/raw.bin", "cloche://sessions/python/%zz", "file:///etc/passwd"} {
		if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s can be read", uri)
		}
	}

	wantText(t, call(t, s, "list_files", nil), `"name":"raw.bin"`, `"dir":true,"name":"in"}`)
	wantText(t, call(t, s, "read_file", args{"path": "in/sales é.csv"}), "day,sold")
	if res := call(t, s, "read_file", args{"path": "none"}); !res.IsError {
		t.Error("a file that is not there can be read")
	}
	wantText(t, call(t, s, "read_file", args{"path": "/data"}), "folder")
	call(t, s, "write_file", args{"path": "deep/er/x.txt", "content": "äöü"})
	wantText(t, call(t, s, "run_code", args{"code": "open('deep/er/x.txt').read()"}), "äöü")
	// Parts end with whole characters.
	res = call(t, s, "read_file", args{"path": "deep/er/x.txt", "max_bytes": 3})
	if text(res) != "ä\n" || field(t, res, "next_offset") != 2.0 {
		t.Errorf("a part: %q, %v", text(res), res.StructuredContent)
	}
	call(t, s, "write_file", args{"path": "p.png", "content_base64": "iVBORw0KGgo="})
	if _, ok := call(t, s, "read_file", args{"path": "p.png"}).Content[0].(*sdk.ImageContent); !ok {
		t.Error("a picture is not read as an image")
	}
	wantText(t, call(t, s, "write_file", args{"path": "x"}), "give either content or content_base64")
	wantText(t, call(t, s, "write_file", args{"path": "x", "content_base64": "?"}), "content_base64")
	wantText(t, call(t, s, "write_file", args{"path": "big", "content": "a", "session_id": "new"}), `"session_id":"new"`)
}

func TestCheckpoints(t *testing.T) {
	s := connect(t, mcp.Config{}, nil)
	wantText(t, call(t, s, "rollback", nil), "session python has no checkpoint")
	call(t, s, "run_code", args{"code": "x = [1]\nopen('f.txt', 'w').write('one')"})
	wantText(t, call(t, s, "checkpoint", args{"name": "good"}), `"name":"good"`)
	call(t, s, "run_code", args{"code": "x.append(2)\nopen('f.txt', 'w').write('two')\nimport os; os.mkdir('d')"})
	wantText(t, call(t, s, "checkpoint", nil), `"checkpoints":["good","2"]`)
	call(t, s, "run_code", args{"code": "del x"})
	call(t, s, "rollback", nil)
	wantText(t, call(t, s, "run_code", args{"code": "x"}), "value:\n[1, 2]")
	for range 2 { // a checkpoint stays
		call(t, s, "rollback", args{"name": "good"})
		wantText(t, call(t, s, "run_code", args{"code": "x, open('f.txt').read(), os"}), "NameError: name 'os'")
		wantText(t, call(t, s, "run_code", args{"code": "x.append(3)\nx, open('f.txt').read()"}), "value:\n([1, 3], 'one')")
	}
	wantText(t, call(t, s, "rollback", args{"name": "none"}), `no checkpoint "none": there are good, 2`)
	// The oldest makes room.
	var last *sdk.CallToolResult
	for range 20 {
		last = call(t, s, "checkpoint", nil)
	}
	if n := len(field(t, last, "checkpoints").([]any)); n != 16 {
		t.Errorf("%d checkpoints are kept, want 16", n)
	}
}

func TestLimits(t *testing.T) {
	s := connect(t, mcp.Config{Options: engine.Options{Limits: limits.Limits{Timeout: time.Minute, OutputBytes: 100}}}, nil)
	call(t, s, "run_code", args{"code": "kept = 1"})
	begin := time.Now()
	res := call(t, s, "run_code", args{"code": "while True: pass", "timeout_ms": 200})
	wantText(t, res, "timeout after")
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("it took %s", d)
	}
	wantText(t, call(t, s, "run_code", args{"code": "kept"}), "value:\n1")
	wantText(t, call(t, s, "run_code", args{"code": "1", "timeout_ms": 60_001}), "more than the limit of 60000")
	wantText(t, call(t, s, "run_code", args{"code": "print('x' * 1000)"}), "stdout was cut: the first 100 of 1001 bytes")
	wantText(t, call(t, s, "run_code", args{"cod": "1"}), "cod")
	wantText(t, call(t, s, "run_code", args{"code": "1", "language": "ruby"}), "ruby")
}

// A call that had to be stopped says where it was, if that is wanted.
func TestAutopsy(t *testing.T) {
	for _, tt := range []struct {
		autopsy time.Duration
		told    bool
	}{{0, false}, {time.Minute, true}} {
		s := connect(t, mcp.Config{Options: engine.Options{Limits: limits.Limits{Fuel: 50_000_000}, Autopsy: tt.autopsy}}, nil)
		res := call(t, s, "run_code", args{"code": "big = bytearray(1_000_000)\ndef f():\n    while True: pass\nf()"})
		wantText(t, res, "out_of_fuel after")
		for _, want := range []string{"stopped at:", "line 3, in f", "name big: bytearray"} {
			if strings.Contains(text(res), want) != tt.told {
				t.Errorf("with %s, %q is told: %t\n%s", tt.autopsy, want, !tt.told, text(res))
			}
		}
	}
}

func TestProgress(t *testing.T) {
	var mu sync.Mutex
	var got strings.Builder
	s := connect(t, mcp.Config{}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			got.WriteString(r.Params.Message)
		},
	})
	p := &sdk.CallToolParams{Name: "run_code", Arguments: args{
		"code": "import time\nfor i in range(4):\n    print(i, flush=True)\n    time.sleep(0.06)\nprint('ä' * 9)", "language": "python",
	}}
	p.SetProgressToken("t")
	if _, err := s.CallTool(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want := "0\n1\n2\n3\n" + strings.Repeat("ä", 9) + "\n"
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) { // notifications are handled beside the answer
		mu.Lock()
		text := got.String()
		mu.Unlock()
		if text == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("progress: %q, want %q", text, want)
		}
	}
}

func TestCancel(t *testing.T) {
	s := connect(t, mcp.Config{}, nil)
	call(t, s, "run_code", args{"code": "x = 1"})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "run_code", Arguments: args{"code": "x = 2\nwhile True: pass"}}); err == nil {
		t.Fatal("a call without end ended")
	}
	begin := time.Now()
	wantText(t, call(t, s, "run_code", args{"code": "x"}), "value:\n1") // rolled back, and free again
	if d := time.Since(begin); d > 20*time.Second {
		t.Errorf("the session was busy for %s", d)
	}
}

func TestDescribeEnvironment(t *testing.T) {
	s := connect(t, mcp.Config{}, nil)
	res := call(t, s, "describe_environment", nil)
	wantText(t, res, "pandas 3", "fs/promises", `"timeout_ms":60000`, "closed")
}

// ending tells when its reader was read to the end.
type ending struct {
	io.Reader
	tell func()
}

func (e ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if err == io.EOF {
		e.tell()
	}
	return n, err
}

// raw sends lines to Serve and returns all that it answered. Programs can wait until all lines have been read: tools.all_is_read.
func raw(t *testing.T, in string) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	end := make(chan struct{})
	cfg := mcp.Config{Engine: webtest.Engine(t), Options: engine.Options{Tools: &hostfuncs.Registry{}}}
	err := hostfuncs.Register(cfg.Options.Tools, "all_is_read", func(ctx context.Context, _ struct{}) (any, error) {
		select {
		case <-end:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := mcp.Serve(t.Context(), cfg, ending{strings.NewReader(in), sync.OnceFunc(func() { close(end) })}, &out); err != nil {
		t.Fatal(err)
	}
	var messages []map[string]any
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var m map[string]any
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
			t.Fatalf("not a message: %.200q", lines.Bytes())
		}
		messages = append(messages, m)
	}
	return messages
}

const hello = `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

func runLine(id int, code string) string {
	b, _ := json.Marshal(code)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run_code","arguments":{"code":%s}}}`+"\n", id, b)
}

// TestPipe checks that a client which writes all it has and closes gets all answers, in order for one session, and that
// nothing of what a guest prints or a client garbles gets between the messages.
func TestPipe(t *testing.T) {
	in := hello + "no json\n[]\n{}\n42\n\n" + strings.Repeat("x", 33<<20) + "\n" +
		runLine(1, "import os\nx = 1\nprint('{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}')\nos.write(1, b'\\nRAW\\n')") +
		runLine(2, "tools.all_is_read()\nx += 1") +
		runLine(3, "x *= 10") +
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}` + "\n" +
		runLine(4, "x")
	var order []float64
	errors := 0
	for _, m := range raw(t, in) {
		if id, ok := m["id"].(float64); ok {
			order = append(order, id)
			if b, _ := json.Marshal(m); id == 4 && !strings.Contains(string(b), `value:\n2`) {
				t.Errorf("answer 4: %s", b)
			}
		} else if m["id"] == nil && m["error"] != nil {
			errors++
		}
	}
	if fmt.Sprint(order) != "[1 2 4]" { // 3 was cancelled while it waited
		t.Errorf("answers came in the order %v", order)
	}
	if errors != 5 {
		t.Errorf("%d errors, want 5", errors)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	started := make(chan struct{})
	go func() {
		io.WriteString(w, hello+runLine(1, "while True: pass"))
		close(started)
	}()
	done := make(chan error, 1)
	go func() { done <- mcp.Serve(ctx, mcp.Config{Engine: webtest.Engine(t)}, in, io.Discard) }()
	<-started
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Serve goes on")
	}
}

func TestHandler(t *testing.T) {
	h := mcp.NewHandler(func(r *http.Request) (string, mcp.Config) {
		return r.Header.Get("X-Owner"), mcp.Config{Engine: webtest.Engine(t)}
	})
	srv := httptest.NewServer(h)
	defer srv.Close()
	open := func(owner string) *sdk.ClientSession { return dial(t, srv.URL, owned(owner)) }
	a := open("a")
	call(t, a, "run_code", args{"code": "x = 3"})
	wantText(t, call(t, a, "run_code", args{"code": "x"}), "value:\n3")
	b := open("b")
	wantText(t, call(t, b, "run_code", args{"code": "x"}), "NameError")

	// a's connection does not exist for b.
	req, _ := http.NewRequest("POST", srv.URL, strings.NewReader(runLine(1, "x")))
	for k, v := range map[string]string{
		"X-Owner": "b", "Mcp-Session-Id": a.ID(), "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("another's connection answers %d", resp.StatusCode)
	}

	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: args{"code": "1"}}); err == nil {
		t.Error("a closed handler runs code")
	}
}

// TestPolicyOfKey: places of a key are for all of its connections together, and what they run is on record.
func TestPolicyOfKey(t *testing.T) {
	const key = "test-key-0123456789-0123456789-0123456789"
	h := mcp.NewHandler(func(r *http.Request) (string, mcp.Config) {
		p := web.ProgramsFrom(r.Context())
		return web.KeyFrom(r.Context()).Name, mcp.Config{Engine: webtest.Engine(t), Begin: p.Begin, Open: p.Open}
	})
	defer h.Close()
	url := webtest.Serve(t, web.Config{
		Keys: []*web.Key{{Name: "test", Hash: web.HashKey(key), Policy: web.Policy{MaxRuns: 1, MaxSessions: 2}}}, MCP: h, QueueWait: 100 * time.Millisecond,
	})
	open := func() *sdk.ClientSession { return dial(t, url+"/mcp", bearing(key)) }
	js := func(s *sdk.ClientSession, session, code string) *sdk.CallToolResult {
		return call(t, s, "run_code", args{"language": "javascript", "session_id": session, "code": code})
	}
	a, b := open(), open()
	wantText(t, js(a, "one", "6 * 7"), "value:\n42")
	wantText(t, js(b, "two", "1"), "value:\n1")
	wantText(t, js(b, "three", "1"), "may not have more")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = a.CallTool(ctx, &sdk.CallToolParams{Name: "run_code", Arguments: args{"language": "javascript", "session_id": "one", "code": "for (;;);"}})
	}()
	for end := time.Now().Add(20 * time.Second); ; {
		if text := fmt.Sprint(js(b, "two", "1").Content[0].(*sdk.TextContent).Text); strings.Contains(text, "no place to run") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("two programs of the key run at once")
		}
	}
	cancel()
	<-ended
	if err := a.Close(); err != nil { // and its place for a session is free
		t.Error(err)
	}
	for end := time.Now().Add(20 * time.Second); !strings.Contains(fmt.Sprint(js(b, "three", "5 + 5").Content[0].(*sdk.TextContent).Text), "ok after"); {
		if time.Now().After(end) {
			t.Fatal("a place for a session is not given back")
		}
		time.Sleep(20 * time.Millisecond)
	}
	req, _ := http.NewRequest("GET", url+"/v1/audit", nil)
	resp, err := bearing(key).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var audit web.AuditList
	if err := json.NewDecoder(resp.Body).Decode(&audit); err != nil || len(audit.Records) < 4 {
		t.Fatalf("%+v, %v", audit, err)
	}
	if r := audit.Records[0]; r.Key != "test" || r.Language != "javascript" || r.Status != "ok" || r.CodeSHA256 == "" || r.Usage == nil {
		t.Errorf("%+v", r)
	}
}

// TestAnswersThatNobodyTakes: a client that does not read what its programs print has no more of them run, until it does.
func TestAnswersThatNobodyTakes(t *testing.T) {
	const key = "test-key-0123456789-0123456789-0123456789"
	h := mcp.NewHandler(func(r *http.Request) (string, mcp.Config) {
		p := web.ProgramsFrom(r.Context())
		o := engine.Options{Limits: limits.Limits{OutputBytes: 16 << 20}}
		return web.KeyFrom(r.Context()).Name, mcp.Config{Engine: webtest.Engine(t), Options: o, Begin: p.Begin, Open: p.Open}
	})
	defer h.Close()
	url := webtest.Serve(t, web.Config{Keys: []*web.Key{{Name: "test", Hash: web.HashKey(key)}}, MCP: h, MaxBodyBytes: 1 << 20, WriteTimeout: time.Minute})
	s := dial(t, url+"/mcp", bearing(key))
	ask := func(id, code string) *http.Request {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"javascript","session_id":%q,"code":%q}}}`, id, id, code)
		req, _ := http.NewRequest("POST", url+"/mcp", strings.NewReader(body))
		for k, v := range map[string]string{
			"Mcp-Session-Id": s.ID(), "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + key,
		} {
			req.Header.Set(k, v)
		}
		return req
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	if err := ask("slow", "process.stdout.write('x'.repeat(15e6))").Write(c); err != nil {
		t.Fatal(err)
	}
	until := func(status int, want string) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			resp, err := http.DefaultClient.Do(ask("other", "6 * 7"))
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode == status && strings.Contains(string(b), want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d %q never came: %d %s", status, want, resp.StatusCode, b)
			}
		}
	}
	until(429, "take the answers first")
	c.Close()
	until(200, `value:\n42`)
}

type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

type owned string

func (o owned) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Owner", string(o))
	return http.DefaultTransport.RoundTrip(r)
}

// command builds the program.
func command(t *testing.T) string {
	t.Helper()
	cloche := filepath.Join(t.TempDir(), "cloche")
	if out, err := exec.Command("go", "build", "-o", cloche, "github.com/cloche-dev/cloche/cmd/cloche").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return cloche
}

// allIsWell runs a client that says so at its end.
func allIsWell(t *testing.T, client *exec.Cmd) {
	t.Helper()
	if out, err := client.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "all is well\n") {
		t.Fatalf("%v: %v\n%s", client.Args, err, out)
	}
}

// TestPythonClient drives the command with the official client in Python.
func TestPythonClient(t *testing.T) {
	packages := webtest.Tool(t, "python")
	cmd := exec.Command("python3", "testdata/client.py", command(t))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages)
	allIsWell(t, cmd)
}

// TestNodeClient drives the command, and the server's /mcp, with the official client in JavaScript.
func TestNodeClient(t *testing.T) {
	sdk, node := webtest.Tool(t, "node/node_modules/@modelcontextprotocol/sdk"), webtest.Program(t, "node")
	t.Run("stdio", func(t *testing.T) {
		allIsWell(t, exec.Command(node, "testdata/client.mjs", sdk, "stdio", command(t)))
	})
	t.Run("http", func(t *testing.T) {
		const key = "test-key-0123456789-0123456789-0123456789"
		h := mcp.NewHandler(func(r *http.Request) (string, mcp.Config) {
			return web.KeyFrom(r.Context()).Name, mcp.Config{Engine: webtest.Engine(t)}
		})
		defer h.Close()
		url := webtest.Serve(t, web.Config{Keys: []*web.Key{{Name: "test", Hash: web.HashKey(key)}}, MCP: h})
		allIsWell(t, exec.Command(node, "testdata/client.mjs", sdk, "http", url+"/mcp", key))
	})
}
