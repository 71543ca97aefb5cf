package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/web"
)

type serveCmd struct {
	Listen string `default:"127.0.0.1:8844" placeholder:"ADDR" help:"Address and port to listen on (default 127.0.0.1:8844). Port 0 takes a free one."`
	NoWall bool   `help:"Leave out the second wall, which lets the operating system refuse this process what serving does not need (see cloche doctor)."`
	Key    string `placeholder:"K" help:"The secret that clients must show, with the default policy; better given as CLOCHE_KEY, since other users of this machine can see arguments. Without it a new one is made and printed."`
}

func (serveCmd) Help() string {
	return `Clients send the header "Authorization: Bearer K". The server listens on the loopback address unless told otherwise; for another address the key must have 32 characters or more.

SIGTERM or Ctrl-C ends it in order: running programs get 20 seconds, and every finished result is delivered.

` + exitHelpOther
}

// minRemoteKey is how long a secret must be that everyone on a network can try to guess.
const minRemoteKey = 32

// Run serves until the program is told to stop.
func (c *serveCmd) Run(a *app) (err error) {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	defer l.Close()
	secret := c.Key
	if secret == "" {
		secret = a.getenv("CLOCHE_KEY")
	}
	made := secret == ""
	if made {
		secret = "cloche_" + strings.ToLower(rand.Text())
	}
	if len(secret) < minRemoteKey && !loopback(l.Addr()) {
		return usagef("the key has %d characters: an address that others can reach needs one of %d or more", len(secret), minRemoteKey)
	}
	logger := slog.New(slog.NewJSONHandler(a.err, nil))
	eng, err := engine.New(engine.Config{
		Cache: a.getenv("CLOCHE_CACHE"), MaxSandboxes: maxRuns + maxSessions, MaxIdle: maxRuns, Progress: newProgress(a.err),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	srv, err := web.New(web.Config{
		Engine: eng, Keys: []*web.Key{{Name: "default", Hash: web.HashKey(secret), Admin: true}},
		MaxRuns: maxRuns, MaxSessions: maxSessions, Logger: logger,
	})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(a.ctx, l, srv, web.ServeOptions{}) }()
	if err := srv.Prepare(a.ctx); err != nil && a.ctx.Err() == nil {
		return errors.Join(err, srv.Close())
	}
	if !c.NoWall {
		report, err := raise(wall.Config{Serve: true})
		if err != nil {
			return errors.Join(err, srv.Close())
		}
		logger.Info("second wall", "stands", report.String(), "missing", report.Missing())
	}
	fmt.Fprintf(a.out, "cloche: listening on http://%s\n", l.Addr())
	if made {
		fmt.Fprintf(a.out, "cloche: key for this run: %s\n", secret)
	}
	return <-served
}

const (
	maxRuns     = 64
	maxSessions = 256
)

func loopback(addr net.Addr) bool {
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
