package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/web"
	"github.com/cloche-dev/cloche/web/mcp"
	"github.com/cloche-dev/cloche/web/page"
)

type serveCmd struct {
	Listen   string   `placeholder:"ADDR" help:"Address and port to listen on (default 127.0.0.1:8844). Port 0 takes a free one."`
	Config   string   `type:"existingfile" placeholder:"FILE.toml" help:"Keys and their policies, caps, TLS, other names of the server."`
	Key      string   `placeholder:"K" help:"The secret that clients must show, with the default policy; better given as CLOCHE_KEY, since other users of this machine can see arguments. With neither and no keys in the configuration a new one is made and printed."`
	Allow    []string `sep:"none" placeholder:"PATTERN" help:"A URL pattern that requests with that key may ask for, such as https://api.example.com/* or http://127.0.0.1:8000/*. Repeatable; default: no network."`
	Packages []string `name:"package" sep:"none" placeholder:"NAME" help:"A pure-Python package that programs with that key can import, such as tabulate or humanize>=4. Repeatable."`
	E2B      string   `name:"e2b" placeholder:"ADDR" help:"Also serve the dialect of E2B's code interpreter at this loopback address, such as localhost:49999, where its SDK looks with E2B_DEBUG=true. It has no key: every program on this machine may use it."`
	NoWall   bool     `help:"Leave out the second wall, which lets the operating system refuse this process what serving does not need (see cloche doctor)."`
}

func (serveCmd) Help() string {
	return `Clients send the header "Authorization: Bearer K". The server listens on the loopback address unless told otherwise; for another address the key must have 32 characters or more.

It answers once the interpreters are loaded and the second wall stands; until then clients that connect wait.

SIGTERM or Ctrl-C ends it in order: running programs get 20 seconds, and every finished result is delivered.

` + exitHelpOther
}

const (
	defaultListen = "127.0.0.1:8844"
	// minRemoteKey is how long a secret must be that everyone on a network can try to guess.
	minRemoteKey = 32
)

// Run serves until the program is told to stop.
func (c *serveCmd) Run(a *app) (err error) {
	settings := &web.Settings{}
	if c.Config != "" {
		if settings, err = web.LoadSettings(c.Config, a.getenv); err != nil {
			return usageError{err}
		}
	}
	options, err := c.tls(settings)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", cmp.Or(c.Listen, settings.Listen, defaultListen))
	if err != nil {
		return usageError{fmt.Errorf("listen: %w", err)}
	}
	defer l.Close()
	var dialectListener net.Listener
	if c.E2B != "" {
		if dialectListener, err = listenDialect(c.E2B); err != nil {
			return err
		}
		defer dialectListener.Close()
	}
	made, err := c.addKey(a, settings, l.Addr())
	if err != nil {
		return err
	}
	cfg := settings.Config
	cfg.Logger = slog.New(slog.NewJSONHandler(a.err, nil))
	if settings.Pprof {
		cfg.Debug = profiles()
	}
	runs, sessions := cmp.Or(cfg.MaxRuns, maxRuns), cmp.Or(cfg.MaxSessions, maxSessions)
	cfg.Engine, err = engine.New(engine.Config{
		Cache: a.getenv("CLOCHE_CACHE"), MaxSandboxes: runs + sessions, MaxIdle: cmp.Or(settings.Warm, min(runs, maxWarm)),
		Progress: newProgress(a.err), Store: settings.Store,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cfg.Engine.Close()) }()
	if settings.Store != "" {
		cfg.Stored, cfg.SnapshotDir = true, filepath.Join(settings.Store, "snapshots")
	}
	site, agents := page.New(), newAgents(cfg.Engine)
	cfg.Page, cfg.MCP = site, agents
	defer func() { err = errors.Join(err, agents.Close()) }()
	stop := context.AfterFunc(a.ctx, func() { agents.Close() }) // its error is that of the Close above
	defer stop()
	srv, err := web.New(cfg)
	if err != nil {
		return usageError{err}
	}
	// Who connects meanwhile waits: nobody is answered before the wall stands.
	if err := srv.Prepare(a.ctx); err != nil && a.ctx.Err() == nil {
		return errors.Join(err, srv.Close())
	}
	if err := site.Prepare(a.ctx, a.getenv("CLOCHE_CACHE"), newProgress(a.err)); err != nil && a.ctx.Err() == nil {
		cfg.Logger.Warn("the page has a plain text area", "class", "operation", "error", err.Error())
	}
	if err := prepareRest(a, cfg); err != nil {
		return errors.Join(err, srv.Close())
	}
	if !c.NoWall {
		w := c.wall(settings)
		if w.Cache, err = a.cacheDir(); err != nil {
			return errors.Join(err, srv.Close())
		}
		report, err := raise(w)
		if err != nil {
			return errors.Join(err, srv.Close())
		}
		cfg.Logger.Info("second wall", "class", "operation", "stands", report.String(), "missing", report.Missing())
	}
	if dialectListener != nil {
		p := settings.Policy
		d := serveDialect(dialectListener, cfg.Engine, engine.Options{
			Env: p.Env, Limits: dialectLimits(p.Limits), Network: p.Network, Packages: p.Packages, Review: p.Review,
		}, cfg.Logger)
		defer func() { err = errors.Join(err, d.close()) }()
		fmt.Fprintf(a.out, "cloche: E2B's dialect on http://%s, without a key\n", dialectListener.Addr())
	}
	scheme := "http"
	if options.TLS != nil {
		scheme = "https"
	}
	fmt.Fprintf(a.out, "cloche: listening on %s://%s\n", scheme, l.Addr())
	if made != "" {
		fmt.Fprintf(a.out, "cloche: key for this run: %s\n", made)
	}
	return web.Serve(a.ctx, l, srv, options)
}

