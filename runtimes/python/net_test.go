package python_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// request is what the guest asks the host to fetch.
type request struct {
	Method   string                 `json:"method"`
	URL      string                 `json:"url"`
	Headers  [][2]string            `json:"headers"`
	Redirect string                 `json:"redirect"`
	Async    bool                   `json:"async"`
	Raw      map[string]json.Number `json:"body"`
	body     string
}

func (r request) header(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// web answers fetches as a server would whose only host is web.example.
func web(seen *[]string) hostfuncs.Handler {
	return func(_ context.Context, payload []byte) ([]byte, error) {
		if len(payload) < 4 {
			return nil, hostfuncs.Refuse("ValueError", "fetch frame: too short")
		}
		n := binary.LittleEndian.Uint32(payload)
		var r request
		if err := json.Unmarshal(payload[4:4+n], &r); err != nil {
			return nil, err
		}
		r.body = string(payload[4+n:])
		if n, _ := r.Raw["$bytes"].Int64(); int(n) != len(r.body) {
			return nil, fmt.Errorf("a body of %d bytes, said to be %d", len(r.body), n)
		}
		if r.Method == "CONNECT" { // there is a server at every address
			if r.Async {
				return []byte{1, 0, 0, 0, 0, 0}, nil
			}
			return []byte{0, 0, 0, 0}, nil
		}
		*seen = append(*seen, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Redirect, r.body)))
		status, headers, body := 200, [][2]string{{"Content-Type", "application/json"}, {"Set-Cookie", "a=b"}}, `{"city": "Oslo"}`
		switch {
		case !strings.Contains(r.URL, "//web.example"):
			return nil, hostfuncs.Refuse("PermissionError", "%s is not on the allow-list", r.URL)
		case strings.HasSuffix(r.URL, "/hop"):
			status, headers, body = 302, [][2]string{{"Location", "/json"}}, ""
		case strings.HasSuffix(r.URL, "/away"):
			status, headers, body = 302, [][2]string{{"Location", "http://other.example/"}}, ""
		case strings.HasSuffix(r.URL, "/missing"):
			status, body = 404, "nope"
		case r.Method == "POST":
			body = fmt.Sprintf("%s|%s|%s", r.body, r.header("Content-Type"), r.header("Host"))
		}
		head, err := json.Marshal(map[string]any{"status": status, "statusText": "Said So", "headers": headers, "url": r.URL, "redirected": false})
		if err != nil {
			return nil, err
		}
		reply := append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...), body...)
		if r.Async { // answered at once: 1, and the frame
			reply = append([]byte{1, 0}, reply...)
		}
		return reply, nil
	}
}

func TestFetch(t *testing.T) {
	var seen []string
	s := open(t)
	s.fetch = web(&seen)
	r := s.run(`import json, asyncio, http.client, socket, ssl, urllib.error, urllib.request
with urllib.request.urlopen("http://web.example/json?q=1", timeout=10) as r:
    print(r.status, r.reason, json.load(r)["city"], r.headers["content-type"])
print(urllib.request.urlopen("https://web.example:8443/hop").url)
try:
    urllib.request.urlopen("https://web.example/missing")
except urllib.error.HTTPError as e:
    print("HTTPError", e.code, e.read())
print(urllib.request.urlopen("https://web.example/post", data=b"x=1").read())
for url in ("http://web.example/away", "https://169.254.169.254/"):
    try:
        urllib.request.urlopen(url)
    except OSError as e:
        print(e)
c = http.client.HTTPSConnection("web.example", context=ssl.create_default_context())
c.request("POST", "/chunks", iter([b"ab", b"c"]), encode_chunked=True)
print(c.getresponse().read())
c.request("HEAD", "/json")
print(c.getresponse().read())

async def main():
    reader, writer = await asyncio.open_connection("web.example", 443, ssl=True)
    writer.write(b"GET /stream HTTP/1.0\r\n\r\n")
    print((await reader.readline()))
asyncio.run(main())

with socket.create_connection(("web.example", 25)) as sock:
    try:
        sock.sendall(b"\x16\x03\x01")
    except OSError as e:
        print(e.strerror)
with socket.create_connection(("web.example", 80)) as sock:
    try:
        sock.sendall(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n0\r\n\r\n")
    except OSError as e:
        print(e.strerror)
try:
    socket.gethostbyname("web.example")
except OSError as e:
    print(e.strerror)
try:
    socket.create_server(("", 80))
except OSError as e:
    print(e.strerror)`).ok(t)
	want := `200 Said So Oslo application/json
https://web.example:8443/json
HTTPError 404 b'nope'
b'x=1|application/x-www-form-urlencoded|'
<urlopen error [Errno 2] http://other.example/ is not on the allow-list>
<urlopen error [Errno 2] https://169.254.169.254/ is not on the allow-list>
b'abc||'
b''
b'HTTP/1.1 200 Said So\r\n'
only HTTP requests leave this sandbox
the request's body is not in chunks, as its header says
cannot look up 'web.example': the host looks names up itself, for HTTP requests
nothing can be served from this sandbox
`
	if diff := cmp.Diff(want, r.stdout); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
	wantSeen := []string{
		"GET http://web.example/json?q=1 manual", "GET https://web.example:8443/hop manual", "GET https://web.example:8443/json manual",
		"GET https://web.example/missing manual", "POST https://web.example/post manual x=1", "GET http://web.example/away manual",
		"GET http://other.example/ manual", "GET https://169.254.169.254/ manual", "POST https://web.example/chunks manual abc",
		"HEAD https://web.example/json manual", "GET https://web.example/stream manual",
	}
	if diff := cmp.Diff(wantSeen, seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
