package web_test

import (
	"testing"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
)

// TestShared: the programs of a key share its folders, as far as they ask for them, and those of another key have others.
func TestShared(t *testing.T) {
	const other = "another secret, which is long enough"
	policy := web.Policy{Shared: []limits.Shared{{Name: "board", Path: "/shared/board", Mode: limits.SharedReadWrite}, {Name: "log", Path: "/shared/log", Mode: limits.SharedAppend}}}
	s := serve(t, func(c *web.Config) {
		c.Keys[0].Policy = policy
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other), Policy: policy})
	})
	stdout := func(path string, body object, headers ...string) string {
		t.Helper()
		var res struct{ Stdout, Stderr string }
		s.do("POST", path, body, headers...).must(200, &res)
		return res.Stdout + res.Stderr
	}
	writer := s.session(object{"shared": object{"board": "rw", "log": "append"}})
	if got := stdout(writer+"/execute", object{"code": "open('/shared/board/f', 'w').write('hello')\nprint(open('/shared/log/l', 'a').write('x'))"}); got != "1\n" {
		t.Errorf("writer: %s", got)
	}
	if r := s.do("GET", writer+"/files/%2Fshared%2Fboard%2Ff", nil); r.status != 200 || string(r.body) != "hello" {
		t.Errorf("over HTTP: %d %s", r.status, r.body)
	}
	const list = "const fs = require('fs');\nconsole.log(fs.existsSync('/shared') ? fs.readdirSync('/shared/board').join() : 'none');"
	reader := object{"language": "javascript", "code": list, "shared": object{"board": "ro"}}
	if got := stdout("/v1/execute", reader); got != "f\n" {
		t.Errorf("reader: %s", got)
	}
	if got := stdout("/v1/execute", reader, "Authorization: Bearer "+other); got != "\n" {
		t.Errorf("the other key's reader: %s", got)
	}
	if got := stdout("/v1/execute", object{"language": "javascript", "code": list}); got != "none\n" {
		t.Errorf("who does not ask: %s", got)
	}
	for name, want := range map[string]struct {
		shared object
		status int
		code   string
	}{
		"more than the policy": {object{"log": "rw"}, 403, "forbidden"},
		"unknown":              {object{"secrets": "ro"}, 403, "forbidden"},
		"no mode":              {object{"board": "write"}, 400, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			s.do("POST", "/v1/execute", object{"code": "1", "shared": want.shared}).mustFail(want.status, want.code, "shared")
			s.do("POST", "/v1/sessions", object{"shared": want.shared}).mustFail(want.status, want.code, "shared")
		})
	}
}
