package web_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/web"
)

func TestForkAndSnapshot(t *testing.T) {
	const other = "another-key-0123456789-0123456789-0123456789"
	s := serve(t, func(c *web.Config) {
		c.Keys[0].Policy.MaxSessions = 5
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other)})
	})
	for _, lang := range []struct{ name, set, change, get string }{
		{"python", "x = 1\nopen('f','w').write('file')", "x = 2", "print(x, open('f').read())"},
		{"javascript", "let x = 1; require('fs').writeFileSync('f', 'file')", "x = 2", "console.log(x, require('fs').readFileSync('f', 'utf8'))"},
	} {
		p := s.session(object{"language": lang.name, "metadata": object{"who": "me"}})
		s.execute(p+"/execute", object{"code": lang.set}, "ok")
		var info web.SnapshotInfo
		r := s.do("POST", p+"/snapshots", object{"metadata": object{"step": "1"}}).must(201, &info)
		if info.Language != lang.name || info.Turns != 1 || info.FileBytes == 0 || info.Metadata["step"] != "1" || r.header.Get("Location") != "/v1/snapshots/"+info.ID {
			t.Errorf("%+v", info)
		}
		s.execute(p+"/execute", object{"code": lang.change}, "ok")
		var forks web.SessionList
		s.do("POST", p+"/fork", object{"count": 2}).must(201, &forks)
		if len(forks.Sessions) != 2 || forks.Sessions[0].Metadata["who"] != "me" {
			t.Fatalf("%+v", forks)
		}
		for _, f := range forks.Sessions {
			if res := s.execute("/v1/sessions/"+f.ID+"/execute", object{"code": lang.get}, "ok"); res.Stdout != "2 file\n" {
				t.Errorf("fork: %+v", res)
			}
		}
		s.do("POST", p+"/fork", object{"count": 3}).mustFail(429, "too_many_requests", "delete one")
		if res := s.run(object{"snapshot": info.ID, "code": lang.get}, "ok"); res.Stdout != "1 file\n" || res.Language != lang.name {
			t.Errorf("run: %+v", res)
		}
		exported := s.do("GET", "/v1/snapshots/"+info.ID+"/export", nil).must(200, nil)
		var imported web.SnapshotInfo
		s.do("POST", "/v1/snapshots/import", exported.body).must(201, &imported)
		q := s.session(object{"snapshot": imported.ID, "files": []object{{"path": "f", "content": "new"}}})
		if res := s.execute(q+"/execute", object{"code": lang.get}, "ok"); res.Stdout != "1 new\n" {
			t.Errorf("restored: %+v", res)
		}
		exported.body[len(exported.body)/2] ^= 1
		s.do("POST", "/v1/snapshots/import", exported.body).mustFail(400, "invalid_request", "snapshot")
		s.do("POST", "/v1/execute", object{"snapshot": "snap_x", "code": "1"}).mustFail(404, "not_found", "snapshot")
		s.do("POST", "/v1/sessions", object{"snapshot": info.ID, "language": map[string]string{"python": "javascript", "javascript": "python"}[lang.name]}).mustFail(400, "invalid_request", "snapshot")
		s.key = other
		s.do("GET", "/v1/snapshots/"+info.ID, nil).mustFail(404, "not_found", "snapshot")
		s.do("POST", "/v1/execute", object{"snapshot": info.ID, "code": "1"}).mustFail(404, "not_found", "snapshot")
		s.key = secret
		var list web.SnapshotList
		s.do("GET", "/v1/snapshots", nil).must(200, &list)
		if len(list.Snapshots) != 2 || list.Snapshots[0].ID != info.ID {
			t.Errorf("%+v", list)
		}
		for _, sn := range list.Snapshots {
			if r := s.do("DELETE", "/v1/snapshots/"+sn.ID, nil); r.status != 204 {
				t.Errorf("delete: %d %s", r.status, r.body)
			}
		}
		var sessions web.SessionList
		s.do("GET", "/v1/sessions", nil).must(200, &sessions)
		for _, sn := range sessions.Sessions {
			s.do("DELETE", "/v1/sessions/"+sn.ID, nil)
		}
	}
}

