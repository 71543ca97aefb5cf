package web_test

import (
	"testing"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
)

// TestMailbox: the sessions of a key meet in its channels, as far as they ask for them, and those of another key do not.
func TestMailbox(t *testing.T) {
	const other = "another secret, which is long enough"
	policy := web.Policy{Mailbox: []limits.Channel{{Name: "tasks", Mode: limits.ChannelBoth}, {Name: "log", Mode: limits.ChannelSend}}}
	s := serve(t, func(c *web.Config) {
		c.Keys[0].Policy = policy
		c.Keys = append(c.Keys, &web.Key{Name: "other", Hash: web.HashKey(other), Policy: policy})
	})
	boss := s.session(object{"mailbox": object{"tasks": "send"}})
	if got := s.output(boss+"/execute", object{"code": "tools.tasks.send({'n': 7})\nprint(dir(tools.tasks))"}); got != "['send']\n" {
		t.Errorf("boss: %s", got)
	}
	const receive = "try {\n  console.log((await tools.tasks.receive(0)).n);\n} catch (e) {\n  console.log(e.name);\n}"
	worker := object{"language": "javascript", "code": receive, "mailbox": object{"tasks": "receive"}}
	if got := s.output("/v1/execute", worker, "Authorization: Bearer "+other); got != "TimeoutError\n" {
		t.Errorf("the other key's worker: %s", got)
	}
	if got := s.output("/v1/execute", worker); got != "7\n" {
		t.Errorf("worker: %s", got)
	}
	if got := s.output("/v1/execute", object{"code": "try:\n  tools\nexcept NameError:\n  print('none')"}); got != "none\n" {
		t.Errorf("who does not ask: %s", got)
	}
	s.refuses(t, "mailbox", map[string]refusal{
		"more than the policy": {object{"log": "receive"}, 403, "forbidden"},
		"unknown":              {object{"secrets": "send"}, 403, "forbidden"},
		"no mode":              {object{"tasks": "write"}, 400, "invalid_request"},
	})
}
