package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// Config says how a server works. Engine and Keys are needed; the rest has safe defaults.
type Config struct {
	// Engine runs the programs. The server does not close it.
	Engine *engine.Engine
	// Workers run them in its place, if there are any. The server does not end them.
	Workers Workers
	// OnRun is told of each run that ends, in place of audit and metrics. Nil: nobody is.
	OnRun func(Ran) `json:"-"`
	// Tools are the server's own, for the programs of all keys, as far as their policies do not name some of them. Nil: none.
	Tools *hostfuncs.Registry `json:"-"`
	// Stored says that the engine has a store: sessions are left to it when the server ends, and [Server.Prepare] offers
	// those of an earlier process again.
	Stored bool
	// SnapshotDir is a folder in which snapshots outlive the process. It is made if it is missing, is one server's at a time, and must
	// be the user's alone: it holds all that guests hold. Empty: they do not.
	SnapshotDir string
	// Keys are who may use the server; names and hashes are unique.
	Keys []*Key
	// Hosts are the values of the Host header that are answered, such as "cloche.example.com" or
	// "127.0.0.1:8844". Empty: the address that the client connected to, and "localhost" with its port where that is a
	// loopback address.
	Hosts []string
	// Origins are those of pages elsewhere that may call the server from a browser, such as
	// "https://tools.example.com". Empty: none.
	Origins []string

	// Page answers GET requests for what no route of the API has: "/" and what belongs to it. It is open to anyone who
	// reaches the server and must hold no secret. Nil: there is no page.
	Page http.Handler
	// MCP answers /mcp. The key of the request is [KeyFrom] its context, and its programs begin by [ProgramsFrom] it. Nil: not offered.
	MCP http.Handler
	// Debug answers below /debug/ for keys that may administrate. Nil: not offered.
	Debug http.Handler

	// MaxBodyBytes bounds the body of a JSON request, 1 KiB to 1 GiB. Zero means 32 MiB. Files that are uploaded are
	// bounded by their session's disk limit.
	MaxBodyBytes int64
	// MaxRuns is how many programs run at once, 1 to 10,000. Zero means 64. Each key has a cap of its own.
	MaxRuns int
	// MaxSessions is how many sessions there are at once, 1 to 100,000. Zero means 256.
	MaxSessions int
	// QueueWait is how long a request waits for its turn to run, 1 ms to 10 min. Zero means 10 s.
	QueueWait time.Duration
	// BodyTimeout is the time that a client has to send a JSON body, and for each part of an uploaded file; WriteTimeout
	// the time in which it has to take each part of an answer. 10 ms to 10 min; zero means 30 s.
	BodyTimeout, WriteTimeout time.Duration
	// Ping is how often a stream without events shows that it lives. Zero means 5 s.
	Ping time.Duration
	// KeepResults is how long the result of a run can be asked for, 1 s to 24 h. Zero means 10 min. Of all results
	// together at most KeepBytes are kept, 1 MiB or more; zero means 32 MiB.
	KeepResults time.Duration
	KeepBytes   int64
	// IdleTimeout ends sessions that nobody used for so long, MaxLifetime those that are so old, unless a session says
	// otherwise. Zero means 30 min and 24 h.
	IdleTimeout, MaxLifetime time.Duration
	// AuditCode keeps the code of each run in the audit, besides its hash.
	AuditCode bool
	// AuditFile gets a JSON line per run. Empty: the last runs are kept in memory only.
	AuditFile string
	// Logger gets records with the attribute class: operation, resource or error. Nil: none.
	Logger *slog.Logger
}

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	setDefault(&c.MaxBodyBytes, 32<<20)
	setDefault(&c.MaxRuns, 64)
	setDefault(&c.MaxSessions, 256)
	setDefault(&c.QueueWait, 10*time.Second)
	setDefault(&c.BodyTimeout, 30*time.Second)
	setDefault(&c.WriteTimeout, 30*time.Second)
	setDefault(&c.Ping, 5*time.Second)
	setDefault(&c.KeepResults, 10*time.Minute)
	setDefault(&c.KeepBytes, 32<<20)
	setDefault(&c.IdleTimeout, 30*time.Minute)
	setDefault(&c.MaxLifetime, 24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// check reports all that is wrong with c at once.
func (c Config) check() error {
	var errs []error
	if c.Engine == nil && c.Workers == nil {
		errs = append(errs, errors.New("no engine is given"))
	}
	if len(c.Keys) == 0 {
		errs = append(errs, errors.New("there is no key: a server that nobody may use is a mistake"))
	}
	for i, k := range c.Keys {
		if k == nil {
			errs = append(errs, errors.New("a key is nil"))
			continue
		}
		errs = append(errs, k.check())
		if slices.ContainsFunc(c.Keys[:i], func(o *Key) bool { return o != nil && (o.Name == k.Name || o.Hash == k.Hash) }) {
			errs = append(errs, fmt.Errorf("key %q: its name or its hash is there twice", k.Name))
		}
	}
	errs = append(errs, c.checkHosts(), c.checkOrigins())
	inRange := func(name string, v, low, high int64) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s is %d, must be from %d to %d", name, v, low, high))
		}
	}
	inRange("MaxBodyBytes", c.MaxBodyBytes, 1<<10, 1<<30)
	inRange("MaxRuns", int64(c.MaxRuns), 1, 10_000)
	inRange("MaxSessions", int64(c.MaxSessions), 1, 100_000)
	inRange("KeepBytes", c.KeepBytes, 1<<20, 1<<40)
	for _, d := range []struct {
		name      string
		v         time.Duration
		low, high time.Duration
	}{
		{"QueueWait", c.QueueWait, time.Millisecond, 10 * time.Minute},
		{"BodyTimeout", c.BodyTimeout, 10 * time.Millisecond, 10 * time.Minute},
		{"WriteTimeout", c.WriteTimeout, 10 * time.Millisecond, 10 * time.Minute},
		{"Ping", c.Ping, 10 * time.Millisecond, time.Minute},
		{"KeepResults", c.KeepResults, time.Second, 24 * time.Hour},
		{"IdleTimeout", c.IdleTimeout, 10 * time.Millisecond, 30 * 24 * time.Hour},
		{"MaxLifetime", c.MaxLifetime, 10 * time.Millisecond, 365 * 24 * time.Hour},
	} {
		if d.v < d.low || d.v > d.high {
			errs = append(errs, fmt.Errorf("%s is %v, must be from %v to %v", d.name, d.v, d.low, d.high))
		}
	}
	return errors.Join(errs...)
}

func (c Config) checkHosts() error {
	var errs []error
	for _, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/@ \t") {
			errs = append(errs, fmt.Errorf("host %q: write a name with a port unless it is the scheme's own, such as cloche.example.com or 127.0.0.1:8844", h))
		}
	}
	return errors.Join(errs...)
}

func (c Config) checkOrigins() error {
	var errs []error
	for _, o := range c.Origins {
		if !validOrigin(o) {
			errs = append(errs, fmt.Errorf("origin %q: write scheme and host, such as https://tools.example.com", o))
		}
	}
	return errors.Join(errs...)
}
