package engine_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/hostfuncs/fetch/fetchtest"
)

// badSite is a server of bytes: what it answers to a path is what no HTTP library would write. The URL of nobody follows.
func badSite(t *testing.T) (url, nobody string, allowed *fetch.Policy) {
	address := fetchtest.Listen(t, answerBadly)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	p, err := fetch.ParsePattern("127.0.0.1:*")
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address, "http://" + closed.Addr().String(), &fetch.Policy{Allow: []fetch.Pattern{p}}
}

func answerBadly(c net.Conn) {
	defer c.Close()
	b := bufio.NewReader(c)
	if first, err := b.Peek(1); err != nil || first[0] == 0x16 {
		io.WriteString(c, "HTTP/1.1 400 This Is No TLS\r\n\r\n")
		io.Copy(io.Discard, b)
		return
	}
	r, err := http.ReadRequest(b)
	if err != nil {
		return
	}
	switch r.URL.Path {
	case "/cut":
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly these")
	case "/cut-chunks":
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	case "/garbage":
		io.WriteString(c, "this is no HTTP\r\n\r\n")
	case "/late":
		time.Sleep(1500 * time.Millisecond)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
	case "/slow-body":
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
		io.Copy(io.Discard, b) // until the client leaves
	case "/gzip": // which is none
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain")
	case "/slow":
		io.Copy(io.Discard, b)
	}
}

// TestClientErrors: what goes wrong is what each library's users look for, as with sockets of one's own.
func TestClientErrors(t *testing.T) {
	url, nobody, policy := badSite(t)
	res := run(t, engine.Job{Language: engine.Python, Inputs: map[string]any{"BASE": url, "NOBODY": nobody}, Network: policy, Code: `
import asyncio, http.client, urllib.request, requests, httpx, urllib3
def name(f):
    try:
        return f()
    except Exception as e:
        return type(getattr(e, "reason", None) if isinstance(getattr(e, "reason", None), Exception) else e).__name__
# A busy machine needs its time: only what is slow meets little patience.
def patience(what):
    return {"/slow": 0.5, "/slow-body": 0.8}.get(what, 60)
clients = [
    ("urllib", lambda u, t: urllib.request.urlopen(u, timeout=t).read()),
    ("requests", lambda u, t: requests.get(u, timeout=t).content),
    ("httpx", lambda u, t: httpx.get(u, timeout=t).content),
    ("urllib3", lambda u, t: urllib3.request("GET", u, timeout=t, retries=False).data),
]
for what in ("/close", "/cut", "/cut-chunks", "/garbage", "/slow", "/slow-body", "/gzip", NOBODY, BASE.replace("http:", "https:")):
    print(what.replace(NOBODY, "nobody").replace(BASE[4:], ""), *[name(lambda: get(what if "//" in what else BASE + what, patience(what))) for _, get in clients])
async def main():
    async with httpx.AsyncClient() as c:
        for what in ("/close", "/cut", "/garbage", "/slow", NOBODY, BASE.replace("http:", "https:")):
            try:
                await c.get(what if "//" in what else BASE + what, timeout=patience(what))
            except Exception as e:
                print(type(e).__name__, end=" ")
    try:
        await asyncio.open_connection("127.0.0.1", int(NOBODY.rsplit(":", 1)[1]))
    except OSError as e:
        print(type(e).__name__)
asyncio.run(main())
with urllib.request.urlopen(BASE + "/slow-body", timeout=60) as r:
    print(r.status, r.read(5))
# What it may take to connect is apart from what an answer may take.
def late(connect, read):
    c = http.client.HTTPConnection(BASE[7:], timeout=connect)
    c.request("GET", "/late" if read > connect else "/slow")
    c.sock.settimeout(read)
    return c.getresponse().read()
for connect, read in ((1, 60), (60, 0.2)):
    what = BASE + ("/late" if read > connect else "/slow")
    print(*[name(f) for f in (
        lambda: requests.get(what, timeout=(connect, read)).content,
        lambda: httpx.get(what, timeout=httpx.Timeout(connect, read=read)).content,
        lambda: late(connect, read),
    )])
`})
	want := `/close RemoteDisconnected ConnectionError RemoteProtocolError ProtocolError
/cut IncompleteRead ChunkedEncodingError RemoteProtocolError ProtocolError
/cut-chunks IncompleteRead ChunkedEncodingError RemoteProtocolError ProtocolError
/garbage BadStatusLine ConnectionError RemoteProtocolError ProtocolError
/slow TimeoutError ReadTimeout ReadTimeout ReadTimeoutError
/slow-body TimeoutError ConnectionError ReadTimeout ReadTimeoutError
/gzip b'plain' ContentDecodingError DecodingError DecodeError
nobody ConnectionRefusedError ConnectionError ConnectError NewConnectionError
https SSLError SSLError ConnectError SSLError
RemoteProtocolError RemoteProtocolError RemoteProtocolError ReadTimeout ConnectError ConnectError ConnectionRefusedError
200 b'first'
b'late' b'late' b'late'
ReadTimeout ReadTimeout TimeoutError
`
	if d := cmp.Diff(want, res.Stdout); d != "" {
		t.Errorf("stdout (-want +got):\n%s%s", d, res.Stderr)
	}
	if n := strings.Count(fmt.Sprint(res.HTTPRequests), "CONNECT"); n == 0 {
		t.Errorf("what could not be reached is not on record: %+v", res.HTTPRequests)
	}
}

