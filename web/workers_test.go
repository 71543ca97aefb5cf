package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cloche-dev/cloche/web"
)

// resetting is a fleet whose one worker is a server that resets the first connection of each request, but for one that waits.
type resetting struct {
	to            *url.URL
	holds, letsGo chan struct{}

	mu   sync.Mutex
	seen map[string]bool
}

func (f *resetting) Worker(context.Context, *web.Key) (web.Worker, error) {
	return web.Worker{Transport: f, Secret: secret, Release: func() {}}, nil
}

func (f *resetting) Loads() map[string]web.WorkerLoad { return nil }

func (f *resetting) RoundTrip(r *http.Request) (*http.Response, error) {
	id := r.Header.Get("X-Request-Id")
	f.mu.Lock()
	seen := f.seen[id]
	f.seen[id] = true
	f.mu.Unlock()
	switch {
	case id == "waits":
		close(f.holds)
		select {
		case <-f.letsGo:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	case !seen:
		return nil, syscall.ECONNRESET
	}
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = f.to.Host, f.to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// TestRequestsAreSentAgain: a request whose worker died is sent to the next one, while what its key's requests hold allows
// to keep its body. The client's connection lives on where its body was read.
func TestRequestsAreSentAgain(t *testing.T) {
	to, err := url.Parse(serve(t, nil).url)
	if err != nil {
		t.Fatal(err)
	}
	fleet := &resetting{to: to, holds: make(chan struct{}), letsGo: make(chan struct{}), seen: map[string]bool{}}
	s := serve(t, func(c *web.Config) { c.Engine, c.Workers, c.MaxBodyBytes = nil, fleet, 1<<10 }) // a key may hold 8 KiB
	body := object{"code": "print(6 * 7) #" + strings.Repeat(".", 6<<10)}
	ask := func(id string) reply { return s.do("POST", "/v1/execute", body, "X-Request-Id: "+id) }

	ask("first").must(200, nil)
	waits := make(chan reply)
	go func() { waits <- ask("waits") }()
	<-fleet.holds
	ask("second").must(502, nil)
	close(fleet.letsGo)
	(<-waits).must(200, nil)
	ask("third").must(200, nil)
}

// broken is a connection whose other end is closed from some moment on, of which only those who write hear.
type broken struct {
	net.Conn
	since  *atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (c *broken) Write(b []byte) (int, error) {
	if c.since.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

func (c *broken) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		<-c.closed
	}
	return n, err
}

func (c *broken) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// keeping hears of each connection that is kept for the next request.
type keeping chan struct{}

func (k keeping) transport(t http.RoundTripper) http.RoundTripper {
	trace := &httptrace.ClientTrace{PutIdleConn: func(error) { k <- struct{}{} }}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		return t.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBrokenConnections: a request that meets a kept connection to a worker which is gone, before its end was noticed, goes to
// the next one.
func TestBrokenConnections(t *testing.T) {
	to, err := url.Parse(serve(t, nil).url)
	if err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int32
	var gone atomic.Bool
	kept := make(keeping, 10)
	s := serve(t, func(c *web.Config) {
		c.Engine, c.Workers = nil, single{to, kept.transport(&http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, to.Host)
			if dials.Add(1) == 1 {
				conn = &broken{Conn: conn, since: &gone, closed: make(chan struct{})}
			}
			return conn, err
		}})}
	})
	s.do("POST", "/v1/execute", object{"code": "1"}).must(200, nil)
	<-kept // the answer may be there before that
	gone.Store(true)
	s.do("POST", "/v1/execute", object{"code": "2"}).must(200, nil)
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// TestNamedRequestsRunOnce: a request with a name of its own, whose worker died after it had read it, is not sent to another one.
func TestNamedRequestsRunOnce(t *testing.T) {
	var runs atomic.Int32
	s := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if r.Header.Get("Idempotency-Key") == "" {
			return // and the connection is kept
		}
		runs.Add(1)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	s.do("POST", "/v1/execute", object{"code": "1"}).must(200, nil)
	s.do("POST", "/v1/execute", object{"code": "2"}, "Idempotency-Key: mine").must(502, nil)
	if n := runs.Load(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// inFrontOf is a server that passes each request on to a worker.
func inFrontOf(t *testing.T, worker http.HandlerFunc) *server {
	t.Helper()
	behind := httptest.NewServer(worker)
	t.Cleanup(behind.Close)
	to, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, func(c *web.Config) { c.Engine, c.Workers = nil, single{to, http.DefaultTransport} })
}

// single is a fleet whose one worker is a server at an address.
type single struct {
	to        *url.URL
	transport http.RoundTripper
}

func (f single) Worker(context.Context, *web.Key) (web.Worker, error) {
	return web.Worker{Transport: f, Secret: secret, Release: func() {}}, nil
}

func (single) Loads() map[string]web.WorkerLoad { return nil }

func (f single) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = f.to.Host, f.to.Host
	return f.transport.RoundTrip(r)
}

// bothWays runs a test with a server that runs programs itself, and with one that passes requests on to it.
func bothWays(t *testing.T, change func(*web.Config), test func(t *testing.T, s *server)) {
	way := func(change func(*web.Config), test func(*testing.T, *server)) func(*testing.T) {
		return func(t *testing.T) {
			s, stop := listen(t, change, web.ServeOptions{})
			defer func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}()
			test(t, s)
		}
	}
	t.Run("itself", way(change, test))
	t.Run("workers", way(change, func(t *testing.T, behind *server) {
		to, err := url.Parse(behind.url)
		if err != nil {
			t.Fatal(err)
		}
		way(func(c *web.Config) {
			change(c)
			c.Engine, c.Workers = nil, single{to, http.DefaultTransport}
		}, test)(t)
	}))
}

// TestAnswersOfWorkers: a worker that was taken over gets no connection that its client did not ask for, on which others' requests
// may follow where a proxy keeps it, says no more than one answer, and does not undo what the front decides.
func TestAnswersOfWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   int
	}{
		"nobody switched":      {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", http.StatusBadGateway},
		"another protocol":     {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", http.StatusBadGateway},
		"no status":            {"HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n", http.StatusBadGateway},
		"hints":                {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 100) + "HTTP/1.1 200 OK\r\nX-Content-Type-Options: x\r\nX-Request-Id: x\r\nContent-Length: 0\r\n\r\n", http.StatusOK},
		"hints without an end": {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </"+strings.Repeat("x", 60<<10)+">\r\n\r\n", 1000), http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			s := inFrontOf(t, func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, c.answer) // nobody may want all of it
				conn.Close()
			})
			r, err := http.NewRequest(http.MethodPost, s.url+"/v1/execute", strings.NewReader(`{"code":"1"}`))
			if err != nil {
				t.Fatal(err)
			}
			early := 0
			r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
				early++
				return nil
			}}))
			r.Header.Set("Authorization", "Bearer "+secret)
			r.Header.Set("Upgrade", "websocket") // which says nothing without Connection
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != c.want || early > 0 {
				t.Errorf("status %d, want %d, after %d others", res.StatusCode, c.want, early)
			}
			if h := res.Header; h.Get("X-Content-Type-Options") != "nosniff" || len(h["X-Request-Id"]) != 1 || len(h["X-Request-Id"][0]) < 10 {
				t.Errorf("the headers are %v", h)
			}
		})
	}
}
