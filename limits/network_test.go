package limits_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/limits"
)

func TestPolicyNetworkAndTools(t *testing.T) {
	p, err := limits.ParsePolicy("p.toml", []byte(`
[network]
profile = "api"
allow = ["https://api.example.com/v1/*"]
private = ["10.1.0.0/16"]
requests = 7
response_size = "2MiB"
timeout = "3s"
secrets = [{ for = "https://api.example.com", header = "Authorization", env = "TOKEN", prefix = "Bearer " }]
[tools]
calls = 9
[tools.mcp.b]
command = "server"
[tools.mcp.a]
command = ["server", "-x"]
env = { K = "V" }
only = ["one"]
calls = 2
timeout = "5s"
`))
	if err != nil {
		t.Fatal(err)
	}
	network := &limits.Network{
		Profile: "api", Allow: []string{"https://api.example.com/v1/*"}, Private: []string{"10.1.0.0/16"}, Requests: 7, ResponseBytes: 2 << 20,
		Timeout: 3 * time.Second, Secrets: []limits.NetworkSecret{{For: "https://api.example.com", Header: "Authorization", Env: "TOKEN", Prefix: "Bearer "}},
	}
	tools := &limits.Tools{Calls: 9, MCP: []limits.MCPServer{
		{Name: "a", Command: []string{"server", "-x"}, Env: map[string]string{"K": "V"}, Only: []string{"one"}, Calls: 2, Timeout: 5 * time.Second},
		{Name: "b", Command: []string{"server"}},
	}}
	if d := cmp.Diff(network, p.Network); d != "" {
		t.Errorf("network (-want +got):\n%s", d)
	}
	if d := cmp.Diff(tools, p.Tools); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	for text, want := range map[string]string{
		"[network]\nhosts = []":                              "p.toml:2: unknown key \"hosts\" in [network]",
		"[network]\nallow = 'x'":                             "p.toml:2: allow of [network] must be a list of strings",
		"[network]\nallow = [1]":                             "must hold strings",
		"[network]\nrequests = 0":                            "requests of [network] is 0, must be from 1",
		"[network]\ntimeout = 3":                             "has no unit",
		"[network]\nsecrets = ['x']":                         "must be a list of tables",
		"[network]\nsecrets = [{ for = 'x' }]":               "a secret needs for, header and env",
		"[network]\nsecrets = [{ value = 'x' }]":             `unknown key "value" in a secret`,
		"[network]\nprofile = 1":                             "profile of [network] must be a string",
		"network = 1":                                        "network must be a table",
		"[tools]\nx = 1":                                     `unknown key "x" in [tools]`,
		"[tools.mcp.a]\nenv = {}":                            "[tools.mcp.a] has no command",
		"[tools.mcp.a]\ncommand = []":                        "[tools.mcp.a] has no command",
		"[tools.mcp.a]\ncommand = 'x'\nargs = []":            `unknown key "args" in [tools.mcp.a]`,
		"[tools.mcp.a]\ncommand = 'x'\ntimeout = '0s'":       "must be from 1ms",
		"[tools.mcp.a]\ncommand = 'x'\nenv = { 'A=B' = '' }": "must not contain",
	} {
		if _, err := limits.ParsePolicy("p.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
