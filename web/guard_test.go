package web_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/web"
)

func TestKeys(t *testing.T) {
	s := serve(t, nil)
	var first []byte
	for _, auth := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + secret, "Bearer " + secret + "x", "Bearer " + secret[1:], secret} {
		r := s.request("POST", "/v1/execute", object{"code": "1"})
		r.Header.Del("Authorization")
		if auth != "" {
			r.Header.Set("Authorization", auth)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, _ = b.ReadFrom(res.Body)
		res.Body.Close()
		if first == nil {
			first = b.Bytes()
		}
		if res.StatusCode != 401 || !bytes.Equal(first, b.Bytes()) || res.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: %d %s", auth, res.StatusCode, b.String())
		}
	}
	s.do("POST", "/v1/execute", object{"code": "1"}, "Authorization: bearer "+secret).must(200, nil)
	s.key = ""
	for _, path := range []string{"/v1/execute?token=" + secret, "/v1/sessions", "/v1/executions/x", "/v1/nothing", "/metrics", "/v1", "//v1/sessions", "/%761/sessions"} {
		if res := s.do("GET", path, nil, "Cookie: token="+secret); res.status != 401 {
			t.Errorf("%s without a key: %d %s", path, res.status, res.body)
		}
	}
	s.do("GET", "/healthz", nil).must(200, nil)
	s.do("GET", "/readyz", nil).must(200, nil)
}

func TestHost(t *testing.T) {
	s := serve(t, nil)
	addr := strings.TrimPrefix(s.url, "http://")
	port := addr[strings.LastIndex(addr, ":"):]
	for host, ok := range map[string]bool{
		addr: true, "localhost" + port: true, "LOCALHOST" + port: true,
		"evil.invalid": false, "evil.invalid" + port: false, "127.0.0.1.evil.invalid" + port: false, "127.0.0.1": false, "127.0.0.1:1": false,
		"localhost": false, "127.0.0.2" + port: false, "[::1]" + port: false, "127.0.0.1.": false, "0x7f.1" + port: false,
	} {
		for _, path := range []string{"/healthz", "/", "/v1/sessions"} {
			res := s.do("GET", path, nil, "Host: "+host)
			if (res.status != 421) != ok {
				t.Errorf("Host %s for %s: %d", host, path, res.status)
			}
		}
	}
	named := serve(t, func(c *web.Config) { c.Hosts = []string{"cloche.example.com"} })
	named.do("GET", "/healthz", nil, "Host: Cloche.example.com").must(200, nil)
	named.do("GET", "/healthz", nil).mustFail(421, "misdirected_request", "hosts")
}

func TestOrigin(t *testing.T) {
	const friend = "https://tools.example.com"
	s := serve(t, func(c *web.Config) { c.Origins = []string{friend} })
	for _, headers := range [][]string{
		{"Origin: https://evil.invalid"}, {"Origin: null"}, {"Origin: " + s.url + ".evil.invalid"}, {"Origin: https" + strings.TrimPrefix(s.url, "http")},
		{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"},
	} {
		res := s.do("POST", "/v1/execute", object{"code": "1"}, headers...)
		res.mustFail(403, "forbidden", "another origin")
		if h := res.header.Get("Access-Control-Allow-Origin"); h != "" {
			t.Errorf("%v is allowed %q", headers, h)
		}
	}
	s.do("POST", "/v1/execute", object{"code": "1"}, "Origin: "+s.url, "Sec-Fetch-Site: same-origin").must(200, nil)
	res := s.do("POST", "/v1/execute", object{"code": "1"}, "Origin: "+friend, "Sec-Fetch-Site: cross-site").must(200, nil)
	if res.header.Get("Access-Control-Allow-Origin") != friend || res.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("headers %v", res.header)
	}
	s.key = ""
	res = s.do("OPTIONS", "/v1/execute", nil, "Origin: "+friend, "Access-Control-Request-Method: POST").must(204, nil)
	for _, name := range []string{"Authorization", "Range", "Last-Event-ID", "Idempotency-Key", "Mcp-Session-Id", "Mcp-Protocol-Version"} {
		if !strings.Contains(res.header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("preflight %v", res.header)
		}
	}
	s.do("OPTIONS", "/v1/execute", nil, "Origin: https://evil.invalid", "Access-Control-Request-Method: POST").mustFail(403, "forbidden", "")
}

func TestPanicIsABare500(t *testing.T) {
	s := serve(t, func(c *web.Config) {
		c.Page = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret of the host") })
	})
	res := s.do("GET", "/", nil)
	res.mustFail(500, "internal", "its log says why")
	if strings.Contains(string(res.body), "secret") || !strings.Contains(s.log.String(), "secret of the host") {
		t.Errorf("body %s, log %s", res.body, s.log)
	}
	s.run(object{"code": "1"}, "ok")
}

// TestDefaultsWithinMax: what a policy forbids to ask for is not given to who asks for nothing.
func TestDefaultsWithinMax(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.Keys[0].Policy.Max.Timeout = 300 * time.Millisecond })
	s.run(object{"code": "while True: pass"}, "timeout")
	var info struct {
		Limits, MaxLimits web.Limits
	}
	s.do("GET", "/v1/runtimes", nil).must(200, &info)
	if *info.Limits.TimeoutMS != 300 {
		t.Errorf("%+v", info)
	}
}

// TestHead: what can be asked for with GET can be asked for with HEAD, but for what goes on.
func TestHead(t *testing.T) {
	s := serve(t, nil)
	for path, status := range map[string]int{"/healthz": 200, "/v1/sessions": 200, "/v1/audit": 200, "/v1/snapshots/none": 404, "/v1/execute": 405, "/v1/executions/none/events": 405} {
		if r := s.do("HEAD", path, nil); r.status != status || len(r.body) > 0 {
			t.Errorf("%s: %d %q, want %d", path, r.status, r.body, status)
		}
	}
}
