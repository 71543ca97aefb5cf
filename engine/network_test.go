package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
)

// site serves programs on the loopback address.
func site(t *testing.T) (url string, allowed *fetch.Policy) {
	var mu sync.Mutex // over both of these
	came, three := 0, make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/three": // are answered once there are three at the same time
			mu.Lock()
			mine := three
			if came++; came == 3 {
				close(three)
				came, three = 0, make(chan struct{})
			}
			mu.Unlock()
			select {
			case <-mine:
			case <-r.Context().Done():
			}
			fmt.Fprint(w, "three")
		case "/hang":
			<-r.Context().Done()
		case "/stream":
			for i := range 5 {
				fmt.Fprintf(w, "part %d\n", i)
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		case "/large":
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		case "/hop":
			http.Redirect(w, r, "/json", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/form":
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			_, _ = fmt.Fprint(w, "")
			buf := make([]byte, 1<<16)
			for {
				n, err := r.Body.Read(buf)
				_, _ = w.Write(buf[:n])
				if err != nil {
					return
				}
			}
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"path":%q,"auth":%q}`, r.URL.Path, r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(s.Close)
	p, err := fetch.ParsePattern(s.URL + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return s.URL, &fetch.Policy{Allow: []fetch.Pattern{p}}
}

func TestNetwork(t *testing.T) {
	url, policy := site(t)
	tests := []struct{ language, code, want string }{
		{engine.JavaScript, `
const r = await fetch(BASE + "/hop");
console.log(r.status, r.redirected, r.url === BASE + "/json", (await r.json()).path);
console.log(await Promise.all([1, 2, 3].map(async () => (await fetch(BASE + "/three")).text())));
for (const f of [() => fetch(BASE + "/away"), () => fetch("http://localhost:1/"), () => fetch(BASE + "/hop", { redirect: "error" })]) {
  try { await f(); } catch (e) { console.log(e.name, e.cause.name, e.cause.code); }
}
console.log((await fetch(BASE + "/hop", { redirect: "manual" })).status);
const text = new TextDecoder();
let parts = "";
for await (const chunk of (await fetch(BASE + "/stream")).body) parts += text.decode(chunk);
console.log(parts.split("\n").length);
const reader = (await fetch(BASE + "/large")).body.getReader();
let n = 0;
for (let step; !(step = await reader.read()).done;) n += step.value.length;
console.log(n);
const big = await fetch(BASE + "/large");
const [a, b] = await Promise.all([big.clone().text(), big.text()]);
console.log(a.length, b.length, big.bodyUsed);
for (const signal of [AbortSignal.timeout(50), AbortSignal.abort()]) {
  try { await fetch(BASE + "/hang", { signal }); } catch (e) { console.log(e.name); }
}
const form = new FormData();
form.append("k", "v ü");
form.append("f", new File(["con\r\n--tent"], "a.txt", { type: "text/plain" }));
const back = await (await fetch(BASE + "/form", { method: "POST", body: form })).formData();
console.log(back.get("k"), back.get("f").name, JSON.stringify(await back.get("f").text()));
`, `200 true true /json
[ 'three', 'three', 'three' ]
TypeError PermissionError EACCES
TypeError PermissionError EACCES
TypeError ConnectionError ECONNABORTED
302
6
1048576
1048576 1048576 true
TimeoutError
AbortError
v ü a.txt "con\r\n--tent"
`},
		{engine.Python, `
import asyncio, json, http.client, urllib.error, urllib.request
BASE_HOST = BASE.removeprefix("http://")
with urllib.request.urlopen(BASE + "/hop") as r:
    print(r.status, r.url == BASE + "/json", json.load(r)["path"])
for url in (BASE + "/away", "http://localhost:1/"):
    try:
        urllib.request.urlopen(url)
    except urllib.error.URLError as e:
        print(type(e.reason).__name__)
try:
    urllib.request.urlopen(BASE + "/hang", timeout=0.5)
except TimeoutError as e:
    print("timed out")
with urllib.request.urlopen(BASE + "/stream") as r:
    print([line for line in r][-1])
with urllib.request.urlopen(BASE + "/large") as r:
    print(len(r.read(10)), len(r.read()))
c = http.client.HTTPConnection(BASE_HOST)
for _ in range(2):
    c.request("POST", "/form", iter([b"ab", b"c"]), {"Content-Type": "x/y"}, encode_chunked=True)
    r = c.getresponse()
    print(r.status, r.headers["content-type"], r.read())
try:
    c.request("GET", "/", headers={"Host": "evil"})
except PermissionError as e:
    print(e.strerror)
async def get(path):
    reader, writer = await asyncio.open_connection(*BASE_HOST.split(":"))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {BASE_HOST}\r\n\r\n".encode())
    data = await reader.read()
    writer.close()
    return data.partition(b"\r\n\r\n")[2]
async def main():
    print(await asyncio.gather(*[get("/three") for _ in range(3)]))
    print(len(await get("/large")) > 1 << 20)  # in chunks, as the server sends it
    try:
        await asyncio.wait_for(get("/hang"), 0.05)
    except TimeoutError:
        print("timed out")
asyncio.run(main())
`, `200 True /json
PermissionError
PermissionError
timed out
b'part 4\n'
10 1048566
200 x/y b'abc'
200 x/y b'abc'
the Host header must name the server that is asked
[b'three', b'three', b'three']
True
timed out
`},
	}
	for _, tt := range tests {
		t.Run(tt.language, func(t *testing.T) {
			var events []string
			res := run(t, engine.Job{
				Language: tt.language, Code: tt.code, Inputs: map[string]any{"BASE": url}, Network: policy,
				OnEvent: func(e engine.Event) {
					if e.Type == engine.EventHTTPRequest {
						events = append(events, strings.TrimPrefix(e.HTTPRequest.URL, url))
					}
				},
			})
			if d := cmp.Diff(tt.want, res.Stdout); d != "" {
				t.Errorf("stdout (-want +got):\n%s%s", d, res.Stderr)
			}
			denied := 0
			for _, r := range res.HTTPRequests {
				if !r.Allowed {
					denied++
				}
			}
			if denied != 2 || len(events) != len(res.HTTPRequests) {
				t.Errorf("%d requests were denied, %d told of, in all %+v", denied, len(events), res.HTTPRequests)
			}
		})
	}
}

// TestNetworkEnds: a run ends on time whatever a server does, and what it left open is closed.
func TestNetworkEnds(t *testing.T) {
	url, policy := site(t)
	for language, code := range map[string]string{
		engine.Python:     "import urllib.request\nurllib.request.urlopen(BASE + '/hang')",
		engine.JavaScript: "await fetch(BASE + '/hang')",
	} {
		j := engine.Job{Language: language, Code: code, Inputs: map[string]any{"BASE": url}, Network: policy}
		j.Limits.Timeout = 300 * time.Millisecond
		begin := time.Now()
		res := run(t, j)
		if took := time.Since(begin); res.Status != engine.StatusTimeout || took > 20*time.Second || len(res.HTTPRequests) != 1 {
			t.Errorf("%s: status %s after %s, requests %+v", language, res.Status, took, res.HTTPRequests)
		}
	}
	// A body that was not read means nothing in the next turn.
	for language, turns := range map[string][2]string{
		engine.Python: {"import urllib.request\nr = urllib.request.urlopen(BASE + '/large')\nr.status", "try:\n    r.read()\nexcept OSError as e:\n    print('gone')"},
		engine.JavaScript: {"const r = await fetch(BASE + '/large'); globalThis.p = fetch(BASE + '/hang'); setTimeout(() => process.exit(0), 50);",
			"try { await r.text() } catch (e) { console.log('gone') }"},
	} {
		s, err := testEngine(t).Open(t.Context(), engine.Options{Language: language, Network: policy})
		if err != nil {
			t.Fatal(err)
		}
		var last *engine.Result
		for _, code := range turns {
			if last, err = s.Run(t.Context(), engine.Turn{Code: code, Inputs: map[string]any{"BASE": url}}); err != nil {
				t.Fatal(err)
			}
		}
		if last.Stdout != "gone\n" {
			t.Errorf("%s: printed %q\n%s", language, last.Stdout, last.Stderr)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoNetwork: without a policy nothing leaves, and the attempt is on record.
func TestNoNetwork(t *testing.T) {
	res := run(t, engine.Job{Language: engine.JavaScript, Code: `try { await fetch("http://127.0.0.1:1/") } catch (e) { console.log(e.message) }`})
	if res.Stdout != "fetch failed: fetch is not offered to this run\n" || len(res.HTTPRequests) != 1 || res.HTTPRequests[0].Allowed {
		t.Errorf("printed %q, requests %+v", res.Stdout, res.HTTPRequests)
	}
}
