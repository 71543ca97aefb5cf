// Package fetch is the one way from a guest to the network: it requests what a [Policy] allows, and nothing else.
//
//	program's URL -> target (target.go) -> Policy.judge (pattern.go) -> dialer (dial.go): resolve, check, dial what was checked
//	                     ^ each redirect --'                              -> headers, secrets, compression, limits -> program
//
// A [Client] belongs to one run. Its connections, budgets and open answers end with it.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

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
	j := &journey{client: c, request: r}
	if c.policy == nil {
		denied("this run has no network")
		return nil, notOffered()
	}
	if r.method == methodConnect {
		return j.connect(ctx, len(payload))
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
	for i := range len(u) {
		if u[i] == '?' || u[i] == '#' {
			return u[:i]
		}
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

// journey is one request with the redirects that it follows. work runs on a goroutine of its own, end on the run's.
type journey struct {
	client  *Client
	request request

	// These are work's until it has arrived, then end's.
	head answerHead
	body *stream // open when there is more of it

	// mu guards the fields below.
	mu        sync.Mutex
	hops      []hostfuncs.HTTPRequest // what was sent or refused
	begun     time.Time               // when the newest was
	abandoned bool                    // nobody wants the answer
	arrived   bool                    // work is over
}

// hop adds a record, and last changes the newest.
func (j *journey) hop(r hostfuncs.HTTPRequest) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.timed()
	j.hops, j.begun = append(j.hops, r), time.Now()
}

// timed notes how long the newest hop took. Preconditions: mu is held.
func (j *journey) timed() {
	if n := len(j.hops); n > 0 {
		j.hops[n-1].Milliseconds = float64(time.Since(j.begun).Microseconds()) / 1000
	}
}

func (j *journey) last(change func(*hostfuncs.HTTPRequest)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.hops[len(j.hops)-1])
}

// refused is an error that the program sees.
func refused(name, format string, args ...any) error { return hostfuncs.Refuse(name, format, args...) }

