package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web"
)

// listen serves as cloche serve does, until stop.
func listen(t *testing.T, change func(*web.Config), o web.ServeOptions) (s *server, stop func() error) {
	t.Helper()
	s = serve(t, change)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- web.Serve(ctx, l, s.web, o) }()
	s.url = "http://" + l.Addr().String()
	return s, sync.OnceValue(func() error { cancel(); return <-done })
}

func TestTooManyRuns(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.MaxRuns, c.QueueWait = 1, 50*time.Millisecond })
	st := s.stream("POST", "/v1/execute", object{"code": "print(1, flush=True)\nimport time; time.sleep(30)"}, "Accept: text/event-stream")
	id := st.until("start").ExecutionID
	st.until("stdout")
	for _, accept := range []string{"application/json", "text/event-stream"} {
		r := s.do("POST", "/v1/execute", object{"code": "1"}, "Accept: "+accept)
		r.mustFail(429, "too_many_requests", "no place to run")
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	s.do("DELETE", "/v1/executions/"+id, nil).must(200, nil)
	s.run(object{"code": "1"}, "ok")
}

// TestSlowAndHostileClients: clients that hold connections open in every way do not keep others out, and lose them.
func TestSlowAndHostileClients(t *testing.T) {
	// The first is long enough for a busy machine to read a whole body in.
	s, stop := listen(t, func(c *web.Config) { c.BodyTimeout, c.WriteTimeout = 2*time.Second, 500*time.Millisecond }, web.ServeOptions{})
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	s.run(object{"code": "1"}, "ok") // the interpreter is loaded
	addr := strings.TrimPrefix(s.url, "http://")
	dial := func(text string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\r\n"), "KEY", secret)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range 200 {
		dial("POST / HTTP/1.1\nHost: x\nX: ")
	}
	half := dial("POST /v1/execute HTTP/1.1\nHost: " + addr + "\nAuthorization: Bearer KEY\nContent-Type: application/json\nContent-Length: 100\n\n{\"code\":")
	deaf := dial("POST /v1/execute HTTP/1.1\nHost: " + addr + "\nAuthorization: Bearer KEY\nContent-Type: application/json\nAccept: text/event-stream\nContent-Length: 110\n\n" +
		fmt.Sprintf("%-110s", `{"code":"while True: print('x'*90000)","limits":{"output_bytes":60000000,"timeout_ms":90000}}`))
	huge := dial("POST /v1/execute HTTP/1.1\nHost: " + addr + "\nAuthorization: Bearer KEY\nContent-Type: application/json\nContent-Length: 1099511627776\n\n{")
	head := dial("GET /healthz HTTP/1.1\nHost: " + addr + "\nX-Large: " + strings.Repeat("x", 100<<10) + "\n\n")
	begin := time.Now()
	s.run(object{"code": "1"}, "ok")
	if time.Since(begin) > 20*time.Second {
		t.Errorf("another client waited for %v", time.Since(begin))
	}
	for c, status := range map[net.Conn]int{half: 408, huge: 413, head: 431} {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != status {
			t.Errorf("%v %v, want %d", res, err, status)
		}
	}
	// Who does not take the stream is gone after the time for a write, and the program is stopped long before its own.
	eventually(t, "the program of the client that does not read is stopped", func() bool {
		var list web.AuditList
		s.do("GET", "/v1/audit?status=cancelled", nil).must(200, &list)
		return len(list.Records) == 1
	})
	_ = deaf.Close()
}

