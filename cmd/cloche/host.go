package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/mcptools"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
	"github.com/cloche-dev/cloche/web/mcp"
)

// openHost makes a server that runs programs in this process, and prepares it.
func (a *app) openHost(s *web.Settings, cfg web.Config, cache string) (_ *backend, err error) {
	runs, sessions := cmp.Or(cfg.MaxRuns, maxRuns), cmp.Or(cfg.MaxSessions, maxSessions)
	cfg.Engine, err = engine.New(engine.Config{
		Cache: cache, MaxSandboxes: runs + sessions, MaxIdle: cmp.Or(s.Warm, min(runs, maxWarm)),
		Progress: newProgress(a.err), Store: s.Store,
	})
	if err != nil {
		return nil, err
	}
	if s.Store != "" {
		cfg.Stored, cfg.SnapshotDir = true, filepath.Join(s.Store, "snapshots")
	}
	cfg.Tools = &hostfuncs.Registry{}
	servers, err := mcptools.Start(a.ctx, neededTools(s.Tools, cfg.Keys), cfg.Tools, a.err)
	if err != nil {
		return nil, errors.Join(err, cfg.Engine.Close())
	}
	agents := newAgents(cfg.Engine)
	cfg.MCP = agents
	stop := context.AfterFunc(a.ctx, func() { agents.Close() }) // its error is that of the Close below
	b := &backend{ctx: a.ctx, engine: cfg.Engine, tools: cfg.Tools, wall: serveWall(s)}
	b.close = func() error {
		stop()
		var err error
		if b.server != nil {
			err = b.server.Close()
		}
		return errors.Join(err, agents.Close(), cfg.Engine.Close(), servers.Close())
	}
	if b.server, err = web.New(cfg); err != nil {
		return nil, errors.Join(usageError{err}, b.close())
	}
	if err := b.prepare(a, cfg); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// neededTools are the servers of t whose tools some key's programs may call.
func neededTools(t *limits.Tools, keys []*web.Key) *limits.Tools {
	if t == nil {
		return nil
	}
	needed := *t
	needed.MCP = slices.DeleteFunc(slices.Clone(t.MCP), func(m limits.MCPServer) bool {
		return !slices.ContainsFunc(keys, func(k *web.Key) bool {
			return k.Policy.Tools == nil || slices.ContainsFunc(k.Policy.Tools, func(tool string) bool {
				return tool == m.Name || strings.HasPrefix(tool, m.Name+".")
			})
		})
	})
	return &needed
}

// prepare does what cannot be done behind the wall: interpreters are loaded, packages set up, folders found, and
// what sessions share is opened.
func (b *backend) prepare(a *app, cfg web.Config) error {
	if err := b.server.Prepare(a.ctx); err != nil {
		return err
	}
	if err := a.preparePackages(b.engine, cfg.Keys); err != nil {
		return err
	}
	if err := b.engine.PrepareSessions(a.ctx); err != nil {
		return err
	}
	var err error
	b.wall.Cache, err = a.cacheDir()
	return err
}

// preparePackages sets up what the programs of the keys can import: alone, and from each template that brings packages of its
// own. A template whose packages cannot be had keeps nobody from the rest.
func (a *app) preparePackages(eng *engine.Engine, keys []*web.Key) error {
	templates, err := eng.Templates()
	if err != nil {
		return err
	}
	for _, k := range keys {
		if _, err := eng.PreparePackages(a.ctx, k.Policy.Packages...); err != nil {
			return err
		}
		for _, t := range templates {
			if len(t.Packages) == 0 {
				continue
			}
			if _, err := eng.PreparePackages(a.ctx, slices.Concat(k.Policy.Packages, t.Packages)...); err != nil {
				fmt.Fprintf(a.err, "cloche: template %s cannot be used: %v\n", t.Name, err)
			}
		}
	}
	return nil
}

// cacheDir is the cache folder, from which templates are read when they are first asked for.
func (a *app) cacheDir() (string, error) {
	cache, err := a.openCache()
	if err != nil {
		return "", err
	}
	return cache.Dir(), cache.Close()
}

// serveWall is what serving needs of the machine: the network, what policies mount, and the store.
func serveWall(s *web.Settings) wall.Config {
	w := wall.Config{Serve: true, Profile: s.Pprof}
	for _, p := range policiesOf(s) {
		one := wallFor(slices.Collect(maps.Values(p.Mounts)), p.Network, "")
		w.Read, w.Write, w.Connect = append(w.Read, one.Read...), append(w.Write, one.Write...), append(w.Connect, one.Connect...)
	}
	if s.Store != "" {
		w.Write = append(w.Write, s.Store)
	}
	return w
}

// policiesOf are the default policy and those of all keys.
func policiesOf(s *web.Settings) []web.Policy {
	policies := []web.Policy{s.Policy}
	for _, k := range s.Config.Keys {
		policies = append(policies, k.Policy)
	}
	return policies
}

// newAgents serves the Model Context Protocol: to each key what its policy says.
func newAgents(eng *engine.Engine) *mcp.Handler {
	return mcp.NewHandler(func(r *http.Request) (string, mcp.Config) {
		key := web.KeyFrom(r.Context())
		p := key.Policy
		l := p.Limits
		l.OutputBytes = min(l.OutputBytes, modelOutput)
		tools, shared := key.Together()
		programs := web.ProgramsFrom(r.Context())
		return key.Name, mcp.Config{
			Engine: eng, Options: engine.Options{Env: p.Env, Limits: l, Network: p.Network, Packages: p.Packages, Review: p.Review, Tools: tools, Shared: shared, Autopsy: p.Autopsy, Owner: key.Name},
			Version: version(), Begin: programs.Begin, Open: programs.Open,
		}
	})
}

const (
	maxRuns     = 64
	maxSessions = 256
	maxWarm     = 16
)
