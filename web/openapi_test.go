package web_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

const ndjson = "application/x-ndjson"

// described holds requests and answers of a server against its own description.
type described struct {
	*server
	router routers.Router
	seen   map[string]bool // "METHOD path status", where a status that says what was wrong is "default"
}

func (d *described) call(method, path string, body any, headers ...string) reply {
	d.t.Helper()
	r := d.do(method, path, body, headers...)
	in := d.find(d.request(method, path, body, headers...))
	if err := openapi3filter.ValidateRequest(context.Background(), in); (err == nil) == (r.status == 400) {
		d.t.Errorf("%s %s is answered with %d, and the description says: %v", method, path, r.status, err)
	}
	d.check(in, r)
	return r
}

// find is what the description says of a request.
func (d *described) find(req *http.Request) *openapi3filter.RequestValidationInput {
	d.t.Helper()
	route, parameters, err := d.router.FindRoute(req)
	if err != nil {
		d.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	return &openapi3filter.RequestValidationInput{
		Request: req, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true},
	}
}

// check holds an answer against the description.
func (d *described) check(in *openapi3filter.RequestValidationInput, r reply) {
	d.t.Helper()
	status := strconv.Itoa(r.status)
	if r.status >= 400 {
		status = "default"
	}
	d.seen[in.Request.Method+" "+in.Route.Path+" "+status] = true
	if in.Request.Method == http.MethodHead {
		return // which has no body
	}
	bodies := [][]byte{r.body}
	if r.header.Get("Content-Type") == ndjson { // whose lines are described
		bodies = bytes.Split(bytes.TrimSpace(r.body), []byte("\n"))
	}
	for _, body := range bodies {
		out := &openapi3filter.ResponseValidationInput{
			RequestValidationInput: in, Status: r.status, Header: r.header, Body: io.NopCloser(bytes.NewReader(body)), Options: in.Options,
		}
		if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
			d.t.Errorf("%s %s: the answer is not as described: %v\n%s", in.Request.Method, in.Request.URL, err, body)
		}
	}
}

// refuse asks for everything without a key.
func (d *described) refuse(doc *openapi3.T) {
	key := d.key
	d.key = ""
	defer func() { d.key = key }()
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			if o.Security != nil && len(*o.Security) == 0 {
				d.seen[method+" "+path+" default"] = true // refuses when the server stops
				continue
			}
			path := strings.NewReplacer("{id}", "x", "{path}", "x").Replace(path)
			d.check(d.find(d.request(method, path, nil)), d.do(method, path, nil).must(http.StatusUnauthorized, nil))
		}
	}
}

// tool answers the call of a tool.
func (d *described) tool() {
	st := d.stream("POST", "/v1/execute", object{"code": "import tools\ntools.ask()", "tools": []object{{"name": "ask"}}}, "Accept: text/event-stream")
	id := st.until("start").ExecutionID
	call := st.until("tool_call").CallID
	d.call("POST", "/v1/executions/"+id+"/tool_results", object{"call_id": call, "result": 1}).must(204, nil)
	st.until("end")
}

// suspended goes on with turns that wait for a tool.
func (d *described) suspended() {
	p := d.session(object{"tools": []object{{"name": "ask", "deferred": true}}})
	for _, headers := range [][]string{nil, {"Prefer: respond-async"}} {
		var res result
		d.call("POST", p+"/execute", object{"code": "await tools.ask.aio()"}).must(200, &res)
		if len(res.PendingCalls) != 1 {
			d.t.Fatalf("%+v", res)
		}
		d.call("POST", p+"/resume", object{"results": []object{{"call_id": res.PendingCalls[0].ID, "result": 1}}}, headers...)
	}
}

