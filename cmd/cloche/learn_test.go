package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

// A mount stays writable in what is learned if something was to be changed in it, though nothing of that may be left. What nobody counts is kept
// as it was given.
func TestLearnMounts(t *testing.T) {
	given := limits.Limits{OpenFiles: 1000, ResultBytes: 1 << 20}
	l := &lesson{given: effective{limits: given, mounts: []limits.Mount{
		{Host: "/srv/a", Guest: "/in", Mode: limits.ReadWrite}, {Host: "/srv/b", Guest: "/tmp", Mode: limits.ReadWrite}, {Host: "/srv/c", Guest: "/over", Mode: limits.Overlay},
	}}}
	l.learn(&engine.Result{Needs: engine.Needs{DiskBytes: 30 << 20, Inodes: 60_000, Mounts: []string{"/tmp"}}})
	l.learn(&engine.Result{Needs: engine.Needs{DiskBytes: 1 << 20, Inodes: 1, Mounts: []string{"/over"}}})
	p := learned(t, l)
	var modes []limits.MountMode
	for _, m := range p.Mounts {
		modes = append(modes, m.Mode)
	}
	if want := []limits.MountMode{limits.ReadOnly, limits.Overlay, limits.ReadWrite}; !slices.Equal(modes, want) {
		t.Errorf("%v, want %v", modes, want)
	}
	if l := p.Limits; l.DiskBytes != 60<<20 || l.Inodes != 120_000 || l.OpenFiles != 1000 || l.ResultBytes != limits.Default().ResultBytes {
		t.Errorf("%+v", l)
	}
}

// learned is the policy that l writes, read again.
func learned(t *testing.T, l *lesson) *limits.Policy {
	t.Helper()
	text, err := l.policy()
	if err != nil {
		t.Fatal(err)
	}
	p, err := limits.ParsePolicy("learned", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is learned of the network lets the same requests pass: calls are counted as they are limited, a server that could not be
// reached may be tried again, and what the policy gave beside its allow-list is kept where it is needed.
func TestLearnNetwork(t *testing.T) {
	given := limits.NetworkSecret{For: "https://api.example.com", Header: "Authorization", Env: "TOKEN", Prefix: "Bearer "}
	l := &lesson{given: effective{
		network: &fetch.Policy{Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Limits: fetch.Limits{Timeout: 5 * time.Minute}},
		secrets: []limits.NetworkSecret{given},
	}}
	requests := []hostfuncs.HTTPRequest{
		{Method: "CONNECT", URL: "http://down.example.com:8080", Allowed: true},
		{Method: "GET", URL: "https://api.example.com/v1/x?q=1", Allowed: true, Bytes: 100 << 20},
	}
	for range 600 {
		requests = append(requests, hostfuncs.HTTPRequest{Method: "POST", URL: "https://api.example.com/v1/y", RequestBytes: 1 << 10})
	}
	l.learn(&engine.Result{HTTPRequests: requests, Usage: limits.Usage{HostCalls: 1900}})
	p := learned(t, l)
	want := &limits.Network{
		Allow:   []string{"GET https://api.example.com/v1/*", "POST https://api.example.com/v1/*", "http://down.example.com:8080"},
		Private: []string{"10.1.0.0/16"}, Secrets: []limits.NetworkSecret{given}, Requests: 1204, ResponseBytes: 201 << 20, Timeout: 5 * time.Minute,
	}
	if d := cmp.Diff(want, p.Network); d != "" {
		t.Errorf("learned (-want +got):\n%s", d)
	}
	if p.Limits.HostCalls != 3800 {
		t.Errorf("%d host calls", p.Limits.HostCalls)
	}
	if _, err := fetch.FromPolicy(p.Network, func(string) string { return "a token of some length" }); err != nil {
		t.Error(err)
	}
}

// What a program asks for is taken as it is: no letter of it opens more than that, or makes the policy one that cannot be used.
func TestLearnOfHostilePrograms(t *testing.T) {
	var requests []hostfuncs.HTTPRequest
	for _, u := range []string{
		"https://*/v1/x", "https://*.com/", "http://*:8080/y", "*://api.example.com/", "https://api.example.com:*/", "https://api.example.com/a/*/b/c", "https://api.example.com/d*/e",
		"https://api.example.com/a/%2e%2e%2f/b", "https://api.example.com/a;/../b", "https://api.example.com/%zz", "https://api.example.com/\"x y\"/z", "https://exa mple/", "://", "",
	} {
		requests = append(requests, hostfuncs.HTTPRequest{Method: "GET", URL: u}, hostfuncs.HTTPRequest{Method: "CONNECT", URL: u})
	}
	l := &lesson{}
	l.learn(&engine.Result{HTTPRequests: requests})
	p, err := fetch.FromPolicy(learned(t, l).Network, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Allow {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(a.String(), "GET "), "https://api.example.com"); !ok || strings.HasPrefix(rest, ":") {
			t.Errorf("%s is allowed", a)
		}
	}
	if want := "GET https://api.example.com/a/*"; !slices.ContainsFunc(p.Allow, func(a fetch.Pattern) bool { return a.String() == want }) {
		t.Errorf("%s is not among %v", want, p.Allow)
	}
}
