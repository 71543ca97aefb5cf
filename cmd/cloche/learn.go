package main

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

// lesson gathers what runs needed, for the smallest policy that would have let them do it.
type lesson struct {
	given   effective
	timeout time.Duration
	usage   limits.Usage
	needs   engine.Needs // the most of them
	allow   []string
	sent    []hostfuncs.HTTPRequest // of the run with most of them
	tools   []string                // that were called
}

// learn adds a run.
func (l *lesson) learn(res *engine.Result) {
	u := res.Usage
	l.timeout = max(l.timeout, u.Wall)
	l.usage.Fuel = max(l.usage.Fuel, u.Fuel)
	l.usage.MemoryPeakBytes = max(l.usage.MemoryPeakBytes, u.MemoryPeakBytes)
	n := res.Needs
	l.needs.DiskBytes, l.needs.Inodes = max(l.needs.DiskBytes, n.DiskBytes), max(l.needs.Inodes, n.Inodes)
	l.needs.Mounts = append(l.needs.Mounts, n.Mounts...)
	l.usage.OutputBytes = max(l.usage.OutputBytes, u.OutputBytes)
	l.usage.HostCalls = max(l.usage.HostCalls, u.HostCalls)
	if len(res.HTTPRequests) > len(l.sent) {
		l.sent = res.HTTPRequests
	}
	for _, r := range res.HTTPRequests {
		if p := patternFor(r.Method, r.URL); p != "" && !slices.Contains(l.allow, p) {
			l.allow = append(l.allow, p)
		}
	}
	for _, c := range res.ToolCalls {
		if !slices.Contains(l.tools, c.Name) {
			l.tools = append(l.tools, c.Name)
		}
	}
}

// patternFor is a pattern for requests like one that was made: its method, its server, and the folder of its path. It is "" for what
// no policy can allow. The URL is the program's word, and a star in it is a star, while in a pattern it would stand for anything.
func patternFor(method, u string) string {
	parsed, err := url.Parse(u)
	if err != nil || parsed.Host == "" || strings.Contains(parsed.Host, "*") {
		return ""
	}
	pattern := fmt.Sprintf("%s://%s", parsed.Scheme, parsed.Host)
	if method != http.MethodConnect { // else it was not reached, so nothing is known of the request
		plain, _, _ := strings.Cut(parsed.EscapedPath()+"x", "*")
		pattern = fmt.Sprintf("%s %s%s/*", method, pattern, strings.TrimSuffix(path.Dir(plain), "/"))
	}
	if _, err := fetch.ParsePattern(pattern); err != nil {
		return ""
	}
	return pattern
}

// Head-room over what was used, so that a run on a slower day or slightly larger data still fits.
const (
	timeFactor   = 3
	memoryFactor = 1.5
	otherFactor  = 2
	leastSeconds = 10 // for a moment's work, too: on a busy machine it may wait for seconds
)

// policy is the TOML text. What was given and not used is left out, as far as that can be told.
func (l *lesson) policy() ([]byte, error) {
	size := func(n uint64, factor float64, least uint64) string {
		mib := uint64(math.Ceil(float64(n) * factor / (1 << 20)))
		return fmt.Sprintf("%dMiB", max(mib, least))
	}
	seconds := int64(math.Ceil((l.timeout * timeFactor).Seconds()))
	bounds := map[string]any{
		"timeout": fmt.Sprintf("%ds", max(seconds, leastSeconds)), "fuel": int64(max(l.usage.Fuel*otherFactor, 1)),
		"memory": size(l.usage.MemoryPeakBytes, memoryFactor, 1), "disk": size(l.needs.DiskBytes, otherFactor, 1), "inodes": int64(max(otherFactor*l.needs.Inodes, 100)),
		"output": size(l.usage.OutputBytes, otherFactor, 1), "host_calls": int64(max(otherFactor*l.usage.HostCalls, 10)),
	}
	// Nobody counts how much of these was used, so more than the usual is kept.
	given, usual := l.given.limits, limits.Default()
	if given.ResultBytes > usual.ResultBytes {
		bounds["results"] = int64(given.ResultBytes)
	}
	if given.OpenFiles > usual.OpenFiles {
		bounds["open_files"] = int64(given.OpenFiles)
	}
	doc := map[string]any{"limits": bounds}
	if len(l.allow) > 0 {
		doc["network"] = l.network()
	}
	if len(l.given.mounts) > 0 {
		mounts := map[string]any{}
		for _, m := range l.given.mounts {
			mode := m.Mode
			if mode != limits.ReadOnly && !slices.Contains(l.needs.Mounts, m.Guest) {
				mode = limits.ReadOnly
			}
			mounts[m.Guest] = map[string]any{"host": m.Host, "mode": string(mode)}
		}
		doc["mounts"] = mounts
	}
	if len(l.given.shared) > 0 {
		shared := map[string]any{}
		for _, m := range l.given.shared {
			s := m.Folder.Shared
			shared[s.Name] = map[string]any{"path": s.Path, "mode": string(s.Mode), "bytes": int64(s.Bytes), "inodes": int64(s.Inodes)}
		}
		doc["shared"] = shared
	}
	if len(l.given.env) > 0 {
		doc["env"] = l.given.env
	}
	if len(l.given.packages) > 0 {
		doc["packages"] = l.given.packages
	}
	if channels := l.channels(); len(channels) > 0 {
		doc["mailbox"] = channels
	}
	if servers := l.servers(); len(servers) > 0 {
		doc["tools"] = map[string]any{"mcp": servers}
	}
	var b bytes.Buffer
	b.WriteString("# What a run needed, with head-room; cloche run --learn wrote it. Look at it before you use it.\n")
	if err := toml.NewEncoder(&b).Encode(doc); err != nil {
		return nil, err
	}
	_, err := limits.ParsePolicy("what was learned", b.Bytes())
	return b.Bytes(), err
}

