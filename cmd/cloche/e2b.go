package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web/e2b"
)

// dialect is a second server beside that of the API, for programs that use E2B's SDK.
type dialect struct {
	listener net.Listener
	server   *http.Server
	handler  *e2b.Handler
}

// listenDialect takes the address. It has no keys, and so must be one that only this machine reaches.
func listenDialect(addr string) (net.Listener, error) {
	l, err := listen("--e2b", addr)
	if err != nil {
		return nil, err
	}
	if !loopback(l.Addr()) {
		return nil, errors.Join(usagef("--e2b %s: whoever reaches that address could run programs without a key; use a loopback address, such as localhost:49999", addr), l.Close())
	}
	return l, nil
}

// serveDialect serves on l until close is called.
func serveDialect(l net.Listener, eng *engine.Engine, o engine.Options, logger *slog.Logger) *dialect {
	h := e2b.New(e2b.Config{Engine: eng, Options: o, Logger: logger})
	d := &dialect{listener: l, handler: h, server: &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}}
	go d.server.Serve(l) // until close
	return d
}

func (d *dialect) close() error { return errors.Join(d.server.Close(), d.handler.Close()) }

// dialectLimits are those of programs in the dialect: its clients wait for five minutes where nothing else is said.
func dialectLimits(l limits.Limits) limits.Limits {
	const patience = 5 * time.Minute
	l = l.WithDefaults()
	if l.Timeout < patience {
		l.Fuel = uint64(float64(l.Fuel) * (float64(patience) / float64(l.Timeout)))
		l.Timeout = patience
	}
	return l
}