// TestSnapshotsHoldNoMoreThanSessions: what a key's snapshots hold together is bounded, whatever becomes of the sessions that they
// were taken of, and of the server.
func TestSnapshotsHoldNoMoreThanSessions(t *testing.T) {
	dir := t.TempDir()
	change := func(c *web.Config) {
		c.SnapshotDir = dir
		p := &c.Keys[0].Policy
		p.MaxSessions, p.Max.MemoryBytes, p.Max.DiskBytes = 1, 40<<20, 8<<20
	}
	s, stop := listen(t, change, web.ServeOptions{})
	var exported []byte
	fill := func(s *server) reply {
		p := s.session(object{"language": "javascript"})
		s.execute(p+"/execute", object{"code": "const much = require('crypto').randomBytes(18 << 20)"}, "ok")
		r := s.do("POST", p+"/snapshots", nil)
		s.do("DELETE", p, nil).must(204, nil)
		return r
	}
	var first, second web.SnapshotInfo
	fill(s).must(201, &first)
	fill(s).must(201, &second)
	fill(s).mustFail(429, "too_many_requests", "delete one")
	exported = s.do("GET", "/v1/snapshots/"+first.ID+"/export", nil).must(200, nil).body
	s.do("POST", "/v1/snapshots/import", exported).mustFail(429, "too_many_requests", "delete one")
	s.do("POST", "/v1/snapshots/import", make([]byte, 65<<20)).mustFail(413, "too_large", "may have") // before it is read
	s.do("DELETE", "/v1/snapshots/"+first.ID, nil).must(204, nil)
	s.do("POST", "/v1/snapshots/import", exported).must(201, nil)
	fill(s).mustFail(429, "too_many_requests", "delete one")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s, stop = listen(t, change, web.ServeOptions{})
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	fill(s).mustFail(429, "too_many_requests", "delete one")
	s.do("DELETE", "/v1/snapshots/"+second.ID, nil).must(204, nil)
	fill(s).must(201, nil)
}

// TestSnapshotsMoveOneByOne: each that is sent is held in memory whole, for as long as its client takes.
func TestSnapshotsMoveOneByOne(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{"language": "javascript"})
	s.execute(p+"/execute", object{"code": "const much = require('crypto').randomBytes(24 << 20)"}, "ok")
	var info web.SnapshotInfo
	s.do("POST", p+"/snapshots", nil).must(201, &info)
	fetch := "/v1/snapshots/" + info.ID + "/export"
	slow, err := http.DefaultClient.Do(s.request("GET", fetch, nil))
	if err != nil {
		t.Fatal(err)
	}
	s.do("GET", fetch, nil).mustFail(429, "too_many_requests", "another snapshot")
	s.do("POST", "/v1/snapshots/import", "x").mustFail(429, "too_many_requests", "another snapshot")
	slow.Body.Close() // which its server notices
	for s.do("POST", "/v1/snapshots/import", "x").status == 429 {
		time.Sleep(time.Millisecond)
	}
	s.do("GET", fetch, nil).must(200, nil)
}

func TestRollbackAndHistory(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{})
	first := s.execute(p+"/execute", object{"code": "x = 1\nopen('f','w').write('1')"}, "ok")
	s.execute(p+"/execute", object{"code": "x = 2\nopen('f','w').write('2')"}, "ok")
	s.execute(p+"/execute", object{"code": "x = 3; del x"}, "ok")
	var list web.HistoryList
	s.do("GET", p+"/history", nil).must(200, &list)
	if len(list.History) != 4 || list.History[1].Turn != 1 || list.History[1].ID != first.ID {
		t.Fatalf("%+v", list)
	}
	var forks web.SessionList
	s.do("POST", p+"/fork", object{"turn": 2}).must(201, &forks)
	if res := s.execute("/v1/sessions/"+forks.Sessions[0].ID+"/execute", object{"code": "print(x, open('f').read())"}, "ok"); res.Stdout != "2 2\n" {
		t.Errorf("%+v", res)
	}
	var info web.SessionInfo
	s.do("POST", p+"/rollback", object{"to": 1}).must(200, &info)
	if res := s.execute(p+"/execute", object{"code": "print(x, open('f').read())"}, "ok"); res.Stdout != "1 1\n" || info.Turns != 1 {
		t.Errorf("%+v %+v", info, res)
	}
	s.do("POST", p+"/rollback", object{"to": 7}).mustFail(400, "invalid_request", "turn 7")
	s.do("POST", p+"/rollback", object{}).mustFail(400, "invalid_request", "to is missing")
}

func TestTemplate(t *testing.T) {
	eng, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := "web-test-" + strings.ToLower(rand.Text())[:8]
	if _, err := eng.BuildTemplate(context.Background(), name, engine.Options{Language: engine.JavaScript}, engine.Turn{Code: "var ready = 42"}); err != nil {
		t.Fatal(err)
	}
	defer eng.RemoveTemplate(name)
	s := serve(t, nil)
	if res := s.run(object{"language": "javascript", "template": name, "code": "console.log(ready)"}, "ok"); res.Stdout != "42\n" {
		t.Errorf("%+v", res)
	}
	p := s.session(object{"language": "javascript", "template": name})
	s.execute(p+"/execute", object{"code": "if (ready !== 42) throw 1"}, "ok")
	s.do("POST", "/v1/execute", object{"template": "none", "code": "1"}).mustFail(404, "not_found", "template")
}
