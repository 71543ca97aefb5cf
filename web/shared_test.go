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
	writer := s.session(object{"shared": object{"board": "rw", "log": "append"}})
	if got := s.output(writer+"/execute", object{"code": "open('/shared/board/f', 'w').write('hello')\nprint(open('/shared/log/l', 'a').write('x'))"}); got != "1\n" {
		t.Errorf("writer: %s", got)
	}
	if r := s.do("GET", writer+"/files/%2Fshared%2Fboard%2Ff", nil); r.status != 200 || string(r.body) != "hello" {
		t.Errorf("over HTTP: %d %s", r.status, r.body)
	}
	const list = "const fs = require('fs');\nconsole.log(fs.existsSync('/shared') ? fs.readdirSync('/shared/board').join() : 'none');"
	reader := object{"language": "javascript", "code": list, "shared": object{"board": "ro"}}
	if got := s.output("/v1/execute", reader); got != "f\n" {
		t.Errorf("reader: %s", got)
	}
	if got := s.output("/v1/execute", reader, "Authorization: Bearer "+other); got != "\n" {
		t.Errorf("the other key's reader: %s", got)
	}
	if got := s.output("/v1/execute", object{"language": "javascript", "code": list}); got != "none\n" {
		t.Errorf("who does not ask: %s", got)
	}
	s.refuses(t, "shared", map[string]refusal{
		"more than the policy": {object{"log": "rw"}, 403, "forbidden"},
		"unknown":              {object{"secrets": "ro"}, 403, "forbidden"},
		"no mode":              {object{"board": "write"}, 400, "invalid_request"},
	})
}
