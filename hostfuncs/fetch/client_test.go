package fetch_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
)

// site is a server on the loopback address that counts what reaches it.
type site struct {
	*httptest.Server
	hits atomic.Int64
}

// echo is what a server saw of a request.
type echo struct {
	Method, Host, URI, Body string
	Header                  http.Header
}

func serve(t testing.TB) *site {
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.handle))
	t.Cleanup(s.Close)
	return s
}

func (s *site) handle(w http.ResponseWriter, r *http.Request) {
	s.hits.Add(1)
	q := r.URL.Query()
	switch r.URL.Path {
	case "/redirect":
		code := 302
		fmt.Sscan(q.Get("code"), &code)
		w.Header().Set("Location", q.Get("to"))
		w.WriteHeader(code)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/big":
		var n int
		fmt.Sscan(q.Get("n"), &n)
		for ; n > 0; n -= 1 << 16 {
			if _, err := w.Write(bytes.Repeat([]byte("b"), min(n, 1<<16))); err != nil {
				return
			}
		}
	case "/drip":
		for r.Context().Err() == nil {
			w.Write([]byte("d"))
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	case "/stall":
		w.Write([]byte("first"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "/hang":
		<-r.Context().Done()
	case "/coded":
		w.Header().Set("Content-Encoding", q.Get("as"))
		body, _ := base64.URLEncoding.DecodeString(q.Get("body"))
		w.Write(body)
	case "/bomb":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 256 {
			z.Write(make([]byte, 1<<20))
		}
		z.Close()
	case "/headers":
		for i := range 2000 {
			w.Header().Set(fmt.Sprintf("X-Filler-%d", i), "v")
		}
	case "/reflect":
		w.Header().Set("X-Seen", r.Header.Get("Authorization"))
		w.Header().Set("Set-Cookie", "a=b")
		auth := r.Header.Get("Authorization")
		_, token, _ := strings.Cut(auth, " ")
		parts := []string{auth, url.QueryEscape(token), base64.StdEncoding.EncodeToString([]byte(token)), fmt.Sprintf("%x", token)}
		for _, p := range parts { // in pieces, so that they are cut where a secret is
			for i := range len(p) {
				io.WriteString(w, p[i:i+1])
				w.(http.Flusher).Flush()
			}
			io.WriteString(w, "|")
		}
	default:
		body, _ := io.ReadAll(r.Body)
		json.NewEncoder(w).Encode(echo{r.Method, r.Host, r.RequestURI, string(body), r.Header})
	}
}

func (s *site) host() string { return strings.TrimPrefix(s.URL, "http://") }

// names is a resolver of the test's own. Each look-up of a name takes the next of its answers, the last for good.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host = strings.TrimSuffix(host, ".")
	list := n.answers[host]
	if len(list) == 0 {
		return nil, errors.New("no such host on 10.0.0.53")
	}
	if len(list) > 1 {
		n.answers[host] = list[1:]
	}
	var addrs []netip.Addr
	for a := range strings.FieldsSeq(list[0]) {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

// guest asks as a program does, over the door.
type guest struct {
	t      testing.TB
	door   *hostfuncs.Door
	client *fetch.Client
	stop   func()
}

func policy(t testing.TB, allow ...string) *fetch.Policy {
	t.Helper()
	list, err := fetch.ParsePatterns(allow)
	if err != nil {
		t.Fatal(err)
	}
	return &fetch.Policy{Allow: list}
}

func newGuest(t testing.TB, p *fetch.Policy) *guest {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	calls := hostfuncs.NewCalls(t.Context(), func(ctx context.Context, done <-chan struct{}, atMost time.Duration) (bool, error) {
		var bound <-chan time.Time
		if atMost >= 0 {
			bound = time.After(atMost)
		}
		select {
		case <-done:
			return true, nil
		case <-bound:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	})
	g := &guest{t: t, client: fetch.New(t.Context(), p, calls, nil, nil)}
	calls.OnCancel = g.client.Cancel
	g.door = &hostfuncs.Door{MaxCalls: 1 << 20, Handlers: calls.Handlers()}
	maps.Copy(g.door.Handlers, g.client.Handlers())
	g.stop = sync.OnceFunc(func() { calls.Close(); g.client.Close() })
	t.Cleanup(g.stop)
	return g
}

func (g *guest) ask(op hostfuncs.Op, header any, body string) ([]byte, error) {
	text, err := json.Marshal(header)
	if err != nil {
		g.t.Fatal(err)
	}
	frame := binary.LittleEndian.AppendUint32([]byte{byte(op)}, uint32(len(text)))
	reply, err := g.door.Serve(g.t.Context(), append(append(frame, text...), body...))
	if err != nil {
		g.t.Fatal(err)
	}
	if reply[0] != 0 {
		var r hostfuncs.Refusal
		if err := json.Unmarshal(reply[1:], &r); err != nil {
			g.t.Fatal(err)
		}
		return nil, &r
	}
	return reply[1:], nil
}

type answer struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	Headers    [][2]string `json:"headers"`
	URL        string      `json:"url"`
	Redirected bool        `json:"redirected"`
	Stream     uint32      `json:"stream"`
	body       string
}

func (a *answer) header(name string) string {
	for _, h := range a.Headers {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

type m = map[string]any

// head makes a request, whose body may be left to be read.
func (g *guest) head(header m, body string) (*answer, error) {
	if body != "" {
		header["body"] = m{"$bytes": len(body)}
	}
	reply, err := g.ask(hostfuncs.OpFetch, header, body)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(reply)
	a := &answer{body: string(reply[4+n:])}
	if err := json.Unmarshal(reply[4:4+n], a); err != nil {
		g.t.Fatal(err)
	}
	return a, nil
}

func (g *guest) read(stream uint32, more m) ([]byte, error) {
	header := m{"id": stream, "max": 4096}
	maps.Copy(header, more)
	return g.ask(hostfuncs.OpRead, header, "")
}

// fetch makes a request and reads all of its answer.
func (g *guest) fetch(header m, body string) (*answer, error) {
	a, err := g.head(header, body)
	for err == nil && a.Stream != 0 {
		var piece []byte
		if piece, err = g.read(a.Stream, nil); len(piece) == 0 {
			break
		}
		a.body += string(piece)
	}
	return a, err
}

func (g *guest) get(u string) (*answer, error) { return g.fetch(m{"url": u}, "") }

// echoed is what the server saw.
func (g *guest) echoed(header m, body string) echo {
	g.t.Helper()
	a, err := g.fetch(header, body)
	if err != nil {
		g.t.Fatalf("%v: %v", header, err)
	}
	var e echo
	if err := json.Unmarshal([]byte(a.body), &e); err != nil {
		g.t.Fatalf("%v: %q: %v", header, a.body, err)
	}
	return e
}

func (g *guest) fails(header m, body, want string) {
	g.t.Helper()
	if a, err := g.fetch(header, body); err == nil || !strings.Contains(err.Error(), want) {
		g.t.Errorf("%v: answer %+v, error %v; want %q", header, a, err, want)
	}
}

func TestRequest(t *testing.T) {
	s := serve(t)
	g := newGuest(t, policy(t, s.host()))
	a, err := g.get(s.URL + "/a%2Fb?q=1#frag")
	if err != nil || a.Status != 200 || a.StatusText != "OK" || a.URL != s.URL+"/a%2Fb?q=1" || a.Redirected || a.header("Content-Type") == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	e := g.echoed(m{"url": s.URL + `/x"<>?a="b`, "method": "post", "headers": [][2]string{{"X-A", " é "}, {"x-a", "2"}, {"Host", s.host()}, {"Connection", "X-A"}, {"Content-Length", "1"},
		{"Transfer-Encoding", "chunked"}, {"Proxy-Authorization", "x"}, {"Upgrade", "h2c"}, {"Expect", "100-continue"}}}, "GET / HTTP/1.1\r\n\r\n")
	want := echo{Method: "POST", Host: s.host(), URI: `/x%22%3C%3E?a="b`, Body: "GET / HTTP/1.1\r\n\r\n", Header: http.Header{
		"X-A": {"\xe9", "2"}, "Content-Length": {"18"}, "Accept-Encoding": {"gzip, deflate"}, "User-Agent": {"cloche"},
	}}
	want.Header["X-A"][0] = "\ufffd" // as JSON shows the byte
	if d := cmp.Diff(want, e); d != "" {
		t.Errorf("what was sent (-want +got):\n%s", d)
	}
	for _, tt := range []struct {
		header m
		want   string
	}{
		{m{"method": "GET / HTTP/1.1\r\nX: y"}, "cannot be used"},
		{m{"method": "connect"}, "cannot be used"},
		{m{"method": "TRACE"}, "cannot be used"},
		{m{"method": ""}, "cannot be used"},
		{m{"headers": [][2]string{{"X", "a\r\nY: 1"}}}, "no line ends"},
		{m{"headers": [][2]string{{"X", "a\x00"}}}, "no line ends"},
		{m{"headers": [][2]string{{"X", "日本"}}}, "Latin-1"},
		{m{"headers": [][2]string{{"X\r\nY", "1"}}}, "is no header name"},
		{m{"headers": [][2]string{{"", "1"}}}, "is no header name"},
		{m{"headers": [][2]string{{"Host", "evil"}}}, "must name the server"},
		{m{"headers": [][2]string{{"X", strings.Repeat("v", 1<<20)}}}, "longer than"},
		{m{"headers": slices.Repeat([][2]string{{"X", "y"}}, 101)}, "101 headers"},
		{m{"headers": [][]string{{"X"}}}, "a name and a value"},
		{m{"redirect": "maybe"}, "redirect is"},
		{m{"more": 1}, "unknown field"},
		{m{"body": m{"$bytes": 7}}, "another length"},
		{m{"url": "http://" + s.host() + "@evil/"}, "user name"},
		{m{"url": "http://localhost:1/"}, "is not on the allow-list"},
	} {
		if tt.header["url"] == nil {
			tt.header["url"] = s.URL
		}
		g.fails(tt.header, "", tt.want)
	}
	if n := s.hits.Load(); n != 2 {
		t.Errorf("%d requests reached the server, want 2", n)
	}
	records := g.client.Records()
	last := records[len(records)-1]
	if last.Allowed || last.Reason != "GET http://localhost:1 is not on the allow-list" || records[0].Bytes == 0 || records[0].Reason != s.host() || records[0].Status != 200 {
		t.Errorf("records %+v", records)
	}
}

func TestRedirects(t *testing.T) {
	s, other, secret := serve(t), serve(t), serve(t)
	g := newGuest(t, policy(t, s.host(), other.host()))
	to := func(code int, u string) string {
		return fmt.Sprintf("%s/redirect?code=%d&to=%s", s.URL, code, url.QueryEscape(u))
	}
	a, err := g.get(to(302, "/end"))
	if err != nil || !a.Redirected || a.URL != s.URL+"/end" {
		t.Errorf("%+v, %v", a, err)
	}
	headers := [][2]string{{"Authorization", "A"}, {"Cookie", "C"}, {"X-Api-Key", "K"}, {"X-Plain", "P"}, {"Content-Type", "text/x"}}
	for _, tt := range []struct {
		code         int
		to           string
		method, body string
		want, sent   string
		credentials  bool
	}{
		{301, "/end", "POST", "b", "GET", "", true},
		{302, "/end", "POST", "b", "GET", "", true},
		{303, "/end", "PUT", "b", "GET", "", true},
		{303, "/end", "HEAD", "", "HEAD", "", true},
		{301, "/end", "PUT", "b", "PUT", "b", true},
		{307, "/end", "POST", "b", "POST", "b", true},
		{308, other.URL + "/end", "POST", "b", "POST", "b", false},
		{302, other.URL + "/end", "GET", "", "GET", "", false},
	} {
		r := m{"url": to(tt.code, tt.to), "method": tt.method, "headers": headers}
		if tt.method == "HEAD" {
			if a, err := g.fetch(r, ""); err != nil || a.body != "" || a.Status != 200 {
				t.Errorf("HEAD: %+v, %v", a, err)
			}
			continue
		}
		e := g.echoed(r, tt.body)
		has := e.Header.Get("Authorization") == "A" && e.Header.Get("Cookie") == "C" && e.Header.Get("X-Api-Key") == "K"
		none := e.Header.Get("Authorization")+e.Header.Get("Cookie")+e.Header.Get("X-Api-Key") == ""
		if e.Method != tt.want || e.Body != tt.sent || has != tt.credentials || none == tt.credentials || e.Header.Get("X-Plain") != "P" ||
			(e.Header.Get("Content-Type") == "text/x") != (tt.want == tt.method) {
			t.Errorf("%d %s to %s: %+v", tt.code, tt.method, tt.to, e)
		}
	}
	if a, err := g.fetch(m{"url": to(302, secret.URL), "redirect": "manual"}, ""); err != nil || a.Status != 302 || a.header("Location") != secret.URL {
		t.Errorf("manual: %+v, %v", a, err)
	}
	g.fails(m{"url": to(302, "/end"), "redirect": "error"}, "", "which the request forbids")
	g.fails(m{"url": s.URL + "/loop"}, "", "more than 20 redirects")
	port := secret.URL[strings.LastIndexByte(secret.URL, ':'):]
	for _, u := range []string{
		secret.URL, "//127.0.0.1" + port, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://2130706433" + port, "http://127.1" + port,
		"http://" + s.host() + "@127.0.0.1" + port, "file:///etc/passwd", "gopher://127.0.0.1" + port, "data:,x", "javascript:1", "http://169.254.169.254/", "http://h\\@127.0.0.1" + port,
	} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			g.fails(m{"url": to(code, u)}, "", "PermissionError")
		}
	}
	if n := secret.hits.Load(); n > 0 {
		t.Errorf("%d requests reached what is not allowed", n)
	}
}

// TestRebinding: what is dialled is what was checked, each time.
func TestRebinding(t *testing.T) {
	s := serve(t)
	_, port, _ := strings.Cut(s.host(), ":")
	p := policy(t, "a.example:"+port, "b.example:"+port, "c.example:"+port)
	p.Resolver = &names{answers: map[string][]string{
		"a.example": {"127.0.0.1"},
		"b.example": {"10.255.0.1 169.254.169.254 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::"},
		"c.example": {"127.0.0.1", "127.0.0.2"},
	}}
	g := newGuest(t, p)
	for _, host := range []string{"a.example", "b.example"} {
		g.fails(m{"url": "http://" + host + ":" + port}, "", "PermissionError: "+host+" is not at a public address")
	}
	g.fails(m{"url": "http://d.example:" + port}, "", "is not on the allow-list")
	if n := s.hits.Load(); n > 0 {
		t.Errorf("%d requests reached what is not public", n)
	}
	// The first address is open, the second is not: a name that changes is checked again.
	p.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	g = newGuest(t, p)
	if e := g.echoed(m{"url": "http://c.example:" + port + "/", "headers": [][2]string{}}, ""); e.Host != "c.example:"+port {
		t.Errorf("%+v", e)
	}
	g = newGuest(t, p)
	g.fails(m{"url": "http://c.example:" + port}, "", "is not at a public address")
	for _, r := range g.client.Records() {
		if r.Allowed || strings.Contains(r.Reason, "127.0.0") {
			t.Errorf("record %+v", r)
		}
	}
	p.Allow = append(p.Allow, policy(t, "*").Allow...)
	newGuest(t, p).fails(m{"url": "http://nowhere.example/"}, "", "ConnectionError: the request failed")
}

func TestFloods(t *testing.T) {
	s := serve(t)
	p := policy(t, s.host())
	p.Limits = fetch.Limits{ResponseBytes: 1 << 20}
	g := newGuest(t, p)
	g.fails(m{"url": s.URL + "/big?n=1000000000"}, "", "the answer has more than the limit of 1 MiB")
	g.fails(m{"url": s.URL + "/bomb"}, "", "the answer has more than the limit of 1 MiB")
	g.fails(m{"url": s.URL + "/headers"}, "", "more than 1000 headers")
	p.Limits = fetch.Limits{Timeout: 500 * time.Millisecond}
	g = newGuest(t, p)
	g.fails(m{"url": s.URL + "/drip"}, "", "TimeoutError")
	g.fails(m{"url": s.URL + "/hang"}, "", "TimeoutError")
	p.Limits = fetch.Limits{RequestBytes: 1000}
	g = newGuest(t, p)
	g.fails(m{"url": s.URL + "/hang", "timeout_ms": 20}, "", "TimeoutError")
	g.fails(m{"url": s.URL, "method": "POST"}, strings.Repeat("x", 1001), "the request's body has more than the limit of 1 kB")
	a, err := g.head(m{"url": s.URL + "/stall"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := g.read(a.Stream, nil); string(b) != "first" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := g.read(a.Stream, m{"timeout_ms": 20}); err == nil || !strings.Contains(err.Error(), "TimeoutError") {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := g.read(a.Stream, nil); err == nil || !strings.Contains(err.Error(), "there is no body") {
		t.Errorf("a body that failed goes on: %v", err)
	}

	p.Limits = fetch.Limits{TotalBytes: 5000, Requests: 8}
	g = newGuest(t, p)
	for range 2 {
		if a, err := g.get(s.URL + "/big?n=2000"); err != nil || len(a.body) != 2000 {
			t.Errorf("%v", err)
		}
	}
	g.fails(m{"url": s.URL + "/big?n=2000"}, "", "the bodies of this run's requests have more than the limit")
	for range 5 {
		g.fails(m{"url": s.URL + "/big?n=2000"}, "", "the bodies of")
	}
	for range 50 {
		g.fails(m{"url": s.URL}, "", "this run may make 8 requests")
	}
	if n := len(g.client.Records()); n != 2*8 {
		t.Errorf("%d requests are on record of a run that may make 8, and tried 58", n)
	}
}

func TestCodings(t *testing.T) {
	s := serve(t)
	g := newGuest(t, policy(t, s.host()))
	zip := func(text string, w interface {
		io.WriteCloser
		Reset(io.Writer)
	}) string {
		var b bytes.Buffer
		w.Reset(&b)
		io.WriteString(w, text)
		w.Close()
		return b.String()
	}
	gz := zip("hello", gzip.NewWriter(nil))
	zl := zip("hello", zlib.NewWriter(nil))
	for _, tt := range []struct{ as, body, want, err string }{
		{"gzip", gz, "hello", ""},
		{"GZIP ", gz, "hello", ""},
		{"deflate", zl, "hello", ""},
		{"deflate", zl[2 : len(zl)-4], "hello", ""},
		{"identity", "hello", "hello", ""},
		{"gzip", "", "", ""},
		{"gzip", "hello", "", "damaged"},
		{"gzip", gz[:len(gz)-6], "", "damaged|closed"},
		{"gzip", gz[:len(gz)-1] + "x", "", "damaged"},
		{"br", "hello", "hello", ""}, // not undone, and said so
		{"gzip, gzip", zip(gz, gzip.NewWriter(nil)), "hello", ""},
		{"deflate, gzip", zip(zl, gzip.NewWriter(nil)), "hello", ""},
		{"gzip, br", "hello", "hello", ""},
		{"gzip", gz + "tail", "hello", ""},
	} {
		a, err := g.get(s.URL + "/coded?as=" + url.QueryEscape(tt.as) + "&body=" + base64.URLEncoding.EncodeToString([]byte(tt.body)))
		if tt.err != "" {
			if words := strings.Split(tt.err, "|"); err == nil || !strings.Contains(err.Error(), words[0]) && !strings.Contains(err.Error(), words[len(words)-1]) {
				t.Errorf("%s %q: %+v, %v", tt.as, tt.body, a, err)
			}
		} else if err != nil || a.body != tt.want || (a.header("Content-Encoding") == "") != (a.body == "hello" && !strings.HasSuffix(tt.as, "br") && tt.as != "identity" || tt.body == "") {
			t.Errorf("%s %q: %+v, %v", tt.as, tt.body, a, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	s, other := serve(t), serve(t)
	p := policy(t, s.host(), other.host())
	const token = `s3cr3t/t0ken+"value`
	for _, pattern := range []string{s.URL + "/re*"} {
		f, err := fetch.ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		p.Secrets = append(p.Secrets, fetch.Secret{For: f, Header: "Authorization", Value: "Bearer " + token})
	}
	g := newGuest(t, p)
	for range 3 {
		a, err := g.fetch(m{"url": s.URL + "/reflect", "headers": [][2]string{{"Authorization", "mine"}, {"Range", "bytes=0-3"}}}, "")
		if err != nil {
			t.Fatal(err)
		}
		all, _ := json.Marshal(a)
		for _, form := range []string{token, url.QueryEscape(token), base64.StdEncoding.EncodeToString([]byte(token)), fmt.Sprintf("%x", token), "t0ken"} {
			if strings.Contains(a.body+string(all), form) {
				t.Errorf("%q is in the answer: %s %s", form, a.body, all)
			}
		}
		if len(a.body) < 4*len(token) || !strings.Contains(a.header("X-Seen"), "*****") || a.header("Set-Cookie") != "a=b" {
			t.Errorf("the answer is %q, %+v", a.body, a.Headers)
		}
	}
	for _, u := range []string{s.URL + "/x", other.URL + "/reflect", s.URL + "/redirect?to=" + url.QueryEscape(other.URL+"/x")} {
		a, err := g.fetch(m{"url": u}, "")
		if err != nil || strings.Contains(a.body, "*") {
			t.Errorf("%s: %v %+v", u, err, a)
		}
	}
	// What cannot be read cannot be masked.
	p.Secrets[0].For, _ = fetch.ParsePattern(s.URL)
	newGuest(t, p).fails(m{"url": s.URL + "/coded?as=br&body="}, "", "cannot be undone")
	for _, bad := range []fetch.Secret{
		{For: policy(t, "*").Allow[0], Header: "A", Value: "12345678"}, {For: policy(t, "example.com").Allow[0], Header: "A", Value: "12345678"},
		{For: p.Secrets[0].For, Header: "Host", Value: "12345678"}, {For: p.Secrets[0].For, Header: "A b", Value: "12345678"},
		{For: p.Secrets[0].For, Header: "A", Value: "1234567"}, {For: p.Secrets[0].For, Header: "A", Value: "1234567\n8"},
	} {
		if err := (&fetch.Policy{Secrets: []fetch.Secret{bad}}).Check(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	defer s.Close()
	s.Config.ErrorLog = nil
	p := policy(t, "https://"+strings.TrimPrefix(s.URL, "https://"), "https://example.com:"+s.URL[strings.LastIndexByte(s.URL, ':')+1:], "localhost:*")
	newGuest(t, p).fails(m{"url": s.URL}, "", "CertificateError: the server's certificate cannot be trusted")
	p.Roots = x509.NewCertPool()
	p.Roots.AddCert(s.Certificate())
	if a, err := newGuest(t, p).get(s.URL); err != nil || a.body != "HTTP/1.1" {
		t.Errorf("%+v, %v", a, err)
	}
	newGuest(t, p).fails(m{"url": strings.Replace(s.URL, "127.0.0.1", "localhost", 1)}, "", "CertificateError")
}

// TestTogether: requests go on at once, as many as may; answers come as they are ready, and giving up works at each stage.
func TestTogether(t *testing.T) {
	s := serve(t)
	const places = 2 // beside that of the request that hangs
	var inside, most atomic.Int64
	goOn := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := inside.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-goOn
		inside.Add(-1)
	}))
	defer slow.Close()
	p := policy(t, s.host(), strings.TrimPrefix(slow.URL, "http://"))
	p.Limits.Concurrent = places + 1
	g := newGuest(t, p)
	begin := func(u string) uint32 {
		t.Helper()
		reply, err := g.ask(hostfuncs.OpFetch, m{"url": u, "async": true}, "")
		if err != nil || reply[0] != 0 {
			t.Fatalf("%q, %v", reply, err)
		}
		return binary.LittleEndian.Uint32(reply[1:])
	}
	wait := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("it never came to be that %s", what)
			}
		}
	}
	hung := begin(s.URL + "/hang")
	wait("a request hangs", func() bool { return s.hits.Load() == 1 })
	ids := map[uint32]bool{}
	for range 9 {
		ids[begin(slow.URL)] = true
	}
	wait("all places are taken", func() bool { return inside.Load() >= places })
	time.Sleep(20 * time.Millisecond) // in which one too many would come
	close(goOn)
	for len(ids) > 0 {
		got, err := g.ask(hostfuncs.OpWait, m{"timeout_ms": 5000}, "")
		if err != nil || len(got) == 0 {
			t.Fatalf("%q, %v, with %d left", got, err, len(ids))
		}
		for len(got) > 0 {
			id, n := binary.LittleEndian.Uint32(got), binary.LittleEndian.Uint32(got[4:])
			if !ids[id] || got[8] != 0 {
				t.Errorf("answer to %d: %q", id, got[8:8+n])
			}
			delete(ids, id)
			got = got[8+n:]
		}
	}
	if most.Load() != places {
		t.Errorf("%d requests were on their way at once, beside the one that hangs", most.Load())
	}
	if _, err := g.ask(hostfuncs.OpCancel, m{"id": hung}, ""); err != nil {
		t.Error(err)
	}
	if _, err := g.ask(hostfuncs.OpWait, m{}, ""); err == nil || !strings.Contains(err.Error(), "nothing is going on") {
		t.Errorf("waited for nothing: %v", err)
	}
	a, err := g.head(m{"url": s.URL + "/drip"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.ask(hostfuncs.OpCancel, m{"id": a.Stream}, ""); err != nil {
		t.Error(err)
	}
	if _, err := g.read(a.Stream, nil); err == nil {
		t.Error("a body that was given up is read")
	}
	open, err := g.head(m{"url": s.URL + "/drip"}, "")
	if err != nil {
		t.Fatal(err)
	}
	g.stop()
	records := g.client.Records()
	if last := records[len(records)-1]; open.Stream == 0 || last.Reason != "the run ended before the body was read" || len(records) != 12 {
		t.Errorf("%d records, the last is %+v", len(records), last)
	}
}

// TestFrameOfManyHeaders: to read headers takes many times the memory that they have as text, so a frame that is full of them is refused
// before.
func TestFrameOfManyHeaders(t *testing.T) {
	for _, one := range []string{`[]`, `["a",""]`} {
		text := `{"url":"http://h/","headers":[` + strings.Repeat(one+",", 1<<20) + one + `]}`
		frame := append(binary.LittleEndian.AppendUint32([]byte{byte(hostfuncs.OpFetch)}, uint32(len(text))), text...)
		g := newGuest(t, &fetch.Policy{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reply, err := g.door.Serve(t.Context(), frame)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err != nil || !strings.Contains(string(reply), "longer than") || took > 1<<20 {
			t.Errorf("%.200q, %v, %d bytes", reply, err, took)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00{}"))
	f.Add([]byte("\x10\x00\x00\x00{\"url\":\"http:/\"}"))
	f.Add([]byte(`.` + "\x00\x00\x00" + `{"url":"http://h/","headers":[["a","b"]],"body":{"$bytes":1}}x`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		g := newGuest(t, &fetch.Policy{}) // nothing is allowed, so nothing may leave
		for _, op := range []hostfuncs.Op{hostfuncs.OpFetch, hostfuncs.OpRead, hostfuncs.OpCancel} {
			if _, err := g.door.Serve(t.Context(), append([]byte{byte(op)}, payload...)); err != nil {
				t.Errorf("%s: %v", op, err)
			}
		}
		for _, r := range g.client.Records() {
			if r.Allowed {
				t.Errorf("record %+v", r)
			}
		}
	})
}
