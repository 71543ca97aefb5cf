package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// methodConnect asks whether a server can be connected to: the URL's scheme says whether with TLS. Nothing is sent, and a
// request to that server then takes the connection. It is how libraries that connect first, as Python's do, learn of a
// failure when they expect it.
const methodConnect = "CONNECT"

// Bounds of connections that no request has used yet.
const (
	maxUnused    = 16
	maxUnusedAge = 5 * time.Second
)

// connections are those that a run's program has asked for. It may be used from several goroutines.
type connections struct {
	mu     sync.Mutex
	closed bool
	asked  int
	known  map[string]bool // servers that were reached
	unused map[string]unused
}

type unused struct {
	net.Conn
	since time.Time
}

func newConnections() *connections {
	return &connections{known: map[string]bool{}, unused: map[string]unused{}}
}

// server names one end of a connection.
func server(scheme, hostPort string) string { return scheme + "://" + hostPort }

// wanted says whether a server is to be connected to: that is done once in a run, for at most limit servers.
func (c *connections) wanted(name string, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[name] || c.asked >= limit {
		return false
	}
	c.asked++
	return true
}

// keep holds a connection until a request needs it.
func (c *connections) keep(name string, conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[name] = true
	if _, found := c.unused[name]; found || c.closed || len(c.unused) >= maxUnused {
		_ = conn.Close()
		return
	}
	c.unused[name] = unused{conn, time.Now()}
}

// take gives a connection that leads to what d dials. Nil: there is none.
func (c *connections) take(name string, d *dialer) net.Conn {
	c.mu.Lock()
	u, found := c.unused[name]
	delete(c.unused, name)
	c.mu.Unlock()
	if !found {
		return nil
	}
	a, err := netip.ParseAddrPort(u.RemoteAddr().String())
	if err != nil || !mayDial(a.Addr().Unmap(), d.open) || time.Since(u.since) > maxUnusedAge {
		_ = u.Close()
		return nil
	}
	return u.Conn
}

// close ends those that nobody used, and those that are still to come.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, u := range c.unused {
		_ = u.Close()
	}
	clear(c.unused)
}

// connect answers a CONNECT. What the policy does not allow is not said here but to the request, which has more to show.
func (j *journey) connect(ctx context.Context, payload int) ([]byte, error) {
	c, r := j.client, &j.request
	t, err := parseTarget(r.url)
	v := verdict{}
	if err == nil {
		v = c.policy.reaches(t)
	}
	j.head.Status = 200
	if name := server(t.scheme, t.hostPort()); !v.allowed || !c.connections.wanted(name, c.limits.Requests) {
		return c.calls.Now(payload, r.async, func(context.Context) ([]byte, error) { return nil, nil }, j.end)
	}
	work := func(ctx context.Context) ([]byte, error) {
		patience := c.limits.Timeout
		if r.timeout > 0 {
			patience = min(patience, r.timeout)
		}
		ctx, stop := context.WithTimeout(ctx, patience)
		defer stop()
		return nil, j.reach(ctx, t, v)
	}
	return c.calls.Do(ctx, payload, r.async, work, j.end)
}

// reach connects to the server of t.
func (j *journey) reach(ctx context.Context, t target, v verdict) error {
	c := j.client
	if err := c.budget.enter(ctx); err != nil {
		return c.failed(ctx, err, false)
	}
	defer c.budget.leave()
	d := &dialer{policy: c.policy, open: v.open, connections: c.connections}
	dial := d.dial
	if t.scheme == "https" {
		dial = d.dialTLS
	}
	conn, err := dial(ctx, "tcp", t.hostPort())
	if err == nil {
		c.connections.keep(server(t.scheme, t.hostPort()), conn)
		return nil
	}
	return j.unreached(ctx, t, v, err)
}

// unreached is the error of a server that could not be connected to.
func (j *journey) unreached(ctx context.Context, t target, v verdict, err error) error {
	if _, ok := errors.AsType[*blocked](err); ok {
		return nil // as above
	}
	j.hop(hostfuncs.HTTPRequest{Method: methodConnect, URL: j.client.shown(t.origin()), Allowed: true, Reason: v.rule})
	return j.noted(j.client.failed(ctx, err, false))
}
