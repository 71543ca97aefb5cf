package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// journey is one request with the redirects that it follows. work runs on a goroutine of its own, end on the run's.
type journey struct {
	client  *Client
	request request
	reached func() // is told when there is a connection to the server

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
		return nil, c.failed(all, err, false)
	}
	defer c.budget.leave()
	res, err := j.follow(all)
	if err != nil {
		return nil, err
	}
	first, err = j.receive(all, res, stop)
	return first, j.noted(err)
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
		return nil, j.deny(t.String(), r.method, tooLarge("the request's body has", j.client.limits.RequestBytes), "ValueError")
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

// noted is err, which is also in the record of the newest hop if it is what the program is told.
func (j *journey) noted(err error) error {
	if refusal, ok := errors.AsType[*hostfuncs.Refusal](err); ok {
		j.last(func(r *hostfuncs.HTTPRequest) {
			r.Allowed, r.Reason = refusal.Name != "PermissionError", refusal.Message
		})
	}
	return err
}

// send makes one hop.
func (j *journey) send(ctx context.Context, method string, t target, header http.Header, body []byte) (res *http.Response, err error) {
	c := j.client
	if err := ctx.Err(); err != nil {
		return nil, c.failed(ctx, err, false)
	}
	v := c.policy.judge(method, t)
	if !v.allowed {
		return nil, j.deny(t.String(), method, v.reason, "PermissionError")
	}
	j.hop(hostfuncs.HTTPRequest{Method: method, URL: c.shown(t.String()), Allowed: true, Reason: v.rule, RequestBytes: len(body)})
	if err := c.budget.take(uint64(len(body))); err != nil {
		return nil, j.noted(err)
	}
	path, err := url.PathUnescape(t.path)
	if err != nil {
		return nil, refused("ValueError", "the URL's path is not well escaped")
	}
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		connected = true
		j.reached()
	}})
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
	if err == nil {
		if err = checkHead(res); err != nil {
			res.Body.Close()
		}
	}
	if err != nil {
		return nil, j.noted(c.failed(ctx, err, connected))
	}
	j.last(func(r *hostfuncs.HTTPRequest) { r.Status = res.StatusCode })
	return res, nil
}

// checkHead refuses what of heads is not HTTP/1, or leaves it, and net/http takes.
func checkHead(res *http.Response) error {
	switch {
	case res.ProtoMajor != 1 || res.StatusCode < 100:
		return errors.New("no status line of HTTP/1")
	case res.StatusCode == http.StatusSwitchingProtocols:
		return errors.New("the server changes the protocol")
	}
	for name := range res.Header {
		if !isToken(name) {
			return errors.New("a header has a name that is none")
		}
	}
	return nil
}

// deny refuses a hop, and notes it.
func (j *journey) deny(u, method, reason, kind string) error {
	reason = j.client.mask.text(reason)
	j.hop(hostfuncs.HTTPRequest{Method: method, URL: j.client.shown(u), Reason: reason})
	return refused(kind, "%s", reason)
}

// coded says whether the body may come as the server has coded it. What has a secret in it could not be masked then.
func (j *journey) coded() bool { return j.request.coded && len(j.client.mask.texts) == 0 }

// receive reads the answer's head, and its body when that is short, its length is known and it comes at once.
func (j *journey) receive(ctx context.Context, res *http.Response, stop context.CancelFunc) (first []byte, err error) {
	c, s := j.client, j.body
	s.closer = func() { res.Body.Close(); stop() }
	s.ctx, s.unsized = ctx, res.ContentLength < 0
	var body io.Reader = res.Body
	r, decoded, err := decode(res.Header, body, c.limits.ResponseBytes)
	switch {
	case j.coded():
		decoded = false
	case err != nil && (len(c.mask.texts) > 0 || errors.Is(err, errLayers)):
		return nil, err // what cannot be read cannot be masked
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
		h[i][0], h[i][1] = c.mask.name(h[i][0]), c.mask.text(h[i][1])
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
	if err != nil {
		return nil, c.seen(err)
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