// network is what the requests need: their patterns, and more of what a run may use where the defaults are too tight. Ranges
// that are open and secrets are kept as they were given.
func (l *lesson) network() map[string]any {
	slices.Sort(l.allow)
	n := map[string]any{"allow": l.allow}
	var all, largest, largestSent uint64
	for _, r := range l.sent {
		sent := uint64(r.RequestBytes)
		all, largest, largestSent = all+r.Bytes+sent, max(largest, r.Bytes), max(largestSent, sent)
	}
	d := fetch.DefaultLimits
	if needed := otherFactor * len(l.sent); needed > d.Requests {
		n["requests"] = int64(needed)
	}
	for key, size := range map[string][2]uint64{
		"request_size": {largestSent, d.RequestBytes}, "response_size": {largest, d.ResponseBytes}, "run_size": {all, d.TotalBytes},
	} {
		if needed := otherFactor * size[0]; needed > size[1] {
			n[key] = fmt.Sprintf("%dMiB", needed>>20+1)
		}
	}
	if l.given.network == nil {
		return n
	}
	if ranges := l.given.network.Private; len(ranges) > 0 {
		n["private"] = ranges
	}
	if t := l.given.network.Limits.Timeout; t > d.Timeout {
		n["timeout"] = t.String()
	}
	var secrets []map[string]any
	for _, s := range l.given.secrets {
		secrets = append(secrets, map[string]any{"for": s.For, "header": s.Header, "env": s.Env, "prefix": s.Prefix})
	}
	if len(secrets) > 0 {
		n["secrets"] = secrets
	}
	return n
}

// channels are those that were used, with the mode that this takes.
func (l *lesson) channels() map[string]any {
	channels := map[string]any{}
	for _, c := range l.given.mailbox {
		send, receive := slices.Contains(l.tools, c.Name+".send"), slices.Contains(l.tools, c.Name+".receive")
		mode := limits.ChannelBoth
		switch {
		case !send && !receive:
			continue
		case !receive:
			mode = limits.ChannelSend
		case !send:
			mode = limits.ChannelReceive
		}
		channel := map[string]any{"mode": string(mode)}
		if c.Messages > 0 {
			channel["messages"] = int64(c.Messages)
		}
		if c.Bytes > 0 {
			channel["bytes"] = int64(c.Bytes)
		}
		channels[c.Name] = channel
	}
	return channels
}

// servers are the MCP servers whose tools were called.
func (l *lesson) servers() map[string]any {
	servers := map[string]any{}
	if l.given.tools == nil {
		return servers
	}
	for _, m := range l.given.tools.MCP {
		if !slices.ContainsFunc(l.tools, func(name string) bool { return strings.HasPrefix(name, m.Name+".") }) {
			continue
		}
		s := map[string]any{"command": m.Command}
		if len(m.Env) > 0 {
			s["env"] = m.Env
		}
		if m.Only != nil {
			s["only"] = m.Only
		}
		servers[m.Name] = s
	}
	return servers
}

// newFile makes the file that a flag names, before anything runs: behind the second wall no file can be made.
func newFile(flag, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	return f, nil
}
