package fetch_test

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
)

// connect asks for a connection as a library does that connects first.
func (g *guest) connect(url string) error {
	_, err := g.head(m{"method": "CONNECT", "url": url}, "")
	return err
}

// accepted counts a server's connections. A server accepts in order, so once it has seen a connection of the counter's own,
// which is not counted, it has seen all that were made before.
func accepted(t *testing.T, s *httptest.Server) func() int {
	seen, n := make(chan string, 100), 0
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			seen <- c.RemoteAddr().String()
		}
	}
	return func() int {
		t.Helper()
		own, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		for <-seen != own.LocalAddr().String() {
			n++
		}
		return n
	}
}

func echoHandler(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Method) }

func TestConnect(t *testing.T) {
	plain, safe := httptest.NewUnstartedServer(http.HandlerFunc(echoHandler)), httptest.NewUnstartedServer(http.HandlerFunc(echoHandler))
	plainConns, safeConns := accepted(t, plain), accepted(t, safe)
	plain.Start()
	safe.StartTLS()
	defer plain.Close()
	defer safe.Close()
	p := policy(t, "127.0.0.1:*")
	p.Roots = x509.NewCertPool()
	p.Roots.AddCert(safe.Certificate())
	g := newGuest(t, p)

	// The request takes the connection that was made, and so does TLS.
	tcp := "http" + strings.TrimPrefix(safe.URL, "https")
	for _, url := range []string{plain.URL, tcp, safe.URL, plain.URL, safe.URL} {
		if err := g.connect(url); err != nil {
			t.Fatal(url, err)
		}
	}
	for range 2 {
		for _, url := range []string{plain.URL, safe.URL} {
			if a, err := g.get(url); err != nil || a.body != "GET" {
				t.Errorf("%s: %+v, %v", url, a, err)
			}
		}
	}
	if p, s := plainConns(), safeConns(); p != 1 || s != 1 {
		t.Errorf("%d and %d connections, want one each", p, s)
	}

	// What cannot be reached is said at once, what may not be to the request.
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	for url, want := range map[string]string{
		"http://" + nobody.Addr().String():              "ConnectionRefusedError",
		"https" + strings.TrimPrefix(plain.URL, "http"): "TLSError: the server does not speak TLS",
		"http://other.example/":                         "",
		"http://169.254.169.254/":                       "",
		"http://[::1%25lo]/":                            "",
		"gopher://127.0.0.1:70/":                        "",
		"http://u@127.0.0.1:8000/":                      "",
	} {
		err := g.connect(url)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	var reasons []string
	for _, r := range g.client.Records() {
		if r.Method == "CONNECT" {
			reasons = append(reasons, r.Reason)
		}
	}
	if len(reasons) != 2 {
		t.Errorf("what failed is on record as %q", reasons)
	}
}

// TestReach: an async request can be waited for until its server is reached, and no longer: its refusals are there then, and an
// answer that never comes holds nobody.
func TestReach(t *testing.T) {
	s := serve(t)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	g := newGuest(t, policy(t, "127.0.0.1:*"))
	for url, want := range map[string]string{
		s.URL + "/hang":                    "",
		"http://" + nobody.Addr().String(): "ConnectionRefusedError",
		"http://other.example/":            "PermissionError",
		"gopher://127.0.0.1:70/":           "ValueError",
	} {
		reply, err := g.ask(hostfuncs.OpFetch, m{"url": url, "async": true, "reach_ms": 1 << 31}, "")
		if err != nil {
			t.Fatal(url, err)
		}
		if goesOn := reply[0] == 0; goesOn != (want == "") || !strings.Contains(string(reply[1:]), want) {
			t.Errorf("%s: %q, want %q", url, reply, want)
		}
	}

	// A server that does not shake hands is not reached, and the program goes on after its time.
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	reply, err := g.ask(hostfuncs.OpFetch, m{"url": "https://" + mute.Addr().String(), "async": true, "reach_ms": 1}, "")
	if err != nil || reply[0] != 0 {
		t.Errorf("%q, %v", reply, err)
	}
}

// TestConnectIsBounded: asking for connections is no way to make more of them than the policy's limits, to addresses that
// are closed, or to keep them.
func TestConnectIsBounded(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(echoHandler))
	conns := accepted(t, s)
	s.Start()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())

	// A name that leads to a closed address: not dialled, and not told apart from one that is not allowed.
	p := policy(t, "*.example.org:*")
	p.Resolver = &names{answers: map[string][]string{"a.example.org": {"127.0.0.1"}}}
	g := newGuest(t, p)
	if err, n := g.connect("http://a.example.org:"+port), conns(); err != nil || n != 0 {
		t.Errorf("%v, %d connections", err, n)
	}
	if _, err := g.get("http://a.example.org:" + port); err == nil || !strings.Contains(err.Error(), "PermissionError") {
		t.Errorf("the request: %v", err)
	}

	// What was opened for one request is not open to another: the range is allowed by its address only.
	p = policy(t, "https://b.example.org:"+port, "http://127.0.0.1:"+port, "http://*.example.org:"+port)
	p.Resolver = &names{answers: map[string][]string{"b.example.org": {"127.0.0.1"}}}
	g = newGuest(t, p)
	if err, n := g.connect("http://127.0.0.1:"+port), conns(); err != nil || n != 1 {
		t.Fatal(err, n)
	}
	if a, err := g.get("http://b.example.org:" + port); err == nil {
		t.Errorf("another host got the connection: %+v", a)
	}

	p = policy(t, "*.localhost:"+port)
	p.Limits = fetch.Limits{Requests: 3}
	g = newGuest(t, p)
	before := conns()
	for _, name := range strings.Fields("a b c d e f g") {
		if err := g.connect("http://" + name + ".localhost:" + port); err != nil {
			t.Error(err)
		}
	}
	if got := conns() - before; got > 3 {
		t.Errorf("%d connections with a limit of 3", got)
	}
}

// TestSlowBody: a head does not wait for its body, whose bytes come as they are there, and what a server cuts off is an error after
// what came.
func TestSlowBody(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-release
		if r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "after")
	}))
	defer s.Close()
	g := newGuest(t, policy(t, "127.0.0.1:*"))
	for path, want := range map[string]string{"/": "firstafter", "/cut": "first"} {
		a, err := g.head(m{"url": s.URL + path, "timeout_ms": 5000}, "")
		if err != nil || a.Stream == 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		piece, err := g.read(a.Stream, nil)
		if string(piece) != "first" || err != nil {
			t.Fatalf("%q, %v", piece, err)
		}
		time.AfterFunc(20*time.Millisecond, func() { release <- struct{}{} })
		next, err := g.read(a.Stream, nil)
		if got := string(piece) + string(next); got != want || (err != nil) != (path == "/cut") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// TestCodedBody: a body comes as it is coded where the program wants that and nothing has to be masked in it.
func TestCodedBody(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Accept", r.Header.Get("Accept-Encoding"))
		io.WriteString(w, "coded")
	}))
	defer s.Close()
	header := m{"url": s.URL, "coded": true, "headers": [][2]string{{"Accept-Encoding", "zstd"}}}
	a, err := newGuest(t, policy(t, "127.0.0.1:*")).fetch(header, "")
	if err != nil || a.body != "coded" || a.header("Content-Encoding") != "gzip" || a.header("X-Accept") != "zstd" {
		t.Errorf("%+v, %v", a, err)
	}
	p := policy(t, "127.0.0.1:*")
	p.Secrets = []fetch.Secret{{For: policy(t, "http://other.example").Allow[0], Header: "X-Key", Value: "secret-value"}}
	newGuest(t, p).fails(header, "", "damaged")
}
