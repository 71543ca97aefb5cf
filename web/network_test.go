package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/web"
)

// TestNetwork: a request without network has none, and its list can only take away from what the key may reach.
func TestNetwork(t *testing.T) {
	var hits atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		_, _ = io.WriteString(w, "hello "+r.URL.Path)
	}))
	defer target.Close()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request that no policy allows") }))
	defer other.Close()
	allow, err := fetch.ParsePatterns([]string{target.URL + "/*"})
	if err != nil {
		t.Fatal(err)
	}
	const closed = "a-key-without-network-0123456789-0123456789"
	s := serve(t, func(c *web.Config) {
		c.Keys[0].Policy.Network = &fetch.Policy{Allow: allow}
		c.Keys = append(c.Keys, &web.Key{Name: "closed", Hash: web.HashKey(closed)})
	})
	code := "import urllib.request\nprint(urllib.request.urlopen(url).read().decode())"
	get := func(url string, network any, status string) result {
		t.Helper()
		body := object{"code": code, "inputs": object{"url": url}}
		if network != nil {
			body["network"] = network
		}
		return s.run(body, status)
	}
	if res := get(target.URL+"/a", object{"allow": []string{target.URL + "/*"}}, "ok"); res.Stdout != "hello /a\n" {
		t.Errorf("%+v", res)
	}
	get(target.URL+"/a", nil, "error")
	get(target.URL+"/a", object{"allow": []string{}}, "error")
	get(target.URL+"/b", object{"allow": []string{target.URL + "/a/*"}}, "error")
	get(other.URL, object{"allow": []string{other.URL + "/*", "*"}}, "error")
	get(other.URL, object{"allow": []string{other.URL + "/*"}}, "error")
	if hits.Load() != 1 {
		t.Errorf("%d requests came through", hits.Load())
	}
	s.do("POST", "/v1/execute", object{"code": "1", "network": object{"allow": []string{"ftp://x"}}}).mustFail(400, "invalid_request", "network.allow")
	st := s.stream("POST", "/v1/execute", object{"code": code, "inputs": object{"url": target.URL}, "network": object{"allow": []string{target.URL}}}, "Accept: text/event-stream")
	st.until("http_request")
	s.key = closed
	get(target.URL+"/a", object{"allow": []string{target.URL + "/*"}}, "error")
}
