package web_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
)

// TestSettingsAsJSON: a worker is told its settings as JSON, and nothing of them may get lost on the way.
func TestSettingsAsJSON(t *testing.T) {
	t.Setenv("TOKEN", "Bearer 0123456789")
	text := strings.Replace(config, `private = ["10.0.0.0/8"] }`,
		`private = ["10.0.0.0/8"], secrets = [{ for = "https://api.example.com", header = "Authorization", env = "TOKEN" }] }
		mailbox = { tasks = {} }
		shared = { board = { path = "/board" } }`, 1)
	s, err := web.ParseSettings("c.toml", []byte(text), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got web.Settings
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	pattern := cmp.Comparer(func(a, b fetch.Pattern) bool { return a.String() == b.String() })
	if diff := cmp.Diff(s, &got, pattern, cmp.Exporter(func(typ reflect.Type) bool { return true })); diff != "" {
		t.Error(diff)
	}
	if p := got.Config.Keys[0].Policy.Network; len(p.Secrets) != 1 || p.Secrets[0].Value != "Bearer 0123456789" {
		t.Errorf("the network is %+v", p)
	}
}

// TestRecordOfWorker: what a worker tells of a run is held to its key, and to names that there are.
func TestRecordOfWorker(t *testing.T) {
	s := serve(t, nil)
	key := &web.Key{Name: "test"}
	good := web.Ran{
		Record: web.AuditRecord{ID: "run_of_worker", Key: "someone else", Language: "python", Status: "ok", Usage: &limits.Usage{Fuel: 7}},
		Tools:  map[string]int{"ok": 2}, Requests: map[string]int{"false": 3},
	}
	s.web.Record(key, good)
	for _, change := range []func(*web.Ran){
		func(r *web.Ran) { r.Record.Language = "cobol" },
		func(r *web.Ran) { r.Record.Status = "splendid" },
		func(r *web.Ran) { r.Tools = map[string]int{"x": 1} },
		func(r *web.Ran) { r.Requests = map[string]int{"true": -1} },
		func(r *web.Ran) { r.Requests = map[string]int{"false": math.MaxInt} },
		func(r *web.Ran) { r.Record.SessionID = strings.Repeat("x", 2<<20) },
		func(r *web.Ran) { r.Record.ToolCalls = make([]hostfuncs.ToolCall, 21) },
	} {
		bad := good
		change(&bad)
		s.web.Record(key, bad)
	}
	list := web.AuditList{}
	s.do("GET", "/v1/audit", nil).must(200, &list)
	if len(list.Records) != 1 || list.Records[0].Key != "test" || list.Records[0].ID != "run_of_worker" {
		t.Errorf("the audit is %+v", list)
	}
	text := string(s.do("GET", "/metrics", nil).must(200, nil).body)
	for _, want := range []string{`cloche_runs_total{key="test",language="python",status="ok"} 1`, `cloche_tool_calls_total{outcome="ok"} 2`, `cloche_http_requests_total{allowed="false"} 3`, `cloche_fuel_total{key="test",language="python"} 7`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if n := strings.Count(s.log.String(), "a run that cannot be"); n != 7 {
		t.Errorf("the log tells of %d records that cannot be", n)
	}
}

// FuzzRan: whatever a worker that was taken over tells of a run, it is put on record or refused.
func FuzzRan(f *testing.F) {
	f.Add([]byte(`{"record":{"id":"run_1","language":"python","status":"ok","usage":{"fuel":7},"tool_calls":[{"name":"a"}]},"waited":-1,"tools":{"ok":1},"requests":{"true":2}}`))
	f.Add([]byte(`{"record":{"language":"javascript","status":"failed"},"requests":{"maybe":1}}`))
	s := serve(f, nil)
	f.Fuzz(func(_ *testing.T, b []byte) {
		var r web.Ran
		if json.Unmarshal(b, &r) == nil {
			s.web.Record(&web.Key{Name: "test"}, r)
		}
	})
}
