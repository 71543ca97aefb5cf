package web_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/web"
)

func TestSession(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{"metadata": object{"who": "me"}, "idle_timeout_s": 60})
	s.execute(p+"/execute", object{"code": "x = 41"}, "ok")
	if res := s.execute(p+"/execute", object{"code": "print(x + 1)", "language": "python"}, "ok"); res.Stdout != "42\n" {
		t.Errorf("%+v", res)
	}
	var info web.SessionInfo
	s.do("GET", p, nil).must(200, &info)
	if info.Turns != 2 || info.Busy || info.Metadata["who"] != "me" || info.IdleTimeoutS != 60 || info.Language != "python" || *info.Limits.TimeoutMS != 30_000 {
		t.Errorf("%+v", info)
	}
	s.do("PATCH", p, object{"metadata": object{"who": "you"}, "max_lifetime_s": 100}).must(200, &info)
	if info.Metadata["who"] != "you" || info.MaxLifetimeS != 100 || info.IdleTimeoutS != 60 {
		t.Errorf("%+v", info)
	}
	var list web.SessionList
	s.do("GET", "/v1/sessions", nil).must(200, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].ID != info.ID {
		t.Errorf("%+v", list)
	}
	s.do("POST", p+"/reset", nil).must(200, &info)
	if res := s.execute(p+"/execute", object{"code": "x"}, "error"); res.Error.Name != "NameError" {
		t.Errorf("%+v", res)
	}
	s.do("POST", p+"/execute", object{"code": "1", "language": "javascript"}).mustFail(400, "invalid_request", "the session's is python")
	s.do("POST", p+"/execute", object{"code": "1", "limits": object{"memory_bytes": 1 << 30}}).mustFail(400, "invalid_request", "are the session's")
	if r := s.do("DELETE", p, nil); r.status != 204 {
		t.Errorf("delete: %d", r.status)
	}
	s.do("GET", p, nil).mustFail(404, "not_found", "session")
	s.do("DELETE", p, nil).mustFail(404, "not_found", "session")
}

func TestSessionLanguages(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{"language": "javascript"})
	s.execute(p+"/execute", object{"code": "const n = 6"}, "ok")
	if res := s.execute(p+"/execute", object{"code": "const m: number = n * 7; console.log(m)", "language": "typescript"}, "ok"); res.Stdout != "42\n" {
		t.Errorf("%+v", res)
	}
}

func TestSessionsBelongToTheirKey(t *testing.T) {
	const other = "another-key-0123456789-0123456789-0123456789"
	s := serve(t, func(c *web.Config) {
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other)})
	})
	p := s.session(object{})
	run := s.execute(p+"/execute", object{"code": "1"}, "ok").ID
	s.key = other
	for _, r := range [][2]string{{"GET", p}, {"DELETE", p}, {"POST", p + "/interrupt"}, {"GET", p + "/files"}, {"GET", p + "/archive"}, {"GET", "/v1/executions/" + run}, {"DELETE", "/v1/executions/" + run}} {
		s.do(r[0], r[1], nil).mustFail(404, "not_found", "there is no")
	}
	var list web.SessionList
	if s.do("GET", "/v1/sessions", nil).must(200, &list); len(list.Sessions) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestBusyAndInterrupt(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{})
	s.execute(p+"/execute", object{"code": "x = 1"}, "ok")
	ended := make(chan reply)
	go func() {
		ended <- s.do("POST", p+"/execute", object{"code": "try:\n  print('begun', flush=True)\n  while True: pass\nexcept KeyboardInterrupt:\n  print('interrupted')\n  raise"})
	}()
	var info web.SessionInfo
	eventually(t, "the session is busy", func() bool {
		s.do("GET", p, nil).must(200, &info)
		return info.Busy && info.ExecutionID != ""
	})
	s.do("POST", p+"/execute", object{"code": "1"}).mustFail(409, "busy", "busy")
	s.do("GET", p+"/files", nil).mustFail(409, "busy", "busy")
	var running web.Execution
	s.do("GET", "/v1/executions/"+info.ExecutionID, nil).must(200, &running)
	if running.Status != "running" || running.SessionID != info.ID {
		t.Errorf("%+v", running)
	}
	s.stream("GET", "/v1/executions/"+info.ExecutionID+"/events", nil).until("stdout")
	var told web.Interrupted
	eventually(t, "it is interrupted", func() bool {
		s.do("POST", p+"/interrupt", nil).must(200, &told)
		return told.Interrupted
	})
	var res result
	(<-ended).must(200, &res)
	if res.Status != "cancelled" || res.Stdout != "begun\ninterrupted\n" || told.ExecutionID != res.ID {
		t.Errorf("%+v after %+v", res, told)
	}
	s.execute(p+"/execute", object{"code": "assert x == 1"}, "ok")
	s.do("POST", p+"/interrupt", nil).must(200, &told)
	if told.Interrupted {
		t.Errorf("nothing ran, and was interrupted: %+v", told)
	}
}