// TestFetchStreams: bodies are streams both ways, and URLs that need no network need none. What is printed is what Node prints.
func TestFetchStreams(t *testing.T) {
	url, policy := site(t)
	res := run(t, engine.Job{Language: engine.JavaScript, Inputs: map[string]any{"BASE": url}, Network: policy, Code: `
const fails = async (f) => { try { return await f(); } catch (e) { return e.name; } };
let text = "";
for await (const part of (await fetch(BASE + "/stream")).body.pipeThrough(new TextDecoderStream())) text += part;
console.log(text.split("\n").length);
const [a, b] = (await fetch(BASE + "/large")).body.tee();
console.log((await new Response(a).text()).length, (await new Response(b).arrayBuffer()).byteLength);
let n = 0;
await (await fetch(BASE + "/large")).body.pipeTo(new WritableStream({ write(chunk) { n += chunk.length; } }));
console.log(n);
const parts = ["x", "y", "z"];
const up = new ReadableStream({ pull(c) { parts.length ? c.enqueue(new TextEncoder().encode(parts.shift())) : c.close(); } });
console.log(await (await fetch(BASE + "/form", { method: "POST", body: up, duplex: "half" })).text());
console.log(await fails(() => fetch(BASE + "/form", { method: "POST", duplex: "half", body: new ReadableStream({ start(c) { c.error(new Error("mine")); } }) })));
const control = new AbortController();
setTimeout(() => control.abort(), 30);
const stuck = new ReadableStream({ pull() { return new Promise(() => {}); } });
console.log(await fails(() => fetch(BASE + "/form", { method: "POST", duplex: "half", body: stuck, signal: control.signal })));
const long = new AbortController();
for (let i = 0; i < 5; i++) {
  const body = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("part")); c.close(); } });
  await (await fetch(BASE + "/form", { method: "POST", duplex: "half", body, signal: long.signal })).text();
  await fails(() => fetch("http://127.0.0.1:1/", { method: "POST", duplex: "half", body: new ReadableStream({ start(c) { c.error(1); } }), signal: long.signal }));
  await (await fetch(BASE + "/stream", { signal: long.signal })).body.cancel();
}
console.log(require("events").getEventListeners(long.signal, "abort").length, "listeners are left");
const r = await fetch(BASE + "/json");
console.log(await fails(() => r.headers.set("a", "b")), r.body instanceof ReadableStream, r.bodyUsed);
r.body.getReader();
console.log(await fails(() => r.text()));
console.log(await (await fetch("data:text/plain;base64,aGk=")).text(), (await fetch("data:,%C3%BC")).headers.get("content-type"));
const blob = URL.createObjectURL(new Blob(["bb"], { type: "text/q" }));
console.log(await (await fetch(blob)).text(), (URL.revokeObjectURL(blob), await fails(() => fetch(blob))));
console.log(await fails(() => fetch("file:///etc/passwd")), await fails(() => fetch(BASE, { method: "TRACE" })), await fails(() => fetch(BASE, { redirect: "maybe" })));
`})
	want := "6\n1048576 1048576\n1048576\nxyz\nTypeError\nAbortError\n0 listeners are left\nTypeError true false\nTypeError\nhi text/plain;charset=US-ASCII\nbb TypeError\nTypeError TypeError TypeError\n"
	if d := cmp.Diff(want, res.Stdout); d != "" {
		t.Errorf("stdout (-want +got):\n%s%s", d, res.Stderr)
	}
}
