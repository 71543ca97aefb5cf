package limits

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // machines without a zone database have the same zones

	"github.com/BurntSushi/toml"
)

//go:embed default.toml
var defaultTOML []byte

// maxPolicyBytes bounds a policy file. The largest sensible one has some hundred lines.
const maxPolicyBytes = 1 << 20

// maxProblems bounds how many errors of one file are reported.
const maxProblems = 20

// Policy is what an operator allows, read from TOML:
//
//	[limits]           # defaults for every run; keys as in default.toml
//	timeout = "10s"
//	memory = "512MiB"
//
//	[presets.report]   # a named set of limits; what it leaves out is taken from [limits]
//	timeout = "2m"
//
//	[mounts]           # guest path = host folder; mode ro (default), rw or overlay
//	"/data/in" = { host = "/srv/in", mode = "ro" }
//
//	[env]              # environment variables of the guest
//	GREETING = "hello"
//
//	[review]           # names that a program may not use; see [Review]
//	deny = ["subprocess", "os.system", "eval"]
//
// Above the tables there may be
//
//	packages = ["requests", "httpx>=0.27"]   # pure-Python packages for its programs
//	time_zone = "Europe/Oslo"                # the guest's; it is its variable TZ
//	autopsy = "1m"                           # a program that had to be stopped can be asked for so long what it was doing
//
//	[network]          # what may be fetched; without it there is no network
//	allow = ["https://api.example.com/v1/*", "*.example.org"]
//	secrets = [{ for = "https://api.example.com", header = "Authorization", env = "API_TOKEN", prefix = "Bearer " }]
//
//	[tools.mcp.weather]  # the tools of an MCP server, as tools.weather in programs
//	command = ["weather-server", "--stdio"]
//
//	[mailbox.results]    # a channel of messages between programs: tools.results in them
//	mode = "send"        # or receive, or both, which it is when left out
//	messages = 100       # how many may wait in it
//	bytes = "1MiB"
//
//	[shared.board]       # a folder in memory that sandboxes share
//	path = "/shared/board"
//	mode = "append"      # or ro, or rw, which it is when left out
//	bytes = "64MiB"
//	inodes = 10_000
//
// A key that is not known is an error, so that a misspelt restriction cannot pass unnoticed.
type Policy struct {
	// Limits holds what [limits] says; fields that it leaves out are those of [Default].
	Limits Limits
	// Mounts are sorted by guest path and have passed [CheckMounts].
	Mounts []Mount
	// Env holds environment variables of the guest.
	Env map[string]string
	// Packages are Python packages by name, with versions if need be. What a name may look like is the engine's to say.
	Packages []string
	// TimeZone is a name of the IANA database; empty means UTC.
	TimeZone string
	Review   Review
	// Autopsy is how long a program that had to be stopped can be asked what it was doing, up to [MaxAutopsy]. Zero: it cannot.
	Autopsy time.Duration
	// Network says what may be fetched. Nil: nothing.
	Network *Network
	// Tools says what may be called. Nil: nothing.
	Tools *Tools
	// Mailbox are channels of messages between programs, sorted by name.
	Mailbox []Channel
	// Shared are folders that sandboxes share, sorted by name.
	Shared []Shared

	presets map[string]Limits
}

var builtIn = sync.OnceValue(func() *Policy {
	p := &Policy{presets: map[string]Limits{}}
	if err := p.read("default.toml", defaultTOML); err != nil {
		panic(err) // default.toml is part of the program
	}
	return p
})

// DefaultPolicy returns the policy that holds without a file: the default limits, the presets that come
// with Cloche, no mounts, no environment.
func DefaultPolicy() *Policy {
	p := *builtIn()
	p.presets = maps.Clone(p.presets)
	return &p
}

// LoadPolicy reads the policy in a TOML file. Besides what [ParsePolicy] refuses, it is an error when the
// file can be changed by others than its owner, and when a mount shows the policy file itself to the guest.
func LoadPolicy(name string) (*Policy, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	defer f.Close()
	st, err := f.Stat() // of what was opened, not of what the name means later
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("policy %s is not a regular file", name)
	}
	if perm := st.Mode().Perm(); perm&0o022 != 0 {
		return nil, fmt.Errorf("policy %s has mode %#o, so that others can change it: run chmod go-w %s", name, perm, name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPolicyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	p, err := ParsePolicy(name, data)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	var errs []error
	for i, m := range p.Mounts {
		p.Mounts[i] = m.Resolve()
		if m.HostHolds(abs) {
			errs = append(errs, fmt.Errorf("mount %s would show the policy file %s to the guest: move one of them", m.Guest, name))
		}
	}
	errs = append(errs, CheckMounts(p.Mounts))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}
	return p, nil
}

