package web_test

import (
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/web"
)

// TestDenials: what a key's programs are refused is on record with the rule, counted by key, and reported as it adds up.
func TestDenials(t *testing.T) {
	s := serve(t, nil)
	const code = `
		for (let i = 0; i < 7; i++) await fetch("http://10.0.0.1/x?token=private").catch(() => 0);
		for (const call of [() => tools.add({ a: "text" }), () => tools.add({})]) await call().catch(() => 0);`
	add := object{"name": "add", "input_schema": object{"type": "object", "properties": object{"a": object{"type": "integer"}}, "required": []string{"a"}}}
	body := object{"language": "javascript", "code": code, "tools": []object{add}}
	const report = "a key's programs are denied again and again"
	for run := range 12 {
		st := s.stream("POST", "/v1/execute", body, "Accept: text/event-stream")
		st.all()
		if n, want := strings.Count(s.log.String(), report), map[bool]int{true: 0, false: 1}[run == 0]+run/11; n != want {
			t.Fatalf("%d reports after %d denials, want %d", n, 9*(run+1), want)
		}
	}
	text := string(s.do("GET", "/metrics", nil).must(200, nil).body)
	for _, want := range []string{`cloche_denied_total{key="test",kind="request"} 84`, `cloche_denied_total{key="test",kind="tool"} 24`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in metrics", want)
		}
	}
	var list web.AuditList
	s.do("GET", "/v1/audit?limit=1", nil).must(200, &list)
	r := list.Records[0]
	if r.Denied != 9 || r.Calls != 9 || len(r.ToolCalls) != 2 || len(r.HTTPRequests) != 7 {
		t.Fatalf("%+v", r)
	}
	if c := r.ToolCalls[0]; c.Outcome != hostfuncs.OutcomeRefused || c.Rule != hostfuncs.RuleSchema || c.RequestBytes != len(`{"a":"text"}`) {
		t.Errorf("%+v", c)
	}
	if q := r.HTTPRequests[0]; q.Allowed || q.Reason != "this run has no network" {
		t.Errorf("%+v", q)
	}
	for _, want := range []string{`"denied":9`, `"rule":"schema"`, `"reason":"this run has no network"`, `"last":"GET http://10.0.0.1/x: this run has no network"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("no %s in the log", want)
		}
	}
	if strings.Contains(s.log.String(), "token=private") {
		t.Error("the log has the query of a URL")
	}
}

// TestCallsInTheLog: a program cannot fill the log by calling.
func TestCallsInTheLog(t *testing.T) {
	s := serve(t, nil)
	s.execute("/v1/execute", object{
		"language": "javascript", "code": `for (let i = 0; i < 130; i++) await fetch("http://10.0.0.1/").catch(() => 0);`,
	}, "ok")
	text := s.log.String()
	if n := strings.Count(text, `"msg":"http request"`); n != 100 {
		t.Errorf("%d lines for 130 requests, want 100", n)
	}
	if !strings.Contains(text, `"http_requests":30`) {
		t.Error("the log does not tell of the others")
	}
}
