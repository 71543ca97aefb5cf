package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// A Policy says what programs may request. It must not be changed once it is in use; any number of runs may use it at
// once. The zero value allows nothing.
type Policy struct {
	// Allow are the patterns of what is allowed. Without one nothing is.
	Allow []Pattern
	// Private are ranges of addresses that are open although they are not public, to whatever Allow allows.
	Private []netip.Prefix
	// Secrets are headers that the host adds; see [Secret].
	Secrets []Secret
	// Limits caps what a run may use. Fields that are zero are those of DefaultLimits.
	Limits Limits
	// Methods are those that may be used at all. Nil: GET, HEAD, OPTIONS, POST, PUT, PATCH and DELETE.
	Methods []string
	// Resolver looks names up. Nil: the host's own.
	Resolver Resolver
	// Roots are the authorities whose certificates servers may have. Nil: the host's.
	Roots *x509.CertPool

	// narrowed are further lists, each of which must allow a request too.
	narrowed [][]Pattern
}

// Limits caps what one run may ask of the network.
type Limits struct {
	// Requests is their number, redirects and refused ones included.
	Requests int
	// Concurrent is how many may be on their way at once; more wait.
	Concurrent int
	// PerSecond is how many may be sent within a second on average; more wait.
	PerSecond int
	// RequestBytes and ResponseBytes are the size of one body, the latter after decompression.
	RequestBytes, ResponseBytes uint64
	// TotalBytes is the sum of all bodies, sent and received.
	TotalBytes uint64
	// Timeout is how long one request may take, redirects and its body included.
	Timeout time.Duration
}

// DefaultLimits are those of a policy that does not say otherwise.
var DefaultLimits = Limits{
	Requests: 1000, Concurrent: 8, PerSecond: 50, RequestBytes: 16 << 20, ResponseBytes: 64 << 20, TotalBytes: 512 << 20,
	Timeout: 60 * time.Second,
}

// or is l with each field that is zero taken from base.
func (l Limits) or(base Limits) Limits {
	return Limits{
		Requests: cmp.Or(l.Requests, base.Requests), Concurrent: cmp.Or(l.Concurrent, base.Concurrent),
		PerSecond: cmp.Or(l.PerSecond, base.PerSecond), RequestBytes: cmp.Or(l.RequestBytes, base.RequestBytes),
		ResponseBytes: cmp.Or(l.ResponseBytes, base.ResponseBytes), TotalBytes: cmp.Or(l.TotalBytes, base.TotalBytes),
		Timeout: cmp.Or(l.Timeout, base.Timeout),
	}
}

// Resolver looks up the addresses of a name, as [net.Resolver] does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// ParsePatterns reads a list of patterns, and reports all that is wrong with it.
func ParsePatterns(texts []string) ([]Pattern, error) {
	list := make([]Pattern, len(texts))
	var errs []error
	for i, text := range texts {
		var err error
		list[i], err = ParsePattern(text)
		errs = append(errs, err)
	}
	return list, errors.Join(errs...)
}

// Narrow is p for a run that asks for no more than allow: what is allowed then is what p allows and one of allow does.
// So a list can only take away; an empty one takes everything. A nil policy allows nothing and cannot be narrowed
// further.
func (p *Policy) Narrow(allow []string) (*Policy, error) {
	list, err := ParsePatterns(allow)
	if err != nil || p == nil {
		return nil, err
	}
	n := *p
	n.narrowed = append(append([][]Pattern(nil), p.narrowed...), list)
	return &n, nil
}

// Ports are the TCP ports that p may lead to, sorted; one that is 0 stands for all. A nil policy leads to none.
func (p *Policy) Ports() []uint16 {
	var ports []uint16
	if p == nil {
		return nil
	}
	for _, rule := range p.Allow {
		switch {
		case rule.port != 0:
			ports = append(ports, rule.port)
		case rule.anyPort:
			return []uint16{0}
		default:
			for _, scheme := range []string{"http", "https"} {
				if rule.scheme == "" || rule.scheme == scheme {
					ports = append(ports, defaultPort(scheme))
				}
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// A verdict is what a policy says of a request.
type verdict struct {
	allowed bool
	rule    string         // the pattern that allows it
	open    []netip.Prefix // addresses that are not public and may be dialled
	reason  string         // why not
}

// judge decides about a request before its name is resolved; see dialer for what follows.
func (p *Policy) judge(method string, t target) verdict {
	if p.Methods != nil && !slices.Contains(p.Methods, method) {
		return verdict{reason: fmt.Sprintf("the method %s is not allowed", method)}
	}
	return p.decide(t, fmt.Sprintf("%s %s", method, t.origin()), func(rule *Pattern) bool { return rule.matches(method, t) })
}

// reaches decides whether the server of t may be connected to, which some request must need. A connection without TLS may be
// the beginning of one with it.
func (p *Policy) reaches(t target) verdict {
	v := p.decide(t, t.origin(), func(rule *Pattern) bool { return rule.matchesServer(t) })
	if v.allowed || t.scheme == "https" {
		return v
	}
	t.scheme = "https"
	return p.reaches(t)
}

// decide decides about what, which a pattern allows when it matches.
func (p *Policy) decide(t target, what string, matches func(*Pattern) bool) verdict {
	v := verdict{reason: what + " is not on the allow-list"}
	v.open = append(v.open, p.Private...)
	for i := range p.Allow {
		rule := &p.Allow[i]
		if rule.prefix.IsValid() && rule.matchesPort(t) && rule.methods == nil {
			v.open = append(v.open, rule.prefix)
		}
		if !matches(rule) {
			continue
		}
		if !v.allowed {
			v.allowed, v.rule, v.reason = true, rule.text, ""
		}
		v.open = append(v.open, rule.opens(t)...)
	}
	for _, list := range p.narrowed {
		found := false
		for i := range list {
			found = found || matches(&list[i])
		}
		if !found && v.allowed {
			return verdict{reason: what + " is not on the list that this run asked for"}
		}
	}
	if v.allowed && t.addr.IsValid() && !mayDial(t.addr, v.open) {
		return verdict{reason: fmt.Sprintf("the address %s is not public", t.host)}
	}
	return v
}

// origin is what a refusal names: scheme, host and port.
func (t target) origin() string { return t.scheme + "://" + t.authorityText() }