// work makes the request. The reply is the first part of the body.
func (j *journey) work(ctx context.Context) (first []byte, err error) {
	c := j.client
	// The body outlives this call; until it is there, giving up the call ends the request too.
	all, stop := context.WithTimeout(c.ctx, c.limits.Timeout)
	linked := context.AfterFunc(ctx, stop)
	if j.request.timeout > 0 {
		var late context.CancelCauseFunc
		all, late = context.WithCancelCause(all)
		head := time.AfterFunc(j.request.timeout, func() { late(context.DeadlineExceeded) })
		defer head.Stop()
	}
	defer func() {
		if !linked() && err == nil {
			err = context.Canceled
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		j.arrived = true
		j.timed()
		if err != nil || j.abandoned || j.body == nil {
			if j.body != nil {
				j.body.close()
			}
			stop()
		}
	}()
	if err := c.budget.enter(all); err != nil {
		return nil, j.failed(all, err, false)
	}
	defer c.budget.leave()
	res, err := j.follow(all)
	if err != nil {
		return nil, err
	}
	return j.receive(all, res, stop)
}

// follow sends the request, and follows redirects as the program wants.
func (j *journey) follow(ctx context.Context) (*http.Response, error) {
	r := &j.request
	t, err := parseTarget(r.url)
	if err != nil {
		return nil, j.deny(r.url, r.method, err.Error(), "ValueError")
	}
	header, err := requestHeader(t, r.fields)
	if err != nil {
		return nil, j.deny(t.String(), r.method, err.Error(), "ValueError")
	}
	if uint64(len(r.body)) > j.client.limits.RequestBytes {
		err := &tooLarge{"the request's body has", j.client.limits.RequestBytes}
		return nil, j.deny(t.String(), r.method, err.Error(), "ValueError")
	}
	method, body := r.method, r.body
	for hops := 0; ; hops++ {
		res, err := j.send(ctx, method, t, header, body)
		if err != nil {
			return nil, err
		}
		location := res.Header.Get("Location")
		if !isRedirect(res.StatusCode) || location == "" || r.redirect == "manual" {
			j.head.URL, j.head.Redirected = t.String(), hops > 0
			j.body = &stream{}
			return res, nil
		}
		res.Body.Close()
		switch {
		case r.redirect == "error":
			return nil, refused("ConnectionError", "the server redirects, which the request forbids")
		case hops == maxHops:
			return nil, refused("ConnectionError", "more than %d redirects", maxHops)
		}
		if j.client.mask.covers(location) { // what the one server was told is not for the next
			return nil, j.deny(location, method, "the server redirects to a place that names a secret", "PermissionError")
		}
		to, err := t.resolve(location)
		if err != nil {
			return nil, j.deny(location, method, err.Error(), "PermissionError")
		}
		var keep bool
		if method, keep = redirected(res.StatusCode, method, header, t, to); !keep {
			body = nil
		}
		header.Del("Host")
		t = to
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// send makes one hop.
func (j *journey) send(ctx context.Context, method string, t target, header http.Header, body []byte) (res *http.Response, err error) {
	c := j.client
	if err := ctx.Err(); err != nil {
		return nil, j.failed(ctx, err, false)
	}
	v := c.policy.judge(method, t)
	if !v.allowed {
		return nil, j.deny(t.String(), method, v.reason, "PermissionError")
	}
	j.hop(hostfuncs.HTTPRequest{Method: method, URL: c.shown(t.String()), Allowed: true, Reason: v.rule, RequestBytes: len(body)})
	if err := c.budget.take(uint64(len(body))); err != nil {
		j.last(func(r *hostfuncs.HTTPRequest) { r.Reason = err.Error() })
		return nil, refused("ConnectionError", "%v", err)
	}
	path, err := url.PathUnescape(t.path)
	if err != nil {
		return nil, refused("ValueError", "the URL's path is not well escaped")
	}
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	req := (&http.Request{
		Method: method, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header.Clone(),
		URL: &url.URL{Scheme: t.scheme, Host: t.authorityText(), Path: path, RawPath: t.path},
	}).WithContext(ctx)
	if req.URL.EscapedPath() != t.path {
		return nil, refused("ValueError", "the URL's path is not well escaped") // what was judged is what is sent
	}
	if t.query != "" {
		req.URL.RawQuery, req.URL.ForceQuery = t.query[1:], true
	}
	if len(body) > 0 {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "cloche")
	}
	if !j.coded() {
		req.Header.Set("Accept-Encoding", "gzip, deflate")
	}
	c.policy.addSecrets(method, t, req.Header)
	res, err = c.transport(v.open).RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		res.Body.Close()
		err = errors.New("the server changes the protocol")
	}
	if err != nil {
		err = j.failed(ctx, err, connected)
		if b, ok := errors.AsType[*hostfuncs.Refusal](err); ok {
			j.last(func(r *hostfuncs.HTTPRequest) { r.Allowed, r.Reason = b.Name != "PermissionError", b.Message })
		}
		return nil, err
	}
	j.last(func(r *hostfuncs.HTTPRequest) { r.Status = res.StatusCode })
	return res, nil
}

// deny refuses a hop, and notes it.
func (j *journey) deny(u, method, reason, kind string) error {
	reason = j.client.mask.text(reason)
	j.hop(hostfuncs.HTTPRequest{Method: method, URL: j.client.shown(u), Reason: reason})
	return refused(kind, "%s", reason)
}

// coded says whether the body may come as the server has coded it. What has a secret in it could not be masked then.
func (j *journey) coded() bool { return j.request.coded && len(j.client.mask.texts) == 0 }

// failed is a failure as the program sees it; connected says that the request was sent. A call that was given up is not for it
// to see.
func (j *journey) failed(ctx context.Context, err error, connected bool) error {
	if cause := context.Cause(ctx); ctx.Err() != nil && cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	kind, message := failure(err, connected)
	return refused(kind, "%s", j.client.mask.text(message))
}

// receive reads the answer's head, and its body when that is short, its length is known and it comes at once.
func (j *journey) receive(ctx context.Context, res *http.Response, stop context.CancelFunc) (first []byte, err error) {
	c, s := j.client, j.body
	s.closer = func() { res.Body.Close(); stop() }
	s.ctx = ctx
	var body io.Reader = res.Body
	r, decoded, err := decode(res.Header, body)
	switch {
	case j.coded():
		decoded = false
	case err != nil && len(c.mask.texts) > 0:
		return nil, refused("ConnectionError", "%v", err) // what cannot be read cannot be masked
	case err != nil:
		decoded = false
	default:
		body = r
	}
	body = &bounded{r: body, left: c.limits.ResponseBytes, limit: c.limits.ResponseBytes, total: c.budget}
	s.r = c.mask.reader(body)
	h := answerHeader(res.Header, decoded)
	if len(h) > maxAnswerFields {
		return nil, refused("ConnectionError", "the answer has more than %d headers", maxAnswerFields)
	}
	for i := range h {
		h[i][0], h[i][1] = c.mask.text(h[i][0]), c.mask.text(h[i][1])
	}
	reason := ""
	if len(res.Status) > 4 {
		reason = fromLatin1(res.Status[4:])
	}
	j.head.Status, j.head.StatusText, j.head.Headers, j.head.URL = res.StatusCode, c.mask.text(reason), h, c.mask.text(j.head.URL)
	if res.ContentLength < 0 || res.ContentLength > wholeBytes || decoded {
		return nil, nil
	}
	a := newAhead(s.r)
	s.r = a
	if first, whole := a.whole(patience); whole {
		s.close()
		j.body = nil
		return first, nil
	}
	return nil, nil
}

// failedBody is the error of a body as the program sees it.
func (j *journey) failedBody(ctx context.Context, err error) error {
	_, large := errors.AsType[*tooLarge](err)
	if large || errors.Is(err, errDamaged) {
		return refused("ConnectionError", "%v", err)
	}
	return j.failed(ctx, err, true)
}

// end notes the hops, and puts the reply together.
func (j *journey) end(first []byte, err error) ([]byte, error) {
	c := j.client
	gone := errors.Is(err, context.Canceled)
	j.mu.Lock()
	j.abandoned = gone
	hops := slices.Clone(j.hops)
	var body *stream
	if j.arrived { // else work closes it
		body = j.body
	}
	j.mu.Unlock()
	if gone && body != nil {
		body.close()
		body = nil
	}
	if len(hops) == 0 && err != nil { // it was not its turn yet
		hops = []hostfuncs.HTTPRequest{{Method: j.request.method, URL: c.shown(j.request.url), Reason: "it was not sent: its time was over"}}
	}
	for i := range hops {
		last := i == len(hops)-1
		if last {
			hops[i].Bytes = uint64(len(first))
			if gone {
				hops[i].Reason = "the program gave up"
			}
			if body != nil {
				body.hop = &hops[i]
			}
		}
		c.note(&hops[i], !last || body == nil)
	}
	switch {
	case gone:
		return nil, refused("CancelledError", "the request was cancelled")
	case err != nil:
		if _, ok := errors.AsType[*hostfuncs.Refusal](err); !ok {
			c.logFault(err)
			err = refused("ConnectionError", "the request failed")
		}
		return nil, err
	}
	if body != nil {
		if len(c.streams) >= maxStreams {
			body.close()
			c.over(body.hop)
			return nil, refused("ConnectionError", "%d answers are open: read their bodies or close them", maxStreams)
		}
		j.head.Stream = c.calls.NewID()
		c.streams[j.head.Stream] = body
	}
	return hostfuncs.EncodeFrame(j.head, first)
}

func (c *Client) logFault(err error) {
	if c.log != nil {
		c.log.Error("http request", slog.String("fault", err.Error()))
	}
}

// stream is the body of an answer, read piece by piece.
type stream struct {
	r      io.Reader
	ctx    context.Context // of the request
	closer func()
	hop    *hostfuncs.HTTPRequest
	busy   bool // a read goes on
	once   sync.Once
}

func (s *stream) close() {
	s.once.Do(func() {
		if s.closer != nil {
			s.closer()
		}
	})
}

// read gives at least a byte, but at the end.
func (s *stream) read(ctx context.Context, max int, timeout time.Duration) ([]byte, error) {
	defer context.AfterFunc(ctx, s.close)() // who gives up a read gives up the body
	stop := func() bool { return true }
	if timeout > 0 {
		stop = time.AfterFunc(timeout, s.close).Stop
	}
	b := make([]byte, max)
	n, err := io.ReadAtLeast(s.r, b, 1)
	late := !stop()
	switch {
	case n > 0 || err == io.EOF:
		err = nil
	case late:
		err = errSlow
	}
	return b[:n], err
}

var errSlow = refused("TimeoutError", "the server took too long")

// handleRead answers [hostfuncs.OpRead]. The reply is the next bytes of the body; none are its end.
func (c *Client) handleRead(ctx context.Context, payload []byte) ([]byte, error) {
	r, err := decodeRead(payload)
	if err != nil {
		return nil, hostfuncs.Refuse("ValueError", "read frame: %v", err)
	}
	s := c.streams[r.id]
	switch {
	case s == nil:
		return nil, hostfuncs.Refuse("ValueError", "there is no body %d to read", r.id)
	case s.busy:
		return nil, hostfuncs.Refuse("ValueError", "the body is being read already")
	}
	s.busy = true
	work := func(ctx context.Context) ([]byte, error) { return s.read(ctx, r.max, r.timeout) }
	return c.calls.Do(ctx, r.max, r.async, work, func(piece []byte, err error) ([]byte, error) {
		s.busy = false
		s.hop.Bytes += uint64(len(piece))
		if errors.Is(err, context.Canceled) {
			c.closeStream(r.id, "the program gave up")
			return nil, refused("CancelledError", "the request was cancelled")
		}
		if err != nil {
			if err != errSlow {
				err = (&journey{client: c}).failedBody(s.ctx, err)
			}
			refusal, ok := errors.AsType[*hostfuncs.Refusal](err)
			if !ok {
				refusal = &hostfuncs.Refusal{Name: "CancelledError", Message: "the request was cancelled"}
			}
			c.closeStream(r.id, refusal.Message)
			return nil, refusal
		}
		if len(piece) == 0 {
			c.closeStream(r.id, "")
		}
		return piece, nil
	})
}

// closeStream ends a body; why is added to its record.
func (c *Client) closeStream(id uint32, why string) {
	s := c.streams[id]
	if s == nil {
		return
	}
	delete(c.streams, id)
	s.close()
	if why != "" {
		s.hop.Reason = why
	}
	c.over(s.hop)
}

// Cancel closes the body of that id, if there is one.
func (c *Client) Cancel(id uint32) { c.closeStream(id, "") }