// ParsePolicy reads a policy. Name stands for the file in errors. All problems are reported at once, each
// with its line where it has one.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	p := DefaultPolicy()
	if err := p.read(name, data); err != nil {
		return nil, err
	}
	return p, nil
}

// Preset returns the limits of a preset: its own, and for what it leaves out those of the policy.
func (p *Policy) Preset(name string) (Limits, error) {
	l, ok := p.presets[name]
	if !ok {
		return Limits{}, fmt.Errorf("preset %q is unknown: there are %s", name, strings.Join(p.Presets(), ", "))
	}
	return l.Or(p.Limits), nil
}

// Presets returns the names of the presets, sorted.
func (p *Policy) Presets() []string {
	return slices.Sorted(maps.Keys(p.presets))
}

// read puts what data says over what p holds.
func (p *Policy) read(name string, data []byte) error {
	if len(data) > maxPolicyBytes {
		return fmt.Errorf("policy %s is larger than %s", name, FormatSize(maxPolicyBytes))
	}
	d := document{name: name}
	root := map[string]toml.Primitive{}
	var err error
	if d.meta, err = toml.Decode(string(data), &root); err != nil {
		return fmt.Errorf("%s:%d: %s", name, d.lineOf(err), messageOf(err))
	}
	for _, key := range d.order(root) {
		v := root[key]
		switch key {
		case "limits":
			p.Limits = d.limits(key, v).Or(p.Limits)
		case "presets":
			d.presets(v, p.presets)
		case "mounts":
			p.Mounts = d.mounts(v)
		case "env":
			p.Env = d.env(v)
		case "network":
			p.Network = d.network(v)
		case "tools":
			p.Tools = d.tools(v)
		case "mailbox":
			p.Mailbox = d.mailbox(v)
		case "shared": // once the mounts are known
		case "packages":
			p.Packages = d.strings(key, v)
		case "time_zone":
			p.TimeZone = d.timeZone(v)
		case "autopsy":
			p.Autopsy = d.autopsy(v)
		case "review":
			p.Review = d.review(v)
		default:
			d.failf(v, "unknown key %q: there are limits, presets, mounts, env, network, tools, mailbox, shared, review, packages, time_zone and autopsy", key)
		}
	}
	if v, ok := root["shared"]; ok {
		p.Shared = d.shared(v, p.Mounts)
	}
	if p.TimeZone != "" {
		if p.Env == nil {
			p.Env = map[string]string{}
		}
		if _, ok := p.Env["TZ"]; !ok {
			p.Env["TZ"] = p.TimeZone
		}
	}
	return d.err()
}

// strings reads a list of strings.
func (d *document) strings(key string, v toml.Primitive) []string {
	list, ok := d.value(v).([]any)
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, isString := e.(string)
		ok = ok && isString
		out = append(out, s)
	}
	if !ok {
		d.failf(v, "%s must be a list of strings", key)
		return nil
	}
	return out
}

func (d *document) timeZone(v toml.Primitive) string {
	name, ok := d.value(v).(string)
	if !ok {
		d.failf(v, "time_zone must be a string, not %s", typeName(d.value(v)))
		return ""
	}
	if err := CheckTimeZone(name); err != nil {
		d.failf(v, "%w", err)
	}
	return name
}

// CheckTimeZone says whether there is such a time zone: a name of the IANA database, such as "Asia/Tokyo".
func CheckTimeZone(name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return fmt.Errorf("time zone %q is unknown: it must be a name such as UTC or Europe/Oslo", name)
	}
	return nil
}

// MaxAutopsy is the longest time for which the memory of a program that had to be stopped is kept.
const MaxAutopsy = 10 * time.Minute

func (d *document) autopsy(v toml.Primitive) time.Duration {
	n, err := kindDuration.decode(d.value(v))
	if err == nil && (n < uint64(time.Second) || n > uint64(MaxAutopsy)) {
		err = fmt.Errorf("must be from 1s to %s", FormatDuration(MaxAutopsy))
	}
	if err != nil {
		d.failf(v, "autopsy: %w", err)
		return 0
	}
	return time.Duration(n)
}

