package engine_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
)

// TestLateAnswersOverTLS: the policy's own timeout is httpx's ReadTimeout on event loops, over TLS between a library's buffers too,
// whether the head or the body is late; a body that comes in time comes whole.
func TestLateAnswersOverTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("hello"))
		w.(http.Flusher).Flush()
		if r.URL.Path != "/" {
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	slow := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	pattern, err := fetch.ParsePattern("127.0.0.1:*")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	res := run(t, engine.Job{
		Language: engine.Python, Inputs: map[string]any{"BASE": s.URL, "SLOW": slow.URL},
		Network: &fetch.Policy{Allow: []fetch.Pattern{pattern}, Roots: roots, Limits: fetch.Limits{Timeout: 2 * time.Second}},
		Code: `
import asyncio, httpx
async def main():
    async with httpx.AsyncClient(timeout=60) as c:
        for url in (BASE + "/", BASE + "/late", SLOW):
            try:
                print((await c.get(url)).text)
            except Exception as e:
                print(type(e).__name__)
asyncio.run(main())
`,
	})
	if want := "hello\nReadTimeout\nReadTimeout\n"; res.Stdout != want {
		t.Errorf("stdout %q, want %q: %+v", res.Stdout, want, res.Error)
	}
}