// TestShutdown: when the server is told to stop under load, every request that was taken is answered whole, what runs
// longer than the grace is cut with a Result that says so, and new requests are refused.
func TestShutdown(t *testing.T) {
	s, stop := listen(t, nil, web.ServeOptions{Grace: 5 * time.Second}) // enough for a busy machine to end what is short
	p := s.session(object{})
	k, _, err := s.socket(p, bearer(secret))
	if err != nil {
		t.Fatal(err)
	}
	long := s.stream("POST", "/v1/execute", object{"code": "print(1, flush=True)\nimport time; time.sleep(60)", "limits": object{"timeout_ms": 90000}}, "Accept: text/event-stream")
	long.until("stdout")
	var taken, whole, refused atomic.Int32
	var all sync.WaitGroup
	stopping := make(chan struct{})
	for range 8 {
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			for {
				res, err := client.Do(s.request("POST", "/v1/execute", object{"code": "import time; time.sleep(0.05); print('whole')"}))
				if err != nil {
					select {
					case <-stopping:
						return // refused, or the idle connection was closed: nothing had been taken
					default:
						t.Error(err)
						return
					}
				}
				b, err := io.ReadAll(res.Body)
				res.Body.Close()
				switch {
				case err != nil:
					t.Errorf("an answer was cut: %v", err)
				case res.StatusCode == 503:
					refused.Add(1)
					return
				case res.StatusCode != 200 || !strings.Contains(string(b), `"stdout":"whole\n"`):
					t.Errorf("%d %s", res.StatusCode, b)
				default:
					whole.Add(1)
				}
				taken.Add(1)
			}
		})
	}
	eventually(t, "some have run", func() bool { return whole.Load() > 20 })
	close(stopping)
	begin := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("stopping took %v", took)
	}
	all.Wait()
	if e := long.until("end"); e.Result.Status != "cancelled" {
		t.Errorf("%+v", e.Result)
	}
	if _, _, err := k.conn.Read(context.Background()); err == nil {
		t.Error("the WebSocket is still open")
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		t.Error("connections are still taken")
	}
	records := strings.Count(s.log.String(), `"msg":"run"`)
	if records != int(whole.Load())+1 {
		t.Errorf("%d programs ran, %d answers came whole", records, whole.Load()+1)
	}
	if whole.Load() != taken.Load() {
		t.Errorf("%d of %d", whole.Load(), taken.Load())
	}
}

// TestRequestsAtStop: requests on kept connections that come in while the server is told to stop are refused, and it does not wait for
// connections on which nothing is asked. Requests that come in after a moment, on a machine that is busy, find a connection closed.
func TestRequestsAtStop(t *testing.T) {
	for try := 1; ; try++ {
		err := requestsAtStop(t)
		if err == nil {
			return
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
}

func requestsAtStop(t *testing.T) error {
	t.Helper()
	s, stop := listen(t, nil, web.ServeOptions{})
	var clients [8]http.Client
	for i := range clients {
		clients[i].Transport = &http.Transport{MaxIdleConnsPerHost: 1}
	}
	ask := func(i, status int) error {
		res, err := clients[i].Do(s.request("POST", "/v1/execute", object{"code": "1", "language": "javascript"}))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != status {
			err = fmt.Errorf("%s, not %d", res.Status, status)
		}
		return err
	}
	for i := range clients {
		if err := ask(i, 200); err != nil {
			t.Fatal(err)
		}
	}
	silent, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stopped, begin := make(chan error), time.Now()
	go func() { stopped <- stop() }()
	eventually(t, "it stops", func() bool { return strings.Contains(s.log.String(), `"msg":"stopping"`) })
	var errs []error
	for i := range clients {
		errs = append(errs, ask(i, 503))
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 4*time.Second { // the http.Server waits for five
		errs = append(errs, fmt.Errorf("stopping took %v", took))
	}
	return errors.Join(errs...)
}

func TestNew(t *testing.T) {
	_, err := web.New(web.Config{Keys: []*web.Key{{Name: "a"}, {Name: "a", Hash: web.HashKey("x")}}, MaxRuns: -1, Hosts: []string{"http://x"}, Origins: []string{"x"}})
	for _, want := range []string{"no engine", `key "a" has no hash`, "is there twice", "MaxRuns is -1", `host "http://x"`, `origin "x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: no %s", err, want)
		}
	}
}
