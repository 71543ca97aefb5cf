package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxBody     = 32 << 20         // a message, as over streams
	idleTimeout = 30 * time.Minute // a connection that nothing was asked of for so long is closed
)

// Handler serves connections over streamable HTTP. It asks what a connection is given when one begins, and who asks
// at every request: a connection belongs to whom it was made for, and to others it does not exist.
//
// The handlers around it have checked key, Host and Origin. A Handler may be called from several goroutines.
type Handler struct {
	ask  func(*http.Request) (owner string, cfg Config)
	http *sdk.StreamableHTTPHandler

	mu          sync.Mutex
	connections map[string]*served // by the protocol's session id
	closed      bool
	open        sync.WaitGroup // waits for the connections' ends
}

// served is a connection over HTTP.
type served struct {
	*connection
	owner   string
	session *sdk.ServerSession
}

// NewHandler makes a handler. ask names the owner of a request, and what a connection is given that it begins.
func NewHandler(ask func(*http.Request) (owner string, cfg Config)) *Handler {
	h := &Handler{ask: ask, connections: map[string]*served{}}
	h.http = sdk.NewStreamableHTTPHandler(h.begin, &sdk.StreamableHTTPOptions{
		SessionTimeout: idleTimeout, MaxRequestBodyBytes: maxBody,
		DisableLocalhostProtection: true, // the server around has a stricter one
	})
	return h
}

const sessionHeader = "Mcp-Session-Id"

// maxConnections bounds the connections of an owner, each of which may have its sessions.
const maxConnections = 16

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id := r.Header.Get(sessionHeader); id != "" {
		owner, _ := h.ask(r)
		h.mu.Lock()
		c := h.connections[id]
		h.mu.Unlock()
		if c == nil || c.owner != owner {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		if r.Method == http.MethodDelete {
			c.interrupt() // what runs would be waited for
		}
	}
	h.http.ServeHTTP(w, r)
}

// begin makes the server of a new connection. It is registered when the client has been heard.
func (h *Handler) begin(r *http.Request) *sdk.Server {
	owner, cfg := h.ask(r)
	c := &served{connection: newConnection(cfg.withDefaults()), owner: owner}
	id := rand.Text()
	s := newServer(c.connection, sdk.ServerOptions{GetSessionID: func() string { return id }})
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if session, ok := req.GetSession().(*sdk.ServerSession); ok && method == "initialize" {
				c.session = session
				if err := h.add(id, c); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, req)
		}
	})
	return s
}

// add registers a connection until it ends.
func (h *Handler) add(id string, c *served) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return errClosing
	case h.connections[id] != nil:
		return nil // asked to begin twice, which the protocol's implementation refuses
	}
	n := 0
	for _, other := range h.connections {
		if other.owner == c.owner {
			n++
		}
	}
	if n >= maxConnections {
		return fmt.Errorf("%d connections of this key are open, the most there may be: close one", n)
	}
	h.connections[id] = c
	h.open.Go(func() {
		c.session.Wait()
		if err := c.close(); err != nil {
			c.cfg.Logger.Error("close a connection", "error", err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.connections, id)
	})
	return nil
}

// Close ends all connections and what runs in them.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	var errs []error
	var sessions []*sdk.ServerSession
	for _, c := range h.connections {
		c.interrupt()
		sessions = append(sessions, c.session)
	}
	h.mu.Unlock()
	for _, s := range sessions {
		errs = append(errs, s.Close())
	}
	h.open.Wait()
	return errors.Join(errs...)
}
