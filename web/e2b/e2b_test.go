package e2b_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web/e2b"
	"github.com/cloche-dev/cloche/web/webtest"
)

func TestMain(m *testing.M) { webtest.Main(m) }

func handler(t *testing.T, cfg e2b.Config) *e2b.Handler {
	t.Helper()
	cfg.Engine = webtest.Engine(t)
	h := e2b.New(cfg)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// ask sends a request that the SDK could have sent, changed by the headers.
func ask(t *testing.T, h http.Handler, method, path, body string, headers map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost:49999"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range headers {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestSDK drives the handler with the SDK from PyPI.
func TestSDK(t *testing.T) {
	packages := webtest.Tool(t, "python")
	l, err := net.Listen("tcp", "localhost:49999") // where the SDK looks in its debug mode
	for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		l, err = net.Listen("tcp", "localhost:49999") // somebody's connection may have had the port for its other end
	}
	if err != nil {
		webtest.Missing(t, "port 49999 of localhost is not free: "+err.Error())
	}
	srv := &http.Server{Handler: handler(t, e2b.Config{})}
	go srv.Serve(l)
	defer srv.Close()
	cmd := exec.Command("python3", "testdata/sdk.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages, "E2B_DEBUG=true", "E2B_API_KEY=none")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "all is well\n") {
		t.Fatalf("sdk.py: %v\n%s", err, out)
	}
}

func TestLines(t *testing.T) {
	h := handler(t, e2b.Config{})
	w := ask(t, h, "POST", "/execute", `{"code": "print(1)\n{\"a\": 2}"}`, nil)
	var types []string
	for s := bufio.NewScanner(w.Body); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("%q: %v", s.Bytes(), err)
		}
		types = append(types, line["type"].(string))
		if line["type"] == "result" && (line["text"] != "{'a': 2}" || line["is_main_result"] != true) {
			t.Errorf("result: %v", line)
		}
	}
	if got := strings.Join(types, " "); got != "number_of_executions stdout result" {
		t.Errorf("lines: %s", got)
	}
}

// TestRefusals checks that no web page can use what asks for no key.
func TestRefusals(t *testing.T) {
	h := handler(t, e2b.Config{})
	run := `{"code": "1"}`
	for _, c := range []struct {
		method, path, body string
		headers            map[string]string
		want               int
	}{
		{"POST", "/execute", run, map[string]string{"Host": "evil.example:49999"}, 421},
		{"POST", "/execute", run, map[string]string{"Host": "192.168.1.5:49999"}, 421},
		{"POST", "/execute", run, map[string]string{"Origin": "http://localhost:49999"}, 403},
		{"POST", "/execute", run, map[string]string{"Origin": "null"}, 403},
		{"POST", "/execute", run, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"POST", "/execute", run, map[string]string{"Content-Type": "text/plain"}, 415},
		{"GET", "/contexts", "", map[string]string{"Host": "evil.example"}, 421},
		{"POST", "/execute", "{", nil, 400},
		{"POST", "/execute", `{"code": "1", "env_vars": {"A=B": "x"}}`, nil, 400},
		{"POST", "/execute", `{"code": "1", "context_id": "none"}`, nil, 404},
		{"POST", "/contexts", `{"language": "cobol"}`, nil, 400},
		{"POST", "/contexts", `{"cwd": "/proc/nothing\u0000"}`, nil, 400},
		{"DELETE", "/contexts/none", "", nil, 404},
		{"GET", "/execute", "", nil, 405},
		{"POST", "/execute", run, map[string]string{"Host": "[::1]:49999"}, 200},
		{"POST", "/execute", run, map[string]string{"Host": "127.0.0.1"}, 200},
	} {
		if got := ask(t, h, c.method, c.path, c.body, c.headers).Code; got != c.want {
			t.Errorf("%s %s %s %v: %d, want %d", c.method, c.path, c.body, c.headers, got, c.want)
		}
	}
}

func TestContextsMakeRoom(t *testing.T) {
	h := handler(t, e2b.Config{MaxContexts: 2})
	var ids []string
	for range 3 {
		w := ask(t, h, "POST", "/contexts", `{"language": "javascript"}`, nil)
		var c struct{ ID string }
		if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || c.ID == "" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		ids = append(ids, c.ID)
	}
	for i, want := range []int{404, 200, 200} {
		if got := ask(t, h, "POST", "/execute", `{"code": "1", "context_id": "`+ids[i]+`"}`, nil).Code; got != want {
			t.Errorf("context %d: %d, want %d", i, got, want)
		}
	}
}
