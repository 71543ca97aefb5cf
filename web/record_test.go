package web_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cloche-dev/cloche/web"
)

const trace = "0af7651916cd43dd8448eb211c80319c"

func TestAudit(t *testing.T) {
	const other = "another-key-0123456789-0123456789-0123456789"
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	s := serve(t, func(c *web.Config) {
		c.AuditFile = file
		c.Keys[0].Policy.Name = "small"
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other)})
	})
	const code = "print('private words')\n1/0"
	var res result
	r := s.do("POST", "/v1/execute", object{"code": code}, "X-Request-Id: mine-1", "Traceparent: 00-"+trace+"-b7ad6b7169203331-01").must(200, &res)
	if tp := r.header.Get("Traceparent"); !strings.HasPrefix(tp, "00-"+trace+"-") || strings.Contains(tp, "b7ad6b7169203331") || r.header.Get("X-Request-Id") != "mine-1" {
		t.Errorf("headers %v", r.header)
	}
	p := s.session(object{"language": "javascript"})
	s.execute(p+"/execute", object{"code": "1"}, "ok")
	var list web.AuditList
	s.do("GET", "/v1/audit", nil).must(200, &list)
	sum := sha256.Sum256([]byte(code))
	if len(list.Records) != 2 || list.Records[0].SessionID == "" || list.Records[0].Language != "javascript" {
		t.Fatalf("%+v", list)
	}
	a := list.Records[1]
	if a.ID != res.ID || a.Key != "test" || a.Policy != "small" || a.Status != "error" || a.ExitCode != 1 || a.CodeSHA256 != hex.EncodeToString(sum[:]) || a.Code != "" ||
		a.RequestID != "mine-1" || a.TraceID != trace || a.Usage.Fuel != res.Usage.Fuel || a.Network {
		t.Errorf("%+v", a)
	}
	s.do("GET", "/v1/audit?status=error&limit=1", nil).must(200, &list)
	if len(list.Records) != 1 || list.Records[0].ID != res.ID {
		t.Errorf("%+v", list)
	}
	s.do("GET", "/v1/audit?status=timeouts", nil).mustFail(400, "invalid_request", `status is "timeouts": there are failed, ok, error, timeout, `)
	s.do("GET", "/v1/audit?language=ruby", nil).mustFail(400, "invalid_request", `language "ruby" is unknown`)
	s.do("GET", "/v1/audit?limit=0", nil).mustFail(400, "invalid_request", "limit")
	b, err := os.ReadFile(file)
	if lines := strings.Count(string(b), "\n"); err != nil || lines != 2 || !json.Valid([]byte(strings.SplitN(string(b), "\n", 2)[0])) {
		t.Errorf("%v, file %s", err, b)
	}
	for _, secretText := range []string{"private words", secret} {
		if strings.Contains(s.log.String(), secretText) || strings.Contains(string(b), secretText) {
			t.Errorf("log or audit has %q", secretText)
		}
	}
	s.key = other
	s.do("GET", "/v1/audit", nil).must(200, &list)
	if len(list.Records) != 0 {
		t.Errorf("%+v", list)
	}
	s.do("GET", "/v1/audit?key=test", nil).mustFail(403, "forbidden", "admin")
	s.do("GET", "/metrics", nil).mustFail(403, "forbidden", "admin")
}

func TestMetricsAndLog(t *testing.T) {
	s := serve(t, nil)
	s.run(object{"code": "print(1)"}, "ok")
	s.run(object{"code": "while True: pass", "limits": object{"timeout_ms": 50}}, "timeout")
	text := string(s.do("GET", "/metrics", nil).must(200, nil).body)
	for _, want := range []string{
		`cloche_runs_total{key="test",language="python",status="ok"} 1`, `cloche_runs_total{key="test",language="python",status="timeout"} 1`,
		`cloche_run_seconds_count{language="python"} 2`, `cloche_responses_total{code="200",route="/v1/execute"} 2`, "cloche_running 0", "cloche_sessions 0",
		"process_open_fds", "go_goroutines", `cloche_start_seconds_count{language="python"} 2`, `cloche_private_bytes_count{language="python"} 2`, "cloche_disk_bytes_count 2",
		`cloche_pool_ready{language="python"}`, `cloche_pool_events_total{event="made",language="python"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, want := range []string{`"class":"operation"`, `"class":"resource"`, `"limit reached"`, `"key":"test"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, s.log)
		}
	}
	if strings.Contains(s.log.String(), `"class":"error"`) {
		t.Errorf("an error in the log:\n%s", s.log)
	}
}

