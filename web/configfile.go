package web

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/hostfuncs/mailbox"
	"github.com/cloche-dev/cloche/limits"
)

// Settings are what the configuration file of cloche serve says:
//
//	listen = "127.0.0.1:8844"
//	hosts = ["cloche.example.com"]         # other names that clients may use for the server
//	origins = ["https://tools.example.com"] # pages that may call it
//	store = "/var/lib/cloche"              # where sessions and snapshots outlive the process
//
//	[tls]
//	cert = "cert.pem"
//	key = "key.pem"
//
//	[server]                               # caps of the whole server; see serverKeys
//	max_runs = 64
//
//	[tools.mcp.weather]                    # an MCP server whose tools programs may call; keys as in a policy of cloche run
//	command = ["weather-server", "--stdio"]
//
//	[workers]                              # each key's programs run in a process of its own
//	per = "key"
//
//	[policies.small]                       # what a key's programs may do
//	max_runs = 4
//	network = { allow = ["https://api.example.com/*"] }
//	tools = ["weather.get_forecast"]       # of the server's tools; by default all of them
//	[policies.small.limits]                # of requests that do not say; keys as in a policy of cloche run
//	timeout = "10s"
//	[policies.small.mailbox.tasks]         # a channel of messages between its programs; keys as in a policy of cloche run
//	[policies.small.shared.board]          # a folder in memory that they share; keys likewise
//	[policies.small.max]                   # the most that a request may ask for
//	timeout = "1m"
//
//	[keys.ann]                             # who may use it; cloche key makes a secret and its hash
//	hash = "sha256:…"
//	policy = "small"
type Settings struct {
	// Listen is an address and a port. Empty: the caller's default.
	Listen string
	// TLSCert and TLSKey are files in PEM form, both or neither.
	TLSCert, TLSKey string
	// Grace is how long running programs may go on once the server is to stop. Zero: the default.
	Grace time.Duration
	// MaxConnections is how many connections are open at once. Zero: the default.
	MaxConnections int
	// Warm is the number of warm instances kept per language. Zero: the caller's default.
	Warm int
	// Store is the folder in which sessions and snapshots outlive the process. Empty: they do not.
	Store string
	// Tools are MCP servers whose tools programs may call. Nil: none.
	Tools *limits.Tools
	// Workers says that each key has a process of its own. Nil: all run in one.
	Workers *WorkerSettings
	// Pprof offers profiles to admin keys.
	Pprof bool
	// Policy is the policy called default, for keys that the caller adds.
	Policy Policy
	// Config has what the file says of the server itself, its keys among that.
	Config Config
}

// WorkerSettings say how many processes there are, and for how long. Fields that are zero are the caller's default.
type WorkerSettings struct {
	// Max is how many live at once.
	Max int
	// Idle is how long nobody asks for one before it is ended.
	Idle time.Duration
	// Patience is how long one may take to start, or leave a question after its health unanswered, before it is killed.
	Patience time.Duration
}

