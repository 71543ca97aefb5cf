package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
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

// single is a fleet whose one worker is a server at an address.
type single struct{ to *url.URL }

func (f single) Worker(context.Context, *web.Key) (web.Worker, error) {
	return web.Worker{Transport: f, Secret: secret, Release: func() {}}, nil
}

func (single) Loads() map[string]web.WorkerLoad { return nil }

func (f single) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = f.to.Host, f.to.Host
	return http.DefaultTransport.RoundTrip(r)
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
			c.Engine, c.Workers = nil, single{to}
		}, test)(t)
	}))
}
