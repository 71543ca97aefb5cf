package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web"
)

const hashA, hashB = "sha256:11514b0458d37a0ca79a7a7bb920bea951445c5a107a991b521318960833be02", "sha256:21514b0458d37a0ca79a7a7bb920bea951445c5a107a991b521318960833be02"

const config = `listen = "127.0.0.1:1"
hosts = ["cloche.example.com"]
origins = ["https://tools.example.com"]
store = "/var/lib/cloche"
[tls]
cert = "c.pem"
key = "k.pem"
[server]
max_runs = 3
max_sessions = 4
max_connections = 5000
queue_wait = "2s"
max_body = "1MiB"
body_timeout = "3s"
write_timeout = "4s"
ping = "1s"
keep_results = "1m"
keep_bytes = "2MiB"
idle_timeout = "5m"
max_lifetime = "6h"
audit_code = true
audit_file = "a.jsonl"
grace = "7s"
warm = 8
pprof = true
[workers]
per = "key"
max = 3
idle = "9m"
patience = "11s"
[policies.small]
max_runs = 1
max_sessions = 2
env = { TZ = "UTC" }
packages = ["requests"]
review = { deny = ["os"] }
autopsy = "90s"
mounts = { "/data/in" = { host = "/srv/in" } }
network = { allow = ["https://api.example.com/*"], private = ["10.0.0.0/8"] }
limits = { timeout = "9s" }
max = { memory = "1GiB" }
[keys.ann]
hash = "` + hashA + `"
policy = "small"
admin = true
[keys.bob]
hash = "` + hashB + `"
`

func TestSettings(t *testing.T) {
	s, err := web.ParseSettings("c.toml", []byte(config), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config
	if s.Listen != "127.0.0.1:1" || s.Store != "/var/lib/cloche" || s.TLSCert != "c.pem" || s.TLSKey != "k.pem" || s.Grace != 7*time.Second || s.Warm != 8 || s.MaxConnections != 5000 || !s.Pprof {
		t.Errorf("%+v", s)
	}
	if c.Hosts[0] != "cloche.example.com" || c.Origins[0] != "https://tools.example.com" || c.MaxRuns != 3 || c.MaxSessions != 4 || c.QueueWait != 2*time.Second || c.MaxBodyBytes != 1<<20 ||
		c.BodyTimeout != 3*time.Second || c.WriteTimeout != 4*time.Second || c.Ping != time.Second || c.KeepResults != time.Minute || c.KeepBytes != 2<<20 ||
		c.IdleTimeout != 5*time.Minute || c.MaxLifetime != 6*time.Hour || !c.AuditCode || c.AuditFile != "a.jsonl" {
		t.Errorf("%+v", c)
	}
	ann, bob := c.Keys[0], c.Keys[1]
	if ann.Name != "ann" || !ann.Admin || ann.Hash.String() != hashA || bob.Admin || bob.Policy.Network != nil {
		t.Errorf("%+v %+v", ann, bob)
	}
	if w := s.Workers; w == nil || *w != (web.WorkerSettings{Max: 3, Idle: 9 * time.Minute, Patience: 11 * time.Second}) {
		t.Errorf("%+v", w)
	}
	p := ann.Policy
	if p.MaxRuns != 1 || p.MaxSessions != 2 || p.Env["TZ"] != "UTC" || p.Packages[0] != "requests" || p.Review.Deny[0] != "os" || p.Autopsy != 90*time.Second || p.Mounts["/data/in"].Host != "/srv/in" || p.Limits.Timeout != 9*time.Second ||
		p.Max.MemoryBytes != 1<<30 || p.Network.Allow[0].String() != "https://api.example.com/*" || p.Network.Private[0].String() != "10.0.0.0/8" {
		t.Errorf("%+v", p)
	}
}

func TestSettingsProblems(t *testing.T) {
	for _, c := range []struct{ name, text, problem string }{
		{"unknown key", "lisen = ''", `c.toml:1: unknown key "lisen"`},
		{"half of tls", "\n[tls]\ncert = 'c'", "c.toml:2: tls needs both cert and key"},
		{"host", "hosts = ['a/b']", `c.toml:1: host "a/b"`},
		{"origin", "origins = ['example.com']", `c.toml:1: origin "example.com"`},
		{"range", "[server]\nmax_runs = 0", "c.toml:2: max_runs is 0, must be from 1 to 10,000"},
		{"no unit", "[server]\ngrace = 5", "c.toml:2: grace: 5 has no unit"},
		{"limit", "[policies.p.limits]\ntimeout = '0s'", "c.toml:2: timeout is 0s, must be from"},
		{"pattern", "[policies.p]\nnetwork = { allow = ['ftp://x'] }", "c.toml:2: network: pattern"},
		{"network key", "[policies.p.network]\ndeny = []", `c.toml:2: unknown key "deny" in [network]`},
		{"no hash", "[keys.a]\nadmin = true", "c.toml:1: hash must be"},
		{"hash twice", "[keys.a]\nhash = '" + hashA + "'\n[keys.b]\nhash = '" + hashA + "'", "c.toml:4: the hash is that of the key a too"},
		{"other workers", "[workers]\nper = 'run'", `c.toml:2: per is "run"`},
		{"workers of what", "[workers]\nmax = 3", `workers needs per = "key"`},
		{"no policy", "[keys.a]\nhash = '" + hashA + "'\npolicy = 'x'", `c.toml:3: policy "x" is unknown: there are none`},
		{"syntax", "a = \n", "c.toml:1: "},
	} {
		_, err := web.ParseSettings("c.toml", []byte(c.text), os.Getenv)
		if err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %s", c.name, err, c.problem)
		}
	}
}

func TestLoadSettings(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := web.LoadSettings(name, os.Getenv); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(name, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := web.LoadSettings(name, os.Getenv); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that everyone can change: %v", err)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(config))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = web.ParseSettings("c.toml", data, func(string) string { return "" })
	})
}