func TestRuntimes(t *testing.T) {
	s := serve(t, nil)
	var list web.RuntimeList
	s.do("GET", "/v1/runtimes", nil).must(200, &list)
	languages := ""
	for _, r := range list.Runtimes {
		languages += strings.Join(r.Languages, " ") + " "
	}
	if !strings.Contains(languages, "python") || !strings.Contains(languages, "javascript typescript") || *list.Limits.TimeoutMS != 30_000 || *list.MaxLimits.TimeoutMS != 3_600_000 {
		t.Errorf("%+v", list)
	}
}

func TestIdempotency(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{})
	s.execute(p+"/execute", object{"code": "n = 0"}, "ok")
	body := object{"code": "import time; time.sleep(0.05)\nn += 1\nprint(n)"}
	var all sync.WaitGroup
	ids := make([]string, 8)
	replayed := make([]bool, 8)
	for i := range ids {
		all.Go(func() {
			var res result
			r := s.do("POST", p+"/execute", body, "Idempotency-Key: once").must(200, &res)
			ids[i], replayed[i] = res.ID, r.header.Get("Idempotency-Replayed") == "true"
			if res.Stdout != "1\n" {
				t.Errorf("%+v", res)
			}
		})
	}
	all.Wait()
	first := 0
	for i := range ids {
		if ids[i] != ids[0] {
			t.Errorf("runs %v", ids)
		}
		if !replayed[i] {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d answers are not marked as repeated", first)
	}
	if e := s.stream("POST", p+"/execute", body, "Idempotency-Key: once", "Accept: text/event-stream").until("end"); e.Result.ID != ids[0] {
		t.Errorf("%+v", e)
	}
	s.do("POST", p+"/execute", object{"code": "2"}, "Idempotency-Key: once").mustFail(422, "conflict", "another request")
	// A request that was refused may be mended.
	s.do("POST", "/v1/execute", object{"code": "1", "limits": object{"timeout_ms": 0}}, "Idempotency-Key: twice").mustFail(400, "invalid_request", "")
	s.do("POST", "/v1/execute", object{"code": "1"}, "Idempotency-Key: twice").must(200, nil)
	a, b := s.do("POST", "/v1/sessions", object{}, "Idempotency-Key: s").must(201, nil), s.do("POST", "/v1/sessions", object{}, "Idempotency-Key: s").must(201, nil)
	if string(a.body) != string(b.body) || a.header.Get("Location") != b.header.Get("Location") {
		t.Errorf("two sessions: %s %s", a.body, b.body)
	}
	s.do("DELETE", a.header.Get("Location"), nil).must(204, nil)
	s.do("POST", "/v1/sessions", object{}, "Idempotency-Key: s").mustFail(410, "expired", "no longer")
}

// What one key's programs are given, print and name is in no metric, no line of the log, and in nothing that another key can ask for.
func TestCanaryStaysWithItsKey(t *testing.T) {
	const other = "another-key-0123456789-0123456789-0123456789"
	s := serve(t, func(c *web.Config) {
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other)})
	})
	canary := "canary" + rand.Text()
	given := object{
		"language": "javascript", "name": canary + ".js", "args": []string{canary}, "env": object{"GIVEN": canary}, "stdin": canary,
		"inputs": object{"given": canary}, "files": []object{{"path": canary, "content": canary}},
	}
	for code, status := range map[string]string{
		"console.log(given); given": "ok", "throw new Error(given)": "error",
		"require('fs').writeFileSync(given, given); console.error(given); for (;;);": "timeout",
	} {
		given["code"] = "// " + canary + "\n" + code
		given["limits"] = object{}
		if status == "timeout" {
			given["limits"] = object{"timeout_ms": 300}
		}
		if res := s.run(given, status); status == "ok" && !strings.Contains(res.Stdout, canary) {
			t.Errorf("%s: its own result lacks the canary: %+v", code, res)
		}
	}
	p := s.session(object{"language": "javascript", "metadata": object{"is": canary}})
	s.execute(p+"/execute", object{"code": "var given = '" + canary + "'; console.log(given)"}, "ok")
	seen := map[string]string{"log": s.log.String(), "metrics": string(s.do("GET", "/metrics", nil).must(200, nil).body)}
	for _, route := range []string{"/v1/sessions", "/v1/snapshots", "/v1/runtimes", "/v1/audit"} {
		seen[route] = string(s.do("GET", route, nil, "Authorization: Bearer "+other).must(200, nil).body)
	}
	for _, route := range []string{p, p + "/history", p + "/files", p + "/autopsy"} {
		seen[route] = string(s.do("GET", route, nil, "Authorization: Bearer "+other).must(404, nil).body)
	}
	for where, text := range seen {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("%s: %s", where, text[max(0, i-100):min(len(text), i+100)])
		}
	}
	if !strings.Contains(seen["metrics"], "cloche_runs_total") || !strings.Contains(seen["log"], "timeout") {
		t.Error("the test looks in the wrong places")
	}
}
