// Package fetch is the one way from a guest to the network: it requests what a [Policy] allows, and nothing else.
//
//	program's URL -> target (target.go) -> Policy.judge (pattern.go) -> dialer (dial.go): resolve, check, dial what was checked
//	                     ^ each redirect --'                              -> headers, secrets, compression, limits -> program
//
// A [Client] belongs to one run. Its connections, budgets and open answers end with it.
package fetch

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// Bounds of what is handed over and kept.
const (
	wholeBytes  = 256 << 10 // of a body that comes with its head
	pieceBytes  = 64 << 10  // of what is read of it later, unless the program asks for another size
	maxPiece    = 1 << 20
	maxStreams  = 64   // answers whose bodies are not read to the end
	maxHops     = 20   // as browsers follow
	maxRecorded = 2048 // bytes of a URL in a record
)

// A Client makes the requests of one run. Its exported methods are called by the run's goroutine.
type Client struct {
	policy *Policy
	limits Limits
	calls  *hostfuncs.Calls
	mask   *mask
	budget *budget
	log    *slog.Logger
	event  func(hostfuncs.HTTPRequest)

	ctx  context.Context
	stop context.CancelFunc

	made    int
	records []*hostfuncs.HTTPRequest
	streams map[uint32]*stream

	connections *connections

	// mu guards transports.
	mu         sync.Mutex
	transports map[string]*http.Transport
}

// New makes the client of a run. A nil policy refuses everything. event is told of each request when it is over, and log
// gets a record of it; both may be nil.
func New(ctx context.Context, p *Policy, calls *hostfuncs.Calls, log *slog.Logger, event func(hostfuncs.HTTPRequest)) *Client {
	c := &Client{policy: p, calls: calls, log: log, event: event, streams: map[uint32]*stream{}, transports: map[string]*http.Transport{}, connections: newConnections()}
	c.ctx, c.stop = context.WithCancel(ctx)
	if p == nil {
		p = &Policy{}
	}
	c.limits, c.mask = p.Limits.or(DefaultLimits), newMask(p)
	c.budget = newBudget(c.limits)
	return c
}

// Handlers are those of fetch.
func (c *Client) Handlers() map[hostfuncs.Op]hostfuncs.Handler {
	return map[hostfuncs.Op]hostfuncs.Handler{hostfuncs.OpFetch: c.handle, hostfuncs.OpRead: c.handleRead}
}

// Records are the requests made so far, in the order in which they were answered.
func (c *Client) Records() []hostfuncs.HTTPRequest {
	list := make([]hostfuncs.HTTPRequest, len(c.records))
	for i, r := range c.records {
		list[i] = *r
	}
	return list
}

// Close ends all requests and connections.
func (c *Client) Close() {
	c.stop()
	for id := range c.streams {
		c.closeStream(id, "the run ended before the body was read")
	}
	c.connections.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// handle answers [hostfuncs.OpFetch]. An empty payload asks whether there is a network at all.
func (c *Client) handle(ctx context.Context, payload []byte) ([]byte, error) {
	if len(payload) == 0 {
		if c.policy == nil {
			return nil, notOffered()
		}
		return nil, hostfuncs.Refuse("ValueError", "fetch frame: empty")
	}
	r, err := decodeRequest(payload)
	if err != nil {
		return nil, hostfuncs.Refuse("ValueError", "%v", err)
	}
	denied := func(reason string) {
		c.note(&hostfuncs.HTTPRequest{Method: r.method, URL: c.shown(r.url), Reason: reason, RequestBytes: len(r.body)}, true)
	}
	if c.made >= c.limits.Requests {
		reason := fmt.Sprintf("this run may make %d requests", c.limits.Requests)
		if c.made < 2*c.limits.Requests { // as many more are on record, or a program could fill the host's memory by asking
			denied(reason)
		}
		return nil, hostfuncs.Refuse("PermissionError", "%s", reason)
	}
	j := &journey{client: c, request: r, reached: func() {}}
	if c.policy == nil {
		denied("this run has no network")
		return nil, notOffered()
	}
	if r.method == methodConnect {
		return j.connect(ctx, len(payload))
	}
	if r.async && r.reach > 0 {
		return c.calls.DoUntil(ctx, len(payload), r.reach, func(ctx context.Context, underway func()) ([]byte, error) {
			j.reached = underway
			return j.work(ctx)
		}, j.end)
	}
	return c.calls.Do(ctx, len(payload), r.async, j.work, j.end)
}

func notOffered() error {
	return hostfuncs.Refuse("PermissionError", "%s is not offered to this run", hostfuncs.OpFetch)
}

// shown is a URL as records and errors show it.
func (c *Client) shown(u string) string {
	u = c.mask.text(u)
	return u[:min(len(u), maxRecorded)]
}

// note keeps a record; over says that nothing will be added to it.
func (c *Client) note(r *hostfuncs.HTTPRequest, over bool) {
	c.made++
	c.records = append(c.records, r)
	if over {
		c.over(r)
	}
}

// over tells of a request that is over.
func (c *Client) over(r *hostfuncs.HTTPRequest) {
	if c.log != nil {
		level := slog.LevelInfo
		if !r.Allowed {
			level = slog.LevelWarn
		}
		c.log.LogAttrs(context.Background(), level, "http request", slog.String("method", r.Method), slog.String("url", withoutQuery(r.URL)),
			slog.Int("status", r.Status), slog.Uint64("bytes", r.Bytes), slog.Int("request_bytes", r.RequestBytes),
			slog.Float64("ms", r.Milliseconds), slog.Bool("allowed", r.Allowed), slog.String("reason", r.Reason))
	}
	if c.event != nil {
		c.event(*r)
	}
}

// withoutQuery is what the log has of a URL.
func withoutQuery(u string) string {
	if i := strings.IndexAny(u, "?#"); i >= 0 {
		return u[:i]
	}
	return u
}

// transport is the one whose connections lead to what is open, and nowhere else.
func (c *Client) transport(open []netip.Prefix) *http.Transport {
	key := fmt.Sprint(open)
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.transports[key]
	if t == nil {
		t = newTransport(&dialer{policy: c.policy, open: open, connections: c.connections})
		c.transports[key] = t
	}
	return t
}