func TestSessionExpires(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.IdleTimeout = 100 * time.Millisecond })
	p := s.session(object{})
	eventually(t, "the session expires", func() bool { return s.do("GET", p, nil).status == 410 })
	s.do("POST", p+"/execute", object{"code": "1"}).mustFail(410, "expired", "expired")
}

func TestSessionCap(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.Keys[0].Policy.MaxSessions = 1 })
	p := s.session(object{})
	r := s.do("POST", "/v1/sessions", object{})
	r.mustFail(429, "too_many_requests", "delete one")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.do("DELETE", p, nil)
	s.session(object{})
}

func TestFiles(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{"limits": object{"disk_bytes": 1 << 20}})
	content := strings.Repeat("0123456789", 10_000)
	var w web.FileWritten
	s.do("PUT", p+"/files/in/a%20b.txt", content).must(200, &w)
	if w.Path != "/data/in/a b.txt" || w.Bytes != 100_000 {
		t.Errorf("%+v", w)
	}
	s.execute(p+"/execute", object{"code": "d = open('in/a b.txt').read()\nassert len(d) == 100000\nopen('/tmp/t','w').write('tmp')"}, "ok")
	r := s.do("GET", p+"/files/in/a%20b.txt", nil).must(200, nil)
	if string(r.body) != content || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d bytes, %v", len(r.body), r.header)
	}
	for _, path := range []string{"/files//data/in/a%20b.txt", "/files/data/in/a%20b.txt", "/files/%2Fdata%2Fin%2Fa%20b.txt", "/files/x/../in/a%20b.txt"} {
		if r := s.do("GET", p+path, nil, "Range: bytes=10-19"); r.status != 206 || string(r.body) != "0123456789" || r.header.Get("Content-Range") != "bytes 10-19/100000" {
			t.Errorf("%s: %d %q %v", path, r.status, r.body, r.header)
		}
	}
	if r := s.do("GET", p+"/files//tmp/t", nil).must(200, nil); string(r.body) != "tmp" {
		t.Errorf("%q", r.body)
	}
	outside := s.do("GET", p+"/files/in/a%20b.txt", nil, "Range: bytes=100000-")
	outside.mustFail(416, "range_not_satisfiable", "is not within the file")
	if outside.header.Get("Content-Range") != "bytes */100000" || outside.header.Get("Content-Disposition") != "" {
		t.Errorf("%v", outside.header)
	}
	empty := s.do("GET", p+"/files/in/a%20b.txt", nil, "Range: bytes=-0, -00")
	empty.mustFail(416, "range_not_satisfiable", "asks for no bytes")
	if empty.header.Get("Content-Range") != "bytes */100000" || empty.header.Get("Content-Disposition") != "" {
		t.Errorf("%v", empty.header)
	}
	if r := s.do("GET", p+"/files/in/a%20b.txt", nil, "Range: bytes=-0,-2"); r.status != 206 || string(r.body) != content[len(content)-2:] {
		t.Errorf("%d %q", r.status, r.body)
	}
	for _, r := range []string{"lines=0-1", "bytes", ""} { // which is not understood, and so passed over
		if got := s.do("GET", p+"/files/in/a%20b.txt", nil, "Range: "+r); got.status != 200 || len(got.body) != len(content) {
			t.Errorf("range %q: %d", r, got.status)
		}
	}
	// Who means to make a new file, or to change one that is there, does nothing else. There are no tags that a condition could name.
	for _, c := range []struct {
		method, file, condition string
		status                  int
	}{
		{"PUT", "in/a%20b.txt", "If-None-Match: *", 412},
		{"PUT", "in", "If-None-Match: *", 412},
		{"PUT", "in/a%20b.txt", `If-Match: "tag"`, 412},
		{"GET", "in/a%20b.txt", `If-Match: "tag"`, 412},
		{"DELETE", "in/a%20b.txt", `If-Match: "tag"`, 412},
		{"PUT", "new", "If-Match: *", 412},
		{"PUT", "new", "If-None-Match: *", 200},
		{"PUT", "new", "If-Match: *", 200},
		{"PUT", "new", `If-None-Match: "tag"`, 200},
		{"DELETE", "new", "If-Match: *", 204},
		{"DELETE", "new", "If-Match: *", 412},
	} {
		var body any
		if c.method == "PUT" {
			body = "x"
		}
		r := s.do(c.method, p+"/files/"+c.file, body, c.condition)
		if c.status == 412 {
			r.mustFail(412, "precondition_failed", "")
		} else if r.status != c.status {
			t.Errorf("%s %s, %s: %d %s", c.method, c.file, c.condition, r.status, r.body)
		}
	}
	s.do("PUT", p+"/files/in/a%20b.txt", "part", "Content-Range: bytes 0-3/100000").mustFail(400, "invalid_request", "a file is written as a whole")
	s.do("PUT", p+"/files/folder/", "x").mustFail(400, "invalid_request", "must name a file")
	if r := s.do("HEAD", p+"/files/in/a%20b.txt", nil); r.status != 200 || r.header.Get("Content-Length") != "100000" {
		t.Errorf("head: %d %v", r.status, r.header)
	}
	var list web.FileList
	s.do("GET", p+"/files?path=in", nil).must(200, &list)
	if len(list.Files) != 1 || list.Files[0] != (web.FileInfo{Name: "a b.txt", Path: "/data/in/a b.txt", Bytes: 100_000}) {
		t.Errorf("%+v", list)
	}
	s.do("GET", p+"/files", nil).must(200, &list)
	if list.Path != "/data" || len(list.Files) != 1 || !list.Files[0].Dir {
		t.Errorf("%+v", list)
	}
	if r := s.do("DELETE", p+"/files/in/a%20b.txt", nil); r.status != 204 {
		t.Errorf("delete: %d %s", r.status, r.body)
	}
	s.do("GET", p+"/files/in/a%20b.txt", nil).mustFail(404, "not_found", "no such file")
	s.do("GET", p+"/files/in", nil).mustFail(409, "conflict", "is a folder")
	s.do("GET", p+"/files?path=none", nil).mustFail(404, "not_found", "no such file")
	s.do("PUT", p+"/files/%00", "x").mustFail(400, "invalid_request", "invalid")
	s.do("PUT", p+"/files/big", strings.Repeat("x", 2<<20)).mustFail(413, "too_large", "disk")
	s.do("PUT", p+"/files/empty", "").must(200, nil)
	s.do("GET", p+"/files/..%2f..%2f..%2f..%2fetc%2fpasswd", nil).mustFail(404, "not_found", "no such file")
}