func (d *document) review(v toml.Primitive) Review {
	var r Review
	t := d.table("review", v)
	for _, key := range d.order(t) {
		if key != "deny" {
			d.failf(t[key], "unknown key %q in [review]: there is deny", key)
			continue
		}
		r.Deny = d.strings("deny", t[key])
		if err := r.Check(); err != nil {
			d.failf(t[key], "%w", err)
		}
	}
	return r
}

func (d *document) presets(v toml.Primitive, into map[string]Limits) {
	presets := d.table("presets", v)
	for _, name := range d.order(presets) {
		into[name] = d.limits("presets."+name, presets[name])
	}
}

// limits reads a table of limits. The result has only the fields that the table names.
func (d *document) limits(where string, v toml.Primitive) Limits {
	var l Limits
	t := d.table(where, v)
	for _, key := range d.order(t) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if i < 0 {
			d.failf(t[key], "unknown key %q in [%s]: there are %s", key, where, fieldKeys())
			continue
		}
		f := fields[i]
		n, err := f.kind.decode(d.value(t[key]))
		if err == nil {
			err = f.check(n)
		} else {
			err = fmt.Errorf("%s: %w", key, err)
		}
		if err != nil {
			d.failf(t[key], "%w", err)
			continue
		}
		f.set(&l, n)
	}
	return l
}

func fieldKeys() string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return strings.Join(keys, ", ")
}

// decode reads a TOML value: a string in human form, or a whole number for a count or for bytes.
func (k kind) decode(v any) (uint64, error) {
	switch v := v.(type) {
	case string:
		return k.parse(v)
	case int64:
		if k == kindDuration {
			return 0, fmt.Errorf(`%d has no unit: write "%ds"`, v, v)
		}
		if v < 0 {
			return 0, fmt.Errorf("%d is negative", v)
		}
		return uint64(v), nil
	default:
		return 0, fmt.Errorf("must be a string or a whole number, not %s", typeName(v))
	}
}

func (d *document) mounts(v toml.Primitive) []Mount {
	var mounts []Mount
	t := d.table("mounts", v)
	for _, guest := range d.order(t) {
		m := Mount{Guest: guest, Mode: ReadOnly}
		keys := d.table(fmt.Sprintf("mounts.%q", guest), t[guest])
		for _, key := range d.order(keys) {
			s, ok := d.value(keys[key]).(string)
			switch {
			case key != "host" && key != "mode":
				d.failf(keys[key], "unknown key %q in mount %q: there are host and mode", key, guest)
			case !ok:
				d.failf(keys[key], "%s of mount %q must be a string, not %s", key, guest, typeName(d.value(keys[key])))
			case key == "host":
				m.Host = s
			default:
				m.Mode = MountMode(s)
			}
		}
		if _, ok := keys["host"]; !ok {
			if keys != nil {
				d.failf(t[guest], `mount %q has no host folder: write { host = "/folder", mode = "ro" }`, guest)
			}
			continue
		}
		if err := m.check(); err != nil {
			d.failf(t[guest], "%w", err)
			continue
		}
		for _, o := range mounts {
			if err := overlap(o, m); err != nil {
				d.failf(t[guest], "%w", err)
			}
		}
		mounts = append(mounts, m)
	}
	slices.SortFunc(mounts, func(a, b Mount) int { return strings.Compare(a.Guest, b.Guest) })
	return mounts
}

func (d *document) env(v toml.Primitive) map[string]string {
	env := map[string]string{}
	t := d.table("env", v)
	for _, key := range d.order(t) {
		s, ok := d.value(t[key]).(string)
		if !ok {
			d.failf(t[key], "environment variable %q must be a string, not %s", key, typeName(d.value(t[key])))
			continue
		}
		if err := CheckEnv(key, s); err != nil {
			d.failf(t[key], "%w", err)
			continue
		}
		env[key] = s
	}
	return env
}

// CheckEnv says whether an environment variable may have this name and value: the name is not empty and
// has no "=", and neither has a NUL character.
func CheckEnv(name, value string) error {
	switch {
	case name == "":
		return errors.New("environment variable without a name: write NAME=VALUE")
	case strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("environment variable %q: its name must not contain = or NUL", name)
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("environment variable %q: its value must not contain NUL", name)
	}
	return nil
}
