package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/cmd/cloche/internal/workers"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/web"
)

const (
	maxWorkers = 16
	// idleWorkers end after so long.
	idleWorkers = 15 * time.Minute
	// workerPatience is far above what a worker takes to start (one to two seconds) or to answer on a machine that is busy.
	workerPatience = 30 * time.Second
	// defaultGrace is that of web.ServeOptions.
	defaultGrace = 20 * time.Second
)

// openFront makes a server that passes the requests of each key on to a worker process.
func (a *app) openFront(s *web.Settings, cfg web.Config, noWall bool) (*backend, error) {
	cache, err := a.setUpFor(s.Config.Keys)
	if err != nil {
		return nil, err
	}
	for _, k := range cfg.Keys {
		if dir := keyStore(s.Store, k); dir != "" {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, err
			}
		}
	}
	most := cmp.Or(s.Workers.Max, maxWorkers)
	if runs, sessions := shareOut(cfg.Keys, most, cmp.Or(cfg.MaxRuns, maxRuns), cmp.Or(cfg.MaxSessions, maxSessions)); runs > 0 || sessions > 0 {
		cfg.Logger.Warn("keys with processes of their own may have more together than the server allows", "class", "operation", "runs", runs, "sessions", sessions)
	}
	var srv *web.Server
	fleet, err := workers.New(workers.Config{
		Max: most, Idle: cmp.Or(s.Workers.Idle, idleWorkers), Grace: cmp.Or(s.Grace, defaultGrace),
		Patience: cmp.Or(s.Workers.Patience, workerPatience), Logger: cfg.Logger, Record: func(k *web.Key, r web.Ran) { srv.Record(k, r) },
		Job: func(k *web.Key) workers.Job { return jobOf(s, k, cache, noWall) },
	})
	if err != nil {
		return nil, err
	}
	cfg.Workers = fleet
	if srv, err = web.New(cfg); err != nil {
		return nil, errors.Join(usageError{err}, fleet.Close())
	}
	ctx, cancel := context.WithCancel(a.ctx)
	stop := context.AfterFunc(ctx, fleet.Stop)
	lost := make(chan error, 1)
	go func() {
		select {
		case <-fleet.Lost():
			lost <- workers.ErrLost
			cancel()
		case <-ctx.Done():
			lost <- nil
		}
	}()
	return &backend{ctx: ctx, server: srv, wall: wall.Config{Serve: true, Pass: true, Profile: s.Pprof}, close: func() error {
		cancel()
		stop()
		return errors.Join(<-lost, srv.Close(), fleet.Close())
	}}, nil
}

// shareOut gives each key whose policy does not say an equal part of the programs and sessions that there may be at once. Each has a
// process, which knows nothing of the others, and so what all of them may have must not be more than there may be; by how
// many it is, since policies say so, is returned, or 0.
func shareOut(keys []*web.Key, processes, runs, sessions int) (moreRuns, moreSessions int) {
	parts := max(1, min(len(keys), processes))
	share := func(of func(*web.Policy) *int, all int) int {
		var has []int
		for _, k := range keys {
			n := of(&k.Policy)
			if *n == 0 {
				*n = max(1, all/parts)
			}
			has = append(has, *n)
		}
		slices.Sort(has)
		for _, n := range has[len(has)-min(len(has), processes):] { // those who have most may be those who have a process
			all -= n
		}
		return max(0, -all)
	}
	return share(func(p *web.Policy) *int { return &p.MaxRuns }, runs), share(func(p *web.Policy) *int { return &p.MaxSessions }, sessions)
}

// setUpFor sets up what the workers of the keys load, and says where.
func (a *app) setUpFor(keys []*web.Key) (dir string, err error) {
	cache, err := a.openCache()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	for _, spec := range engine.Specs() {
		if spec.Status(cache, false).Ready() {
			continue
		}
		if err := spec.Setup(a.ctx, cache, newProgress(a.err)); err != nil {
			return "", err
		}
	}
	eng, err := engine.New(engine.Config{Cache: cache.Dir(), Progress: newProgress(a.err)})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	return cache.Dir(), a.preparePackages(eng, keys)
}

// keyStore is the folder in which the sessions of a key outlive its worker.
func keyStore(store string, k *web.Key) string {
	if store == "" {
		return ""
	}
	return filepath.Join(store, "keys", "key-"+url.PathEscape(k.Name))
}

// jobOf is what the worker of a key is told of the settings: nothing that is other keys'.
func jobOf(s *web.Settings, k *web.Key, cache string, noWall bool) workers.Job {
	j := workers.Job{Settings: web.Settings{Store: keyStore(s.Store, k), Grace: s.Grace, Warm: s.Warm, Tools: neededTools(s.Tools, []*web.Key{k}), Config: s.Config}, Cache: cache, NoWall: noWall}
	c := &j.Settings.Config
	c.Keys, c.Hosts, c.Origins, c.AuditFile = nil, nil, nil, ""
	return j
}

// workerCmd is the process of one key.
type workerCmd struct{}

// Run serves the front that started this process.
func (workerCmd) Run(a *app) (err error) {
	ctx, post, job, err := workers.Inherit(a.ctx)
	if err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, post.HangUp()) }()
	here := *a
	here.ctx = ctx
	here.getenv = func(name string) string {
		if name == "CLOCHE_CACHE" {
			return job.Cache
		}
		return a.getenv(name)
	}
	cfg := job.Settings.Config
	cfg.Logger, cfg.OnRun = jsonLog(a.err), post.Ran
	b, err := here.openHost(&job.Settings, cfg, job.Cache)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	stands := "none"
	if !job.NoWall {
		report, err := raise(b.wall)
		if err != nil {
			return err
		}
		stands = report.String()
	}
	if err := post.Ready(stands, b.server); err != nil {
		return fmt.Errorf("tell the front: %w", err)
	}
	return web.Serve(ctx, post, b.server, web.ServeOptions{Grace: job.Settings.Grace})
}

// spawnerCmd is the process that starts workers.
type spawnerCmd struct{}

// Run starts what the front orders.
func (spawnerCmd) Run(a *app) error {
	return workers.Spawn(jsonLog(a.err))
}
