package web_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web"
)

// TestTLS: over TLS, which means HTTP/2, programs run, stream and are interrupted like elsewhere, and a request that is refused
// before its body was read has its answer whole.
func TestTLS(t *testing.T) {
	lender := httptest.NewTLSServer(nil) // has a certificate, and a client that trusts it
	defer lender.Close()
	s, stop := listen(t, func(c *web.Config) { c.MaxBodyBytes = 1 << 20 }, web.ServeOptions{TLS: &tls.Config{Certificates: lender.TLS.Certificates}})
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	s.url = strings.Replace(s.url, "http:", "https:", 1)
	transport := lender.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	client := &http.Client{Transport: transport}
	defer transport.CloseIdleConnections()
	connections := 0
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			connections++
		}
	}}
	send := func(r *http.Request) *http.Response {
		t.Helper()
		res, err := client.Do(r.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
		if err != nil {
			t.Fatal(err)
		}
		if res.ProtoMajor != 2 {
			t.Errorf("it is %s", res.Proto)
		}
		return res
	}
	whole := func(r *http.Request) (int, []byte) {
		t.Helper()
		res := send(r)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Errorf("status %d: %v", res.StatusCode, err)
		}
		return res.StatusCode, b
	}

	if status, b := whole(s.request("POST", "/v1/execute", object{"code": "print(6 * 7)"}, "Accept: text/event-stream")); status != 200 || !bytes.Contains(b, []byte(`"text":"42\n"`)) {
		t.Errorf("%d %s", status, b)
	}
	large := bytes.Repeat([]byte(" "), 8<<20)
	for want, r := range map[int]*http.Request{
		413: s.request("POST", "/v1/execute", large, "Content-Type: application/json"),
		401: s.request("POST", "/v1/execute", large, "Authorization: Bearer none"),
		415: s.request("POST", "/v1/execute", large),
	} {
		var e web.ErrorBody
		if status, b := whole(r); status != want || json.Unmarshal(b, &e) != nil || e.Error.Message == "" {
			t.Errorf("%d %s, want %d", status, b, want)
		}
	}

	if connections != 1 {
		t.Errorf("%d connections were needed: a refusal must not end one that others share", connections)
	}

	res := send(s.request("POST", "/v1/execute", object{"code": "print(1, flush=True)\nimport time; time.sleep(60)"}, "Accept: text/event-stream"))
	if _, err := io.ReadAtLeast(res.Body, make([]byte, 4096), 20); err != nil {
		t.Error(err)
	}
	begin := time.Now()
	res.Body.Close()
	eventually(t, "the program of the client that left is interrupted", func() bool {
		return strings.Contains(s.log.String(), `"status":"cancelled"`)
	})
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("after %v", took)
	}
}