// prepareRest does what cannot be done behind the wall: packages are set up, and the key of snapshots is read or made.
func prepareRest(a *app, cfg web.Config) error {
	for _, k := range cfg.Keys {
		if _, err := cfg.Engine.PreparePackages(a.ctx, k.Policy.Packages...); err != nil {
			return err
		}
	}
	if _, err := cfg.Engine.Templates(); err != nil { // finds their folder
		return err
	}
	session, err := cfg.Engine.Open(a.ctx, engine.Options{Language: engine.JavaScript})
	if err != nil {
		return err
	}
	defer session.Close()
	snapshot, err := session.Snapshot(a.ctx)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	_, err = snapshot.WriteTo(io.Discard)
	return err
}

// cacheDir is the cache folder, from which templates are read when they are first asked for.
func (a *app) cacheDir() (string, error) {
	cache, err := a.openCache()
	if err != nil {
		return "", err
	}
	return cache.Dir(), cache.Close()
}

// wall is what serving needs of the machine: the network, what policies mount, and the store.
func (c *serveCmd) wall(s *web.Settings) wall.Config {
	w := wall.Config{Serve: true}
	policies := []web.Policy{s.Policy}
	for _, k := range s.Config.Keys {
		policies = append(policies, k.Policy)
	}
	for _, p := range policies {
		one := wallFor(slices.Collect(maps.Values(p.Mounts)), p.Network, "")
		w.Read, w.Write, w.Connect = append(w.Read, one.Read...), append(w.Write, one.Write...), append(w.Connect, one.Connect...)
	}
	if s.Store != "" {
		w.Write = append(w.Write, s.Store)
	}
	return w
}

// tls reads the certificate that the configuration names.
func (c *serveCmd) tls(s *web.Settings) (web.ServeOptions, error) {
	o := web.ServeOptions{Grace: s.Grace}
	if s.TLSCert == "" {
		return o, nil
	}
	cert, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return o, usageError{fmt.Errorf("tls: %w", err)}
	}
	o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return o, nil
}

// addKey adds the key of the command line or the environment, or a new one, which it returns, where there would be none.
func (c *serveCmd) addKey(a *app, s *web.Settings, addr net.Addr) (made string, err error) {
	secret := c.Key
	if secret == "" {
		secret = a.getenv("CLOCHE_KEY")
	}
	if secret == "" {
		if len(s.Config.Keys) > 0 {
			if len(c.Allow) > 0 {
				return "", usagef("--allow is for the key of --key: the configuration's keys have their own policies")
			}
			return "", nil
		}
		made = "cloche_" + strings.ToLower(rand.Text())
		secret = made
	}
	if len(secret) < minRemoteKey && !loopback(addr) {
		return "", usagef("the key has %d characters: an address that others can reach needs one of %d or more", len(secret), minRemoteKey)
	}
	policy := s.Policy
	policy.Packages = append(slices.Clone(policy.Packages), c.Packages...)
	if len(c.Allow) > 0 {
		allow, err := fetch.ParsePatterns(c.Allow)
		if err != nil {
			return "", usageError{fmt.Errorf("--allow: %w", err)}
		}
		network := &fetch.Policy{}
		if policy.Network != nil {
			*network = *policy.Network
		}
		network.Allow = append(allow, network.Allow...)
		policy.Network = network
	}
	s.Config.Keys = append(s.Config.Keys, &web.Key{Name: "cli", Hash: web.HashKey(secret), Admin: true, Policy: policy})
	return made, nil
}

// profiles answers below /debug/pprof/.
func profiles() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/debug/pprof/", pprof.Index)
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/trace", pprof.Trace)
	m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	return m
}

// newAgents serves the Model Context Protocol: to each key what its policy says.
func newAgents(eng *engine.Engine) *mcp.Handler {
	return mcp.NewHandler(func(r *http.Request) (string, mcp.Config) {
		key := web.KeyFrom(r.Context())
		p := key.Policy
		l := p.Limits
		l.OutputBytes = min(l.OutputBytes, modelOutput)
		return key.Name, mcp.Config{
			Engine: eng, Options: engine.Options{Env: p.Env, Limits: l, Network: p.Network, Packages: p.Packages, Review: p.Review},
			Version: version(),
		}
	})
}

const (
	maxRuns     = 64
	maxSessions = 256
	maxWarm     = 16
)

func loopback(addr net.Addr) bool {
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// keyCmd makes secrets for configuration files.
type keyCmd struct{}

func (keyCmd) Help() string {
	return `Prints a new secret, and the lines for the configuration file of "cloche serve" that let its bearer in. Only the hash is kept there.`
}

// Run prints a secret and its hash.
func (keyCmd) Run(a *app) error {
	secret := "cloche_" + strings.ToLower(rand.Text()+rand.Text())
	_, err := fmt.Fprintf(a.out, "# secret, for the client: %s\n[keys.NAME]\nhash = %q\n", secret, web.HashKey(secret))
	return err
}
