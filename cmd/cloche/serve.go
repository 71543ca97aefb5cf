package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/web"
	"github.com/cloche-dev/cloche/web/page"
)

type serveCmd struct {
	Listen   string   `placeholder:"ADDR" help:"Address and port to listen on (default 127.0.0.1:8844). Port 0 takes a free one."`
	Hosts    []string `name:"host" sep:"none" placeholder:"NAME" help:"A value of the Host header that is answered, such as cloche.example.com or 127.0.0.1:8844, for when clients reach the server through a proxy or a published port. Repeatable; default: those of the configuration, or else the address itself."`
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
	if err := checkOffered(settings); err != nil {
		return usageError{fmt.Errorf("%s: %w", c.Config, err)}
	}
	settings.Config.Hosts = append(settings.Config.Hosts, c.Hosts...)
	options, err := c.tls(settings)
	if err != nil {
		return err
	}
	l, err := listen("listen", cmp.Or(c.Listen, settings.Listen, defaultListen))
	if err != nil {
		return err
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
	cfg.Logger = jsonLog(a.err)
	if settings.Pprof {
		cfg.Debug = profiles()
	}
	site := page.New()
	cfg.Page = site
	// Who connects meanwhile waits: nobody is answered before the wall stands.
	if err := site.Prepare(a.ctx, a.getenv("CLOCHE_CACHE"), newProgress(a.err)); err != nil && a.ctx.Err() == nil {
		cfg.Logger.Warn("the page has a plain text area", "class", "operation", "error", err.Error())
	}
	b, err := c.open(a, settings, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if !c.NoWall {
		report, err := raise(b.wall)
		if err != nil {
			return err
		}
		cfg.Logger.Info("second wall", "class", "operation", "stands", report.String(), "missing", report.Missing())
	}
	if dialectListener != nil {
		p := settings.Policy
		tools, err := b.tools.Select(p.Tools)
		if err != nil {
			return usageError{err}
		}
		d := serveDialect(dialectListener, b.engine, engine.Options{
			Env: p.Env, Limits: dialectLimits(p.Limits), Network: p.Network, Tools: tools, Packages: p.Packages, Review: p.Review,
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
	return web.Serve(b.ctx, l, b.server, options)
}

// listen takes the address that what names. An address that is none is wrong usage; one that is taken, or not for this user, is not.
func listen(what, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	err = fmt.Errorf("%s: %w", what, err)
	if _, ok := errors.AsType[*os.SyscallError](err); ok {
		return nil, err
	}
	return nil, usageError{err}
}

// checkOffered reports folders that are not there of those that policies offer to sessions.
func checkOffered(s *web.Settings) error {
	var errs []error
	told := map[string]bool{}
	for _, p := range policiesOf(s) {
		if told[p.Name] {
			continue
		}
		told[p.Name] = true
		for _, guest := range slices.Sorted(maps.Keys(p.Mounts)) {
			if _, err := absolute(p.Mounts[guest]); err != nil {
				errs = append(errs, fmt.Errorf("policy %s: %w", p.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// backend is a server that is ready to serve, once its wall stands.
type backend struct {
	ctx    context.Context // done when it is to end
	server *web.Server
	engine *engine.Engine // nil where programs run in other processes
	tools  *hostfuncs.Registry
	wall   wall.Config
	close  func() error
}

// open makes the server that the settings ask for.
func (c *serveCmd) open(a *app, s *web.Settings, cfg web.Config) (*backend, error) {
	if s.Workers != nil {
		if c.E2B != "" {
			return nil, usagef("--e2b has no key, and so no worker: leave out [workers]")
		}
		return a.openFront(s, cfg, c.NoWall)
	}
	return a.openHost(s, cfg, a.getenv("CLOCHE_CACHE"))
}

// tls reads the certificate that the configuration names.
func (c *serveCmd) tls(s *web.Settings) (web.ServeOptions, error) {
	o := web.ServeOptions{Grace: s.Grace, MaxConnections: s.MaxConnections}
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
