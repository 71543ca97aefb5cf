package limits

import (
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Network is what [network] of a policy says. Package hostfuncs/fetch makes a policy of requests of it, and knows what
// the texts mean.
type Network struct {
	// Profile is a named beginning: offline, data or api. Empty: none.
	Profile string
	// Allow are patterns of what may be requested, Private ranges of addresses that are open although they are not public.
	Allow, Private []string
	// Secrets are headers that the host adds.
	Secrets []NetworkSecret
	// What a run may use; zero means the default.
	Requests, Concurrent, PerSecond       uint64
	RequestBytes, ResponseBytes, RunBytes uint64
	Timeout                               time.Duration
}

// NetworkSecret is a header that the host adds to the requests that For matches. Its value is Prefix and what the variable Env
// of the host's environment holds, so that it is not in the policy file.
type NetworkSecret struct{ For, Header, Env, Prefix string }

// networkNumbers ties the numbers of [network] to their keys, kinds and ranges.
var networkNumbers = []struct {
	key      string
	kind     kind
	min, max uint64
	at       func(*Network) *uint64
}{
	{"requests", kindCount, 1, 1_000_000, func(n *Network) *uint64 { return &n.Requests }},
	{"concurrent", kindCount, 1, 64, func(n *Network) *uint64 { return &n.Concurrent }},
	{"per_second", kindCount, 1, 10_000, func(n *Network) *uint64 { return &n.PerSecond }},
	{"request_size", kindSize, 1, 64 << 20, func(n *Network) *uint64 { return &n.RequestBytes }},
	{"response_size", kindSize, 1, 4 << 30, func(n *Network) *uint64 { return &n.ResponseBytes }},
	{"run_size", kindSize, 1, 1 << 40, func(n *Network) *uint64 { return &n.RunBytes }},
}

// network reads [network].
func (d *document) network(v toml.Primitive) *Network {
	n := &Network{}
	t := d.table("network", v)
	for _, key := range d.order(t) {
		switch key {
		case "profile":
			n.Profile, _ = d.text("network", key, t[key])
		case "allow":
			n.Allow = d.texts("network", key, t[key])
		case "private":
			n.Private = d.texts("network", key, t[key])
		case "timeout":
			ns := d.number("network", key, t[key], kindDuration, uint64(time.Millisecond), uint64(time.Hour))
			n.Timeout = time.Duration(ns)
		case "secrets":
			n.Secrets = d.secrets(t[key])
		default:
			if !d.networkNumber(n, key, t[key]) {
				d.failf(t[key], "unknown key %q in [network]: there are profile, allow, private, secrets, timeout, %s", key, networkKeys())
			}
		}
	}
	return n
}

func (d *document) networkNumber(n *Network, key string, v toml.Primitive) bool {
	for _, f := range networkNumbers {
		if f.key == key {
			*f.at(n) = d.number("network", key, v, f.kind, f.min, f.max)
			return true
		}
	}
	return false
}

func networkKeys() string {
	var keys []string
	for _, f := range networkNumbers {
		keys = append(keys, f.key)
	}
	return strings.Join(keys, ", ")
}

// number reads a quantity and checks its range.
func (d *document) number(where, key string, v toml.Primitive, k kind, min, max uint64) uint64 {
	n, err := k.decode(d.value(v))
	switch {
	case err != nil:
		d.failf(v, "%s of [%s]: %w", key, where, err)
	case n < min || n > max:
		d.failf(v, "%s of [%s] is %s, must be from %s to %s", key, where, k.format(n), k.format(min), k.format(max))
	default:
		return n
	}
	return 0
}

func (d *document) text(where, key string, v toml.Primitive) (string, bool) {
	s, ok := d.value(v).(string)
	if !ok {
		d.failf(v, "%s of [%s] must be a string, not %s", key, where, typeName(d.value(v)))
	}
	return s, ok
}

func (d *document) texts(where, key string, v toml.Primitive) []string {
	list, ok := d.value(v).([]any)
	if !ok {
		d.failf(v, "%s of [%s] must be a list of strings, not %s", key, where, typeName(d.value(v)))
		return nil
	}
	texts := []string{}
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			d.failf(v, "%s of [%s] must hold strings, not %s", key, where, typeName(item))
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// listOfTables is v as the TOML package gives one.
func listOfTables(v any) ([]map[string]any, bool) {
	if tables, ok := v.([]map[string]any); ok {
		return tables, true
	}
	items, ok := v.([]any)
	var tables []map[string]any
	for _, item := range items {
		t, isTable := item.(map[string]any)
		if !isTable {
			return nil, false
		}
		tables = append(tables, t)
	}
	return tables, ok
}

// secrets reads a list of tables: { for = "https://api.example.com", header = "Authorization", env = "API_TOKEN", prefix = "Bearer " }.
func (d *document) secrets(v toml.Primitive) []NetworkSecret {
	var list []NetworkSecret
	tables, ok := listOfTables(d.value(v))
	if !ok {
		d.failf(v, `secrets of [network] must be a list of tables: { for = "https://api.example.com", header = "Authorization", env = "API_TOKEN", prefix = "Bearer " }`)
		return nil
	}
	for _, t := range tables {
		var s NetworkSecret
		fields := map[string]*string{"for": &s.For, "header": &s.Header, "env": &s.Env, "prefix": &s.Prefix}
		for key, value := range t {
			to := fields[key]
			text, ok := value.(string)
			switch {
			case to == nil:
				d.failf(v, "unknown key %q in a secret: there are for, header, env and prefix", key)
			case !ok:
				d.failf(v, "%s of a secret must be a string, not %s", key, typeName(value))
			default:
				*to = text
			}
		}
		if s.For == "" || s.Header == "" || s.Env == "" {
			d.failf(v, "a secret needs for, header and env, the variable of the host's environment that holds it")
		}
		list = append(list, s)
	}
	return list
}