// LoadSettings reads a configuration file. It is an error when others than its owner can change it.
func LoadSettings(name string, getenv func(string) string) (*Settings, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if perm := st.Mode().Perm(); perm&0o022 != 0 {
		return nil, fmt.Errorf("configuration %s has mode %#o, so that others can change it: run chmod go-w %s", name, perm, name)
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<20+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return ParseSettings(name, data, getenv)
}

// ParseSettings reads a configuration. Name stands for the file in errors; getenv reads the environment, where secrets
// for the network are. All problems are reported at once, each with
// its line.
func ParseSettings(name string, data []byte, getenv func(string) string) (*Settings, error) {
	t, err := limits.ParseTOML(name, data)
	if err != nil {
		return nil, err
	}
	s := &Settings{Listen: t.Text("listen"), Store: t.Text("store")}
	c := &s.Config
	c.Hosts, c.Origins = t.Texts("hosts"), t.Texts("origins")
	if err := (Config{Hosts: c.Hosts}).checkHosts(); err != nil {
		t.Failf("hosts", "%w", err)
	}
	if err := (Config{Origins: c.Origins}).checkOrigins(); err != nil {
		t.Failf("origins", "%w", err)
	}

	tls := t.Table("tls")
	s.TLSCert, s.TLSKey = tls.Text("cert"), tls.Text("key")
	if (s.TLSCert == "") != (s.TLSKey == "") {
		t.Failf("tls", "tls needs both cert and key")
	}
	tls.Close()

	s.server(t.Table("server"))
	s.workers(t.Table("workers"))
	s.Tools = t.Tools("tools")
	policies := s.policies(t.Table("policies"), getenv)
	s.Policy = policies["default"]
	s.keys(t.Table("keys"), policies)
	t.Close()
	if err := t.Problems(); err != nil {
		return nil, err
	}
	return s, nil
}

// server reads the caps of the whole server. Their ranges are those of [Config].
func (s *Settings) server(t *limits.Table) {
	const day = 24 * time.Hour
	c := &s.Config
	c.MaxRuns = t.Count("max_runs", 1, 10_000)
	c.MaxSessions = t.Count("max_sessions", 1, 100_000)
	c.QueueWait = t.Duration("queue_wait", time.Millisecond, 10*time.Minute)
	c.MaxBodyBytes = int64(t.Size("max_body", 1<<10, 1<<30))
	c.BodyTimeout = t.Duration("body_timeout", 10*time.Millisecond, 10*time.Minute)
	c.WriteTimeout = t.Duration("write_timeout", 10*time.Millisecond, 10*time.Minute)
	c.Ping = t.Duration("ping", 10*time.Millisecond, time.Minute)
	c.KeepResults = t.Duration("keep_results", time.Second, day)
	c.KeepBytes = int64(t.Size("keep_bytes", 1<<20, 1<<40))
	c.IdleTimeout = t.Duration("idle_timeout", time.Second, 30*day)
	c.MaxLifetime = t.Duration("max_lifetime", time.Second, 365*day)
	c.AuditCode = t.Bool("audit_code")
	c.AuditFile = t.Text("audit_file")
	s.Grace = t.Duration("grace", time.Millisecond, time.Hour)
	s.MaxConnections = t.Count("max_connections", 1, 1_000_000)
	s.Warm = t.Count("warm", 1, 1024)
	s.Pprof = t.Bool("pprof")
	t.Close()
}

func (s *Settings) workers(t *limits.Table) {
	defer t.Close()
	const day = 24 * time.Hour
	w := WorkerSettings{Max: t.Count("max", 1, 1024), Idle: t.Duration("idle", time.Second, 30*day), Patience: t.Duration("patience", time.Second, day)}
	switch per := t.Text("per"); per {
	case "key":
		s.Workers = &w
	case "":
		if w != (WorkerSettings{}) {
			t.Failf("per", "workers needs per = \"key\"")
		}
	default:
		t.Failf("per", "per is %q: there are workers per \"key\", or none", per)
	}
}

func (s *Settings) policies(t *limits.Table, getenv func(string) string) map[string]Policy {
	out := map[string]Policy{}
	for _, name := range t.Names() {
		p := t.Table(name)
		mounts := p.Mounts("mounts")
		policy := Policy{
			Name: name, Limits: p.Limits("limits"), Max: p.Limits("max"), Env: p.Env("env"), Mounts: map[string]limits.Mount{},
			MaxRuns: p.Count("max_runs", 1, 10_000), MaxSessions: p.Count("max_sessions", 1, 100_000),
			Packages: p.Texts("packages"), Review: p.Review("review"), Mailbox: p.Mailbox("mailbox"), Shared: p.Shared("shared", mounts),
			Autopsy: p.Autopsy("autopsy"),
		}
		if _, err := mailbox.New(policy.Mailbox...); err != nil {
			p.Failf("mailbox", "%w", err)
		}
		policy.Tools = p.Texts("tools")
		for _, tool := range policy.Tools {
			if space, _, _ := strings.Cut(tool, "."); !s.Tools.Has(space) {
				p.Failf("tools", "there is no [tools.mcp.%s] for %q", space, tool)
			}
		}
		var err error
		if policy.Network, err = fetch.FromPolicy(p.Network("network"), getenv); err != nil {
			p.Failf("network", "%w", err)
		}
		for _, m := range mounts {
			policy.Mounts[m.Guest] = m
		}
		p.Close()
		out[name] = policy
	}
	t.Close()
	return out
}

func (s *Settings) keys(t *limits.Table, policies map[string]Policy) {
	seen := map[KeyHash]string{}
	for _, name := range t.Names() {
		k := t.Table(name)
		key := &Key{Name: name, Admin: k.Bool("admin")}
		hash, err := parseHash(k.Text("hash"))
		switch {
		case err != nil:
			k.Failf("hash", "%w", err)
		case seen[hash] != "":
			k.Failf("hash", "the hash is that of the key %s too", seen[hash])
		}
		seen[hash] = name
		key.Hash = hash
		policy := k.Text("policy")
		if policy == "" {
			policy = "default"
		}
		p, ok := policies[policy]
		if !ok && policy != "default" {
			k.Failf("policy", "policy %q is unknown: there are %s", policy, cmp.Or(strings.Join(slices.Sorted(maps.Keys(policies)), ", "), "none"))
		}
		key.Policy = p
		k.Close()
		s.Config.Keys = append(s.Config.Keys, key)
	}
	t.Close()
}

// String is the form of a hash in configuration files.
func (h KeyHash) String() string { return "sha256:" + hex.EncodeToString(h[:]) }

func parseHash(text string) (KeyHash, error) {
	var h KeyHash
	digits, ok := strings.CutPrefix(text, "sha256:")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != len(h) {
		return h, fmt.Errorf("hash must be sha256: and 64 hexadecimal digits, as cloche key prints it")
	}
	copy(h[:], b)
	return h, nil
}