func TestAutopsy(t *testing.T) {
	const other = "another-key-0123456789-0123456789-0123456789"
	s := serve(t, func(c *web.Config) {
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other)})
	})
	p := s.session(object{"language": "javascript", "autopsy_s": 60})
	s.do("GET", p+"/autopsy", nil).must(404, nil)
	s.execute(p+"/execute", object{"code": "const big = 'x'.repeat(1e6)"}, "ok")
	var res struct {
		ID      string
		Autopsy *engine.AutopsyRef
	}
	s.do("POST", p+"/execute", object{"code": "function f() {\n  for (;;);\n}\nf()", "limits": object{"fuel": 10_000_000}}).must(200, &res)
	if res.Autopsy == nil {
		t.Fatalf("%+v", res)
	}
	var about engine.Autopsy
	s.do("GET", p+"/autopsy", nil).must(200, &about)
	if about.ID != res.Autopsy.ID || about.Run != res.ID || about.Status != "out_of_fuel" || about.Frames[0].Function != "f" || about.Globals[0].Name != "big" {
		t.Errorf("%+v", about)
	}
	s.do("GET", p+"/autopsy", nil, "Authorization: Bearer "+other).must(404, nil)
	s.do("POST", "/v1/sessions", object{"autopsy_s": 601}).must(400, nil)

	// The turn is an execution like any other.
	var same engine.Autopsy
	s.do("GET", "/v1/executions/"+res.ID+"/autopsy", nil).must(200, &same)
	if same.ID != about.ID || same.Traceback != about.Traceback {
		t.Errorf("%+v", same)
	}
}

