package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/hostfuncs/fetch/fetchtest"
)

// TestManyAtOnce: a program that asks for as much as it can, of servers that never come to an end, holds a bounded number of connections,
// and nothing of it is left when its run ends.
func TestManyAtOnce(t *testing.T) {
	var open, most atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quick" {
			return
		}
		if r.URL.Path == "/drip" {
			io.WriteString(w, "d")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			n := open.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
		case http.StateClosed:
			open.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	before := runtime.NumGoroutine()

	p := policy(t, "127.0.0.1:*", "*.localhost:*")
	p.Limits = fetch.Limits{Requests: 3000, PerSecond: 10_000, Concurrent: 8, Timeout: 20 * time.Second}
	g := newGuest(t, p)
	for i := range 40 { // idle ones, of many servers
		name := fmt.Sprintf("http://h%d.localhost:%s/quick", i, port)
		if err := g.connect(name); err != nil {
			t.Fatal(err)
		}
		if _, err := g.get(name); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 { // that no request follows
		if err := g.connect(fmt.Sprintf("http://u%d.localhost:%s/", i, port)); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(5 * time.Second); open.Load() > 16+16+1; time.Sleep(time.Millisecond) { // the server is told of an end later
		if time.Now().After(end) {
			t.Fatalf("%d idle connections", open.Load())
		}
	}
	for range 64 {
		if a, err := g.head(m{"url": s.URL + "/drip"}, ""); err != nil || a.Stream == 0 {
			t.Fatal(err)
		}
	}
	g.fails(m{"url": s.URL + "/drip"}, "", "64 answers are open")
	started := 0
	for range 1000 {
		if _, err := g.ask(hostfuncs.OpFetch, m{"url": s.URL + "/hang", "async": true}, ""); err != nil {
			t.Fatal(err)
		}
		started++
	}
	time.Sleep(50 * time.Millisecond)
	if n := most.Load(); n > 16+16+64+8+2 {
		t.Errorf("%d connections at once", n)
	}
	g.stop()
	for end := time.Now().Add(5 * time.Second); open.Load() > 0 || runtime.NumGoroutine() > before+2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b := make([]byte, 1<<16)
			t.Fatalf("%d connections and %d goroutines are left:\n%s", open.Load(), runtime.NumGoroutine()-before, b[:runtime.Stack(b, true)])
		}
	}
	if n := len(g.client.Records()); n != 80+1+64+started-40 {
		t.Errorf("%d records", n)
	}
}

// slowNames is a resolver that does not answer.
type slowNames struct{}

func (slowNames) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestHostileNames: a resolver that is slow, or has a great many answers of all kinds, leads nowhere that is closed, and no longer than may be.
func TestHostileNames(t *testing.T) {
	s := serve(t)
	_, port, _ := strings.Cut(s.host(), ":")
	p := policy(t, "*.example:"+port)
	p.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	closed := strings.Repeat("127.0.0.2 ::1 10.0.0.1 169.254.169.254 fe80::1 64:ff9b::7f00:1 ", 10)
	p.Resolver = &names{answers: map[string][]string{
		"many.example":  {strings.Repeat(closed, 100) + "127.0.0.1"},
		"mixed.example": {"127.0.0.2 ::1 127.0.0.1 10.0.0.1"},
		"none.example":  {closed},
		// A name leads elsewhere between the question and the connection, and back.
		"turns.example": {"127.0.0.1", "127.0.0.2", "127.0.0.1", "::1"},
	}}
	g := newGuest(t, p)
	for host, want := range map[string]string{"many": "PermissionError", "none": "PermissionError", "mixed": ""} {
		_, err := g.get("http://" + host + ".example:" + port + "/")
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", host, err, want)
		}
	}
	turns := "http://turns.example:" + port + "/"
	if err := g.connect(turns); err != nil {
		t.Error(err)
	}
	if _, err := g.get(turns); err != nil { // on the connection that was made
		t.Error(err)
	}
	if n := s.hits.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	p.Resolver = slowNames{}
	p.Limits.Timeout = 300 * time.Millisecond
	g = newGuest(t, p)
	slow, begin := "http://slow.example:"+port+"/", time.Now()
	g.fails(m{"url": slow}, "", "TimeoutError")
	if err := g.connect(slow); err == nil || !strings.Contains(err.Error(), "TimeoutError") || time.Since(begin) > 20*time.Second {
		t.Errorf("connect: %v after %s", err, time.Since(begin))
	}
}

// TestHostileTLS: what a server does instead of a handshake, or in it, is an error of TLS in time.
func TestHostileTLS(t *testing.T) {
	real := httptest.NewUnstartedServer(http.HandlerFunc(echoHandler))
	real.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}} // and would speak HTTP/2
	real.EnableHTTP2 = true
	real.StartTLS()
	defer real.Close()
	answers := map[string]string{
		"nothing": "", "text": "HTTP/1.1 200 OK\r\n\r\n", "alert": "\x15\x03\x03\x00\x02\x02\x28", "warnings": strings.Repeat("\x15\x03\x03\x00\x02\x01\x5a", 10_000),
		"empty records": strings.Repeat("\x16\x03\x03\x00\x00", 100_000), "a long message": "\x16\x03\x03\x40\x00\x02\xff\xff\xff" + strings.Repeat("h", 1<<20), "SSL 2": "\x80\x2e\x01\x00\x02",
		"old": "\x16\x03\x00\x00\x04\x02\x00\x00\x00",
	}
	for name, answer := range answers {
		address := fetchtest.Listen(t, func(c net.Conn) {
			defer c.Close()
			io.WriteString(c, answer)
			io.Copy(io.Discard, c)
		})
		p := policy(t, "127.0.0.1:*")
		want := "TLSError" // at once, and not when a time is over
		if name == "nothing" {
			want = "TimeoutError"
			p.Limits.Timeout = 300 * time.Millisecond
		}
		begin := time.Now()
		_, err := newGuest(t, p).get("https://" + address)
		if err == nil || !strings.Contains(err.Error(), want) || time.Since(begin) > 20*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(begin))
		}
	}
	p := policy(t, "127.0.0.1:*")
	p.Roots = x509.NewCertPool()
	p.Roots.AddCert(real.Certificate())
	if a, err := newGuest(t, p).get(real.URL); err != nil || a.body != "GET" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestNoProxy: a proxy that the host's environment names is not used.
func TestNoProxy(t *testing.T) {
	used := 0
	proxy := fetchtest.Raw(t, func(net.Conn, *http.Request) { used++ })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy)
	}
	t.Setenv("NO_PROXY", "")
	p := policy(t, "*.example:*")
	p.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	p.Resolver = &names{answers: map[string][]string{"a.example": {"127.0.0.1"}}}
	s := serve(t)
	_, port, _ := strings.Cut(s.host(), ":")
	if _, err := newGuest(t, p).get("http://a.example:" + port); err != nil || used > 0 {
		t.Errorf("%v, the proxy was used %d times", err, used)
	}
}
