package web_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// described holds requests and answers of a server against its own description.
type described struct {
	*server
	router routers.Router
	seen   map[string]bool
}

func (d *described) call(method, path string, body any, headers ...string) reply {
	d.t.Helper()
	r := d.do(method, path, body, headers...)
	req := d.request(method, path, body, headers...)
	route, parameters, err := d.router.FindRoute(req)
	if err != nil {
		d.t.Errorf("%s %s: %v", method, path, err)
		return r
	}
	d.seen[method+" "+route.Path] = true
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), in); (err == nil) == (r.status == 400) {
		d.t.Errorf("%s %s is answered with %d, and the description says: %v", method, path, r.status, err)
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: r.status, Header: r.header, Body: io.NopCloser(bytes.NewReader(r.body)), Options: in.Options,
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		d.t.Errorf("%s %s: the answer is not as described: %v\n%s", method, path, err, r.body)
	}
	return r
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
	d.call("DELETE", "/v1/executions/"+res.ID, nil)
	d.call("POST", "/v1/executions/"+res.ID+"/tool_results", object{"call_id": "x"})
	var info struct{ ID string }
	d.call("POST", "/v1/sessions", object{"metadata": object{"a": "b"}, "on_error": "rollback"}).must(201, &info)
	p := "/v1/sessions/" + info.ID
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/v1/sessions", nil}, {"GET", p, nil}, {"GET", "/v1/sessions/ses_x", nil}, {"PATCH", p, object{"idle_timeout_s": 60}},
		{"POST", p + "/execute", object{"code": "x = 1"}}, {"POST", p + "/interrupt", nil}, {"GET", p + "/history", nil},
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
	d.call("DELETE", p, nil)
	missing := []string{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if !d.seen[method+" "+path] {
				missing = append(missing, method+" "+path)
			}
		}
	}
	if len(missing) > 9 { // streams, raw bodies and what other tests hold against their own types
		t.Errorf("not held against the description: %s", strings.Join(missing, ", "))
	}
	s.key = ""
	if r := s.do("GET", "/v1/openapi.json", nil); r.status != http.StatusUnauthorized {
		t.Errorf("the description without a key: %d", r.status)
	}
}
