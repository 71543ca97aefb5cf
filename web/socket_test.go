package web_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/cloche-dev/cloche/web"
)

type socket struct {
	t    testing.TB
	conn *websocket.Conn
}

func (s *server) socket(path string, o *websocket.DialOptions) (*socket, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.url, "http")+path+"/ws", o)
	if err != nil {
		return nil, res, err
	}
	conn.SetReadLimit(10 << 20)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{s.t, conn}, res, nil
}

func (k *socket) send(v object) {
	k.t.Helper()
	b, _ := json.Marshal(v)
	if err := k.conn.Write(context.Background(), websocket.MessageText, b); err != nil {
		k.t.Fatal(err)
	}
}

// next is the next event.
func (k *socket) next() (e event) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, b, err := k.conn.Read(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := json.Unmarshal(b, &e); err != nil {
		k.t.Fatalf("%v: %s", err, b)
	}
	return e
}

// until reads events up to the first one of a type, and returns what was printed before it too.
func (k *socket) until(kind string) (e event, stdout string) {
	k.t.Helper()
	for {
		e = k.next()
		if e.Type == kind {
			return e, stdout
		}
		if e.Type == "stdout" {
			stdout += e.Text
		}
	}
}

func bearer(key string) *websocket.DialOptions {
	return &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}}
}

func TestSocket(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{})
	k, _, err := s.socket(p, bearer(secret))
	if err != nil {
		t.Fatal(err)
	}
	k.send(object{"type": "execute", "code": "n = input('name? ')\nprint('hello', n)\nprint(input())"})
	k.until("stdout")
	k.send(object{"type": "stdin", "text": "Ann\nlast"})
	k.send(object{"type": "stdin", "eof": true})
	if e, stdout := k.until("end"); e.Result.Status != "ok" || stdout != "hello Ann\nlast\n" {
		t.Errorf("%q %+v", stdout, e.Result)
	}
	k.send(object{"type": "execute", "code": "print(n)\nwhile True: pass"})
	k.until("stdout")
	k.send(object{"type": "execute", "code": "1"})
	if e, _ := k.until("refused"); e.Error.Code != "busy" {
		t.Errorf("%+v", e.Error)
	}
	k.send(object{"type": "interrupt"})
	if e, _ := k.until("end"); e.Result.Status != "cancelled" {
		t.Errorf("%+v", e.Result)
	}
	for _, bad := range []object{{"type": "dance"}, {"type": "execute", "code": "1", "colour": 1}, {"type": "stdin", "text": "x"}, {"type": "execute", "code": "1", "limits": object{"timeout_ms": 0}}} {
		k.send(bad)
		if e, _ := k.until("refused"); e.Error.Code == "" || e.Error.Message == "" {
			t.Errorf("%v: %+v", bad, e.Error)
		}
	}
	k.send(object{"type": "execute", "code": "print(n)", "stdin": ""})
	if _, stdout := k.until("end"); stdout != "Ann\n" {
		t.Errorf("%q", stdout)
	}
}

func TestSocketClientLeaves(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{})
	k, _, err := s.socket(p, bearer(secret))
	if err != nil {
		t.Fatal(err)
	}
	k.send(object{"type": "execute", "code": "print(1, flush=True)\nwhile True: pass"})
	k.until("stdout")
	_ = k.conn.CloseNow()
	begin := time.Now()
	eventually(t, "the turn is stopped", func() bool { return s.do("POST", p+"/execute", object{"code": "1"}).status == 200 })
	if time.Since(begin) > 20*time.Second { // the turn itself has 30
		t.Errorf("it took %v", time.Since(begin))
	}
}

func TestSocketKeys(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{})
	for name, o := range map[string]*websocket.DialOptions{
		"none": nil, "wrong": bearer("wrong"),
		"wrong protocol": {Subprotocols: []string{"cloche", "cloche.bearer." + base64.RawURLEncoding.EncodeToString([]byte("wrong"))}},
	} {
		if _, res, err := s.socket(p, o); err == nil || res == nil || res.StatusCode != 401 {
			t.Errorf("%s: %v %v", name, res, err)
		}
	}
	o := bearer(secret)
	o.HTTPHeader.Set("Origin", "https://evil.invalid")
	if _, res, err := s.socket(p, o); err == nil || res == nil || res.StatusCode != 403 {
		t.Errorf("another origin: %v %v", res, err)
	}
	k, res, err := s.socket(p, &websocket.DialOptions{Subprotocols: []string{"cloche", "cloche.bearer." + base64.RawURLEncoding.EncodeToString([]byte(secret))}})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Sec-WebSocket-Protocol"); got != "cloche" {
		t.Errorf("protocol %q", got)
	}
	k.send(object{"type": "execute", "code": "1"})
	k.until("end")
}

// TestSocketMessagesAreHeld: messages count like the bodies of requests while they come and as long as their turns run, and have the time
// of a body.
func TestSocketMessagesAreHeld(t *testing.T) {
	s := serve(t, twoKeys(func(c *web.Config) { c.MaxBodyBytes, c.BodyTimeout = 1<<20, 5*time.Second }))
	const fit = 8 // of the sixteen largest that all keys together may have
	long := "// " + strings.Repeat("x", 1_000_000)
	connect := func() *socket {
		t.Helper()
		k, _, err := s.socket(s.session(object{"language": "javascript"}), bearer(secret))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	var open []*socket
	for range fit / 2 {
		k := connect()
		k.send(object{"type": "execute", "code": "await new Promise((r) => setTimeout(r, 60000)) " + long, "limits": object{"timeout_ms": 60000}})
		k.until("start")
		open = append(open, k)
	}
	for range fit / 2 { // these do not end
		k := connect()
		w, err := k.conn.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, long); err != nil {
			t.Fatal(err)
		}
		open = append(open, k)
	}
	eventually(t, "messages are refused", func() bool {
		k := connect()
		k.send(object{"type": "execute", "code": long})
		e := k.next()
		if e.Type != "refused" {
			return false
		}
		if !strings.Contains(e.Error.Message, "too large together") {
			t.Errorf("refused: %+v", e)
		}
		_, _, err := k.conn.Read(t.Context())
		if websocket.CloseStatus(err) != websocket.StatusTryAgainLater {
			t.Errorf("the connection goes on, or ends by %v", err)
		}
		return true
	})
	for _, k := range open[fit/2:] { // after the time of a body
		if _, _, err := k.conn.Read(t.Context()); err == nil {
			t.Error("a message may take any time")
		}
	}
	for _, k := range open[:fit/2] {
		_ = k.conn.CloseNow()
	}
	eventually(t, "nothing is held", func() bool {
		return s.do("POST", "/v1/execute", object{"language": "javascript", "code": long}).status == 200
	})
}
