package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/cloche-dev/cloche/limits"
)

// profile is a named beginning of a policy. What may be requested is still said by its allow-list.
type profile struct {
	offline bool
	methods []string
	limits  Limits
}

var profiles = map[string]profile{
	// Nothing, whatever else is said.
	"offline": {offline: true},
	// Reading data sets: few requests, large answers, nothing sent.
	"data": {methods: []string{"GET", "HEAD"}, limits: Limits{
		Requests: 200, Concurrent: 4, PerSecond: 10, RequestBytes: 1, ResponseBytes: 1 << 30, TotalBytes: 2 << 30, Timeout: 5 * time.Minute,
	}},
	// Talking to services: many requests, short answers.
	"api": {limits: Limits{
		Requests: 2000, Concurrent: 8, PerSecond: 50, RequestBytes: 4 << 20, ResponseBytes: 16 << 20, TotalBytes: 256 << 20, Timeout: 60 * time.Second,
	}},
}

// FromPolicy makes what [network] of a policy file says. Getenv reads the host's environment, where secrets are. Nil
// for no network at all.
func FromPolicy(n *limits.Network, getenv func(string) string) (*Policy, error) {
	if n == nil {
		return nil, nil
	}
	var errs []error
	base, ok := profiles[n.Profile]
	if !ok && n.Profile != "" {
		errs = append(errs, fmt.Errorf("profile %q is unknown: there are offline, data and api", n.Profile))
	}
	p := &Policy{Methods: base.methods}
	var err error
	p.Allow, err = ParsePatterns(n.Allow)
	errs = append(errs, err)
	for _, text := range n.Private {
		prefix, err := netip.ParsePrefix(text)
		if err == nil && prefix != prefix.Masked() {
			err = fmt.Errorf("write %s", prefix.Masked())
		}
		if err != nil {
			err = fmt.Errorf("private range %q: %w", text, err)
		}
		p.Private = append(p.Private, prefix)
		errs = append(errs, err)
	}
	for _, s := range n.Secrets {
		secret := Secret{Header: s.Header, Value: s.Prefix + getenv(s.Env)}
		if getenv(s.Env) == "" {
			errs = append(errs, fmt.Errorf("secret for %s: the environment variable %s is empty", s.For, s.Env))
		}
		secret.For, err = ParsePattern(s.For)
		errs = append(errs, err)
		p.Secrets = append(p.Secrets, secret)
	}
	p.Limits = Limits{
		Requests: int(n.Requests), Concurrent: int(n.Concurrent), PerSecond: int(n.PerSecond),
		RequestBytes: n.RequestBytes, ResponseBytes: n.ResponseBytes, TotalBytes: n.RunBytes, Timeout: n.Timeout,
	}.or(base.limits)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	if base.offline {
		return nil, nil
	}
	return p, nil
}