// A run in a fresh sandbox can be asked by whom it belongs to, if its request or the key's policy says so.
func TestAutopsyOfExecution(t *testing.T) {
	const other = "another-key-0123456789-0123456789-0123456789"
	s := serve(t, func(c *web.Config) {
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other), Policy: web.Policy{Autopsy: time.Minute}})
	})
	loop := object{"language": "javascript", "code": "function f() {\n  for (;;);\n}\nf()", "limits": object{"fuel": 10_000_000}}
	run := func(more object, headers ...string) (id string, ref *engine.AutopsyRef) {
		maps.Copy(more, loop)
		var res struct {
			ID      string
			Autopsy *engine.AutopsyRef
		}
		s.do("POST", "/v1/execute", more, headers...).must(200, &res)
		return "/v1/executions/" + res.ID + "/autopsy", res.Autopsy
	}
	path, ref := run(object{"autopsy_s": 60})
	var about engine.Autopsy
	s.do("GET", path, nil).must(200, &about)
	if ref == nil || about.ID != ref.ID || about.Frames[0].Function != "f" || about.Turn != 0 {
		t.Errorf("%v: %+v", ref, about)
	}
	s.do("GET", path, nil, "Authorization: Bearer "+other).must(404, nil)

	path, ref = run(object{})
	if ref != nil {
		t.Errorf("nobody wants %+v", ref)
	}
	s.do("GET", path, nil).mustFail(404, "not_found", "none was asked for")
	var fine result
	s.do("POST", "/v1/execute", object{"code": "1", "autopsy_s": 60}).must(200, &fine)
	s.do("GET", "/v1/executions/"+fine.ID+"/autopsy", nil).mustFail(404, "not_found", "was not stopped from outside")
	path, _ = run(object{"autopsy_s": 1})
	eventually(t, "its time is over", func() bool { return strings.Contains(string(s.do("GET", path, nil).body), "its time is over") })
	if _, ref = run(object{"autopsy_s": 0}, "Authorization: Bearer "+other); ref != nil {
		t.Errorf("the policy's, which the request turns off: %+v", ref)
	}

	path, _ = run(object{}, "Authorization: Bearer "+other)
	s.do("GET", path, nil, "Authorization: Bearer "+other).must(200, &about)
	if about.Frames[0].Function != "f" {
		t.Errorf("by the policy: %+v", about)
	}
	s.do("GET", path, nil).must(404, nil)

	p := s.session(object{"language": "javascript"})
	var snap web.SnapshotInfo
	s.do("POST", p+"/snapshots", nil).must(201, &snap)
	s.do("POST", "/v1/execute", object{"snapshot": snap.ID, "code": "1", "autopsy_s": 60}).mustFail(400, "invalid_request", "make a session")
}