// TestDescription: the description of the API is well formed, and says of real requests and answers what is true.
func TestDescription(t *testing.T) {
	s := serve(t, nil)
	text := s.do("GET", "/v1/openapi.json", nil).must(200, nil).body
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	doc.Servers = openapi3.Servers{{URL: s.url}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"application/octet-stream", "application/x-tar", "text/plain", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
	openapi3filter.RegisterBodyDecoder(ndjson, openapi3filter.JSONBodyDecoder)
	d := &described{s, router, map[string]bool{}}
	var res result
	d.call("POST", "/v1/execute", object{"code": "import pandas as pd\nopen('f','wb').write(bytes([255]))\nprint('x')\nimport matplotlib.pyplot as plt; plt.plot([1]); plt.show()\npd.DataFrame({'a':[1]})",
		"collect": []string{"*"}, "limits": object{"timeout_ms": 20000}, "inputs": object{"a": nil}}).must(200, &res)
	d.call("POST", "/v1/execute", object{"code": "1/0"})
	d.call("POST", "/v1/execute", object{"code": "1", "colour": 1})
	d.call("POST", "/v1/execute", object{"code": 1})
	d.call("POST", "/v1/execute", object{})
	d.call("POST", "/v1/execute", object{"code": "1"}, "Prefer: respond-async").must(202, nil)
	d.call("GET", "/v1/executions/"+res.ID, nil)
	d.call("GET", "/v1/executions/"+res.ID+"/events", nil)
	d.call("GET", "/v1/executions/"+res.ID+"/autopsy", nil)
	d.call("DELETE", "/v1/executions/"+res.ID, nil)
	d.call("POST", "/v1/executions/"+res.ID+"/tool_results", object{"call_id": "x", "result": nil})
	var info struct{ ID string }
	d.call("POST", "/v1/sessions", object{"metadata": object{"a": "b"}, "on_error": "rollback", "autopsy_s": 60}).must(201, &info)
	p := "/v1/sessions/" + info.ID
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/v1/sessions", nil}, {"GET", p, nil}, {"GET", "/v1/sessions/ses_x", nil}, {"PATCH", p, object{"idle_timeout_s": 60}},
		{"POST", p + "/execute", object{"code": "x = 1"}}, {"POST", p + "/interrupt", nil}, {"GET", p + "/history", nil}, {"GET", p + "/autopsy", nil},
		{"POST", p + "/resume", object{"cancel": true}},
		{"POST", p + "/rollback", object{"to": 0}}, {"POST", p + "/reset", nil}, {"POST", p + "/fork", object{"count": 1}},
		{"POST", p + "/snapshots", object{}}, {"GET", "/v1/snapshots", nil}, {"GET", p + "/files", nil}, {"GET", p + "/archive", nil},
		{"GET", "/v1/runtimes", nil}, {"GET", "/v1/audit", nil}, {"GET", "/healthz", nil}, {"GET", "/readyz", nil}, {"GET", "/v1/openapi.json", nil},
	} {
		d.call(c.method, c.path, c.body)
	}
	d.call("PUT", p+"/files/a.txt", "text", "Content-Type: application/octet-stream")
	d.call("GET", p+"/files/a.txt", nil, "Range: bytes=0-1").must(206, nil)
	d.call("DELETE", p+"/files/a.txt", nil)
	d.call("POST", "/v1/execute", object{"code": "1"}, "Accept: text/event-stream").must(200, nil)
	d.call("POST", p+"/execute", object{"code": "1"}, "Accept: application/x-ndjson").must(200, nil)
	d.call("POST", p+"/execute", object{"code": "1"}, "Prefer: respond-async").must(202, nil)
	eventually(t, "the session is free", func() bool { return s.do("POST", p+"/execute", object{"code": "1"}).status == 200 })
	d.call("POST", p+"/execute", object{"code": "while True: pass", "limits": object{"fuel": 10_000_000}}).must(200, nil)
	d.call("GET", p+"/autopsy", nil).must(200, nil)
	d.call("POST", "/v1/execute", object{"code": "while True: pass", "limits": object{"fuel": 10_000_000}, "autopsy_s": 1}).must(200, &res)
	d.call("GET", "/v1/executions/"+res.ID+"/autopsy", nil).must(200, nil)
	d.call("GET", "/metrics", nil).must(200, nil)
	d.call("GET", p+"/ws", nil)
	d.call("PUT", p+"/files/a.txt", "text", "Content-Type: application/octet-stream")
	d.call("GET", p+"/files/a.txt", nil).must(200, nil)
	tar := d.call("GET", p+"/archive", nil).must(200, nil).body
	d.call("PUT", p+"/archive", tar, "Content-Type: application/x-tar").must(200, nil)
	var snapshot struct{ ID string }
	d.call("POST", p+"/snapshots", object{}).must(201, &snapshot)
	d.call("GET", "/v1/snapshots/"+snapshot.ID, nil)
	exported := d.call("GET", "/v1/snapshots/"+snapshot.ID+"/export", nil).must(200, nil).body
	d.call("POST", "/v1/snapshots/import", exported, "Content-Type: application/octet-stream").must(201, nil)
	d.call("DELETE", "/v1/snapshots/"+snapshot.ID, nil).must(204, nil)
	d.tool()
	d.suspended()
	d.call("DELETE", p, nil).must(204, nil)
	d.refuse(doc)
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			for status := range o.Responses.Map() {
				if status != "101" && !d.seen[method+" "+path+" "+status] { // WebSockets are TestSocket's
					t.Errorf("not held against the description: %s %s %s", method, path, status)
				}
			}
		}
	}
}
