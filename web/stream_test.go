package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
)

// event is an event as a client sees it.
type event struct {
	ID          uint64
	Type        string
	Text        string
	ExecutionID string `json:"execution_id"`
	Data        map[string]any
	Main        bool
	Name        string
	CallID      string `json:"call_id"`
	Outcome     string
	Arguments   map[string]any
	Line        int
	Result      *result
	Error       *web.ErrorInfo

	name string // of the SSE event
	sse  string // its id
}

// stream is an answer that is read as it comes.
type stream struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
	kind string
}

func (s *server) stream(method, path string, body any, headers ...string) *stream {
	s.t.Helper()
	res, err := http.DefaultClient.Do(s.request(method, path, body, headers...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 {
		b, _ := io.ReadAll(res.Body)
		s.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, b)
	}
	return &stream{s.t, res.Body, bufio.NewReaderSize(res.Body, 1<<20), res.Header.Get("Content-Type")}
}

// next is the next event; false at the end. Pings are events of the type ping.
func (s *stream) next() (event, bool) {
	s.t.Helper()
	var e event
	for seen := false; ; seen = true {
		line, err := s.in.ReadString('\n')
		if err == io.EOF && line == "" && !seen {
			return e, false
		}
		if err != nil {
			s.t.Fatalf("%v after %q", err, line)
		}
		line = strings.TrimSuffix(line, "\n")
		if s.kind == "application/x-ndjson" {
			s.decode(line, &e)
			return e, true
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "":
			if value == "ping" {
				e.Type = "ping"
			} else {
				return e, true
			}
		case "id":
			e.sse = value
		case "event":
			e.name = value
		case "data":
			s.decode(value, &e)
		default:
			s.t.Fatalf("line %q", line)
		}
	}
}

func (s *stream) decode(text string, e *event) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(text), e); err != nil {
		s.t.Fatalf("%v: %q", err, text)
	}
}

// until reads events up to the first one of a type.
func (s *stream) until(kind string) event {
	s.t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended without %s", kind)
		}
		if e.Type == kind {
			return e
		}
	}
}

func (s *stream) all() []event {
	s.t.Helper()
	var out []event
	for {
		e, ok := s.next()
		if !ok {
			return out
		}
		out = append(out, e)
	}
}

func types(events []event) string {
	var names []string
	for _, e := range events {
		names = append(names, e.Type)
	}
	return strings.Join(names, " ")
}

const talkative = `
import sys, time
print("one"); print("two", file=sys.stderr)
display("shown")
print("é" * 10)
1/0`

func TestStreams(t *testing.T) {
	s := serve(t, nil)
	for _, accept := range []string{"text/event-stream", "application/x-ndjson"} {
		st := s.stream("POST", "/v1/execute", object{"code": talkative}, "Accept: "+accept)
		if st.kind != accept {
			t.Errorf("Content-Type %s", st.kind)
		}
		events := st.all()
		if got := types(events); got != "start stdout stderr result stdout stderr error end" {
			t.Fatalf("%s: %s", accept, got)
		}
		stdout := ""
		for i, e := range events {
			if e.ID != uint64(i+1) || (accept == "text/event-stream" && (e.name != e.Type || e.sse != string(rune('1'+i)))) {
				t.Errorf("event %d: %+v", i, e)
			}
			if e.Type == "stdout" {
				stdout += e.Text
			}
		}
		res := events[len(events)-1].Result
		if res.ID != events[0].ExecutionID || res.Status != "error" || res.Stdout != stdout || stdout != "one\néééééééééé\n" || events[6].Name != "ZeroDivisionError" || events[6].Line != 6 {
			t.Errorf("%+v", events)
		}
		replay := s.stream("GET", "/v1/executions/"+res.ID+"/events", nil, "Accept: "+accept, "Last-Event-ID: 4").all()
		if len(replay) != 4 || !slices.EqualFunc(replay, events[4:], func(a, b event) bool { return a.ID == b.ID && a.Type == b.Type && a.Text == b.Text }) {
			t.Errorf("replay %+v", replay)
		}
		var again result
		s.do("GET", "/v1/executions/"+res.ID, nil).must(200, &again)
		if again.ID != res.ID || again.Stdout != res.Stdout {
			t.Errorf("%+v", again)
		}
	}
	res := s.run(object{"code": "print(1)"}, "ok")
	if got := types(s.stream("GET", "/v1/executions/"+res.ID+"/events", nil).all()); got != "start stdout end" {
		t.Errorf("events of a run that nobody followed: %s", got)
	}
	s.do("GET", "/v1/executions/"+res.ID+"/events", nil, "Last-Event-ID: x").mustFail(400, "invalid_request", "whole number")
}

func TestStreamIsLive(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.Ping = 50 * time.Millisecond })
	for _, accept := range []string{"text/event-stream", "application/x-ndjson"} {
		st := s.stream("POST", "/v1/execute", object{"code": "import time\nprint('now', flush=True)\ntime.sleep(60)"}, "Accept: "+accept)
		id := st.until("start").ExecutionID
		if e := st.until("stdout"); e.Text != "now\n" {
			t.Errorf("%+v", e)
		}
		st.until("ping")
		var res result
		s.do("DELETE", "/v1/executions/"+id, nil).must(200, &res)
		if e := st.until("end"); e.Result.Status != "cancelled" || res.Status != "cancelled" || res.Stdout != "now\n" {
			t.Errorf("%+v %+v", e.Result, res)
		}
	}
}

// TestClientLeaves: what runs for a client that went away is stopped, unless it is detached.
func TestClientLeaves(t *testing.T) {
	s := serve(t, func(c *web.Config) {
		c.Keys[0].Policy.Mailbox = []limits.Channel{{Name: "told", Mode: limits.ChannelBoth}}
	})
	for _, accept := range []string{"text/event-stream", "application/json"} {
		for _, detach := range []bool{false, true} {
			p := s.session(object{"mailbox": object{"told": "receive"}})
			ctx, leave := context.WithCancel(context.Background())
			code := "import time\ntools.told.receive()\nfor i in range(30): time.sleep(0.01)\nprint('whole')"
			r := s.request("POST", p+"/execute", object{"code": code, "detach": detach}, "Accept: "+accept)
			go func() {
				if res, err := http.DefaultClient.Do(r.WithContext(ctx)); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}()
			var info web.SessionInfo
			eventually(t, "it runs", func() bool {
				s.do("GET", p, nil).must(200, &info)
				return info.ExecutionID != ""
			})
			leave()
			if detach { // and so has no other reason to end
				s.run(object{"code": "tools.told.send(1)", "mailbox": object{"told": "send"}}, "ok")
			}
			var res result
			eventually(t, "it ends", func() bool {
				s.do("GET", "/v1/executions/"+info.ExecutionID, nil).must(200, &res)
				return res.Status != "running"
			})
			if want := map[bool]string{false: "cancelled", true: "ok"}[detach]; res.Status != want {
				t.Errorf("%s, detach %v: %+v", accept, detach, res)
			}
		}
	}
}

func TestRespondAsync(t *testing.T) {
	s := serve(t, nil)
	var run web.Execution
	r := s.do("POST", "/v1/execute", object{"code": "tools.go_on(); print('done')", "tools": []object{{"name": "go_on"}}}, "Prefer: respond-async").must(202, &run)
	if run.Status != "running" || r.header.Get("Location") != "/v1/executions/"+run.ID {
		t.Errorf("%+v %v", run, r.header)
	}
	st := s.stream("GET", "/v1/executions/"+run.ID+"/events", nil)
	s.do("POST", "/v1/executions/"+run.ID+"/tool_results", object{"call_id": st.until("tool_call").CallID, "result": nil}).must(204, nil)
	if e := st.until("end"); e.Result.Stdout != "done\n" {
		t.Errorf("%+v", e)
	}
}

// TestBackPressure: a client that does not read slows the program down, and the program's time ends nevertheless.
func TestBackPressure(t *testing.T) {
	s := serve(t, nil)
	st := s.stream("POST", "/v1/execute", object{
		"code":   "import time\nt = time.time()\nwhile time.time() - t < 100: print('x' * 1000)",
		"limits": object{"timeout_ms": 1500, "output_bytes": 60 << 20},
	}, "Accept: application/x-ndjson")
	id := st.until("start").ExecutionID
	time.Sleep(time.Second) // the time in which it would print some hundred megabytes
	var res result
	eventually(t, "it ends", func() bool {
		s.do("GET", "/v1/executions/"+id, nil).must(200, &res)
		return res.Status != "running"
	})
	if res.Status != "timeout" || len(res.Stdout) > 30<<20 || res.Usage.WallMS > 60_000 {
		t.Errorf("status %s, %d bytes, %v ms", res.Status, len(res.Stdout), res.Usage.WallMS)
	}
	if e := st.until("end"); e.Result.Status != "timeout" {
		t.Errorf("status %s", e.Result.Status)
	}
}
