package js_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestHTTP: requests of node:http and node:https go the way of fetch, as they are, and their answers come as Node's.
func TestHTTP(t *testing.T) {
	var requests []fetched
	s := newSandbox(t)
	s.door = fakeNet(t, &requests, func(f fetched) (any, string) {
		switch {
		case strings.HasSuffix(f.URL, "/away"):
			return map[string]any{"status": 302, "url": f.URL, "headers": [][2]string{{"location", "/there"}}}, ""
		case strings.HasSuffix(f.URL, "/none"):
			return map[string]any{"status": 204, "url": f.URL}, ""
		}
		return map[string]any{"status": 201, "statusText": "Made", "url": f.URL, "headers": [][2]string{
			{"Content-Type", "text/plain"}, {"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}, {"X-Two", "p"}, {"X-Two", "q"}, {"Content-Type", "never"},
		}}, "body é of " + f.Method
	})
	r := s.ok(`
		import http, { get } from "node:http";
		import { request, Agent } from "https";
		const ask = (of, ...given) => new Promise((resolve, reject) => {
			const r = of(...given, (res) => {
				let text = "";
				res.setEncoding("utf8").on("data", (d) => text += d).on("end", () => resolve([res.statusCode, res.statusMessage, text, res.complete, res]));
			});
			r.on("error", reject);
			r.end(given.at(-1)?.send);
		});
		const [status, message, text, complete, res] = await ask(http.request, "http://h.example:81/p?q=1", { method: "post", auth: "u:p", headers: { "X-A": ["1", "2"] }, send: "given ü" });
		console.log(status, message, text, complete, res.headers, res.rawHeaders.length, res.headersDistinct["x-two"]);
		console.log((await ask(get, "http://h.example/away")).slice(0, 4), (await ask(request, { hostname: "h.example", path: "/none", agent: new Agent() })).slice(0, 4));
		console.log((await ask(request, new URL("https://h.example/x"), { method: "DELETE", send: "b" }))[2], (await ask(request, "https://h.example/y", { method: "HEAD" })).slice(2, 4));
		const events = [];
		const late = request({ host: "h.example", path: "/late", method: "PUT" });
		for (const name of ["socket", "finish", "response", "close"]) late.on(name, () => events.push(name));
		late.on("response", (res) => res.resume());
		late.setHeader("X-B", 5);
		console.log(late.getHeader("x-b"), late.getHeader("host"), late.hasHeader("X-b"), late.getHeaders(), late.method, late.protocol, late.headersSent);
		late.write("one ");
		late.end("two", () => events.push("ended"));
		await new Promise((resolve) => late.on("close", resolve));
		console.log(events.join(), late.headersSent);
	`)
	want := `201 Made body é of POST true {
  'content-type': 'text/plain',
  'set-cookie': [ 'a=1', 'b=2' ],
  'x-two': 'p, q'
} 12 [ 'p', 'q' ]
[ 302, 'Found', '', true ] [ 204, 'No Content', '', true ]
body é of DELETE [ '', true ]
5 h.example true [Object: null prototype] { host: 'h.example', 'x-b': 5 } PUT https: false
socket,finish,ended,response,close true
`
	if r.stdout != want {
		t.Errorf("printed\n%s\nwant\n%s", r.stdout, want)
	}
	var seen []string
	for _, f := range requests {
		seen = append(seen, fmt.Sprintf("%s %s %s %v %q", f.Method, f.URL, f.Redirect, f.Headers, f.body))
	}
	asked := []string{
		`POST http://h.example:81/p?q=1 manual [[X-A 1] [X-A 2] [Authorization Basic dTpw]] "given ü"`, `GET http://h.example/away manual [] ""`, `GET https://h.example/none manual [] ""`,
		`DELETE https://h.example/x manual [] "b"`, `HEAD https://h.example/y manual [] ""`, `PUT https://h.example/late manual [[X-B 5]] "one two"`,
	}
	if got := strings.Join(seen, "\n"); got != strings.Join(asked, "\n") {
		t.Errorf("requests\n%s\nwant\n%s", got, strings.Join(asked, "\n"))
	}
}

// TestHTTPErrors: what the host refuses is an error event with fetch's cause, and what ends a request early says so.
func TestHTTPErrors(t *testing.T) {
	s := newSandbox(t)
	r := s.ok(`
		const http = require("http");
		const told = (r) => new Promise((resolve) => r.on("error", (e) => resolve([e.name, e.code, e.message])).end());
		const [name, code] = await told(http.request("http://h.example/"));
		console.log(name, code);
		const gone = http.get("http://h.example/");
		const error = told(gone);
		gone.destroy();
		console.log(await error, gone.destroyed);
		const stop = new AbortController();
		const stopped = told(http.get("http://h.example/", { signal: stop.signal }));
		stop.abort();
		console.log(await stopped);
		for (const use of [() => http.createServer(), () => new http.Server(), () => require("net").connect(80), () => new (require("tls").TLSSocket)(), () => require("v8").writeHeapSnapshot()]) {
			try {
				use();
			} catch (e) {
				console.log(e.code, e.message);
			}
		}
	`)
	want := `PermissionError EACCES
[ 'Error', 'ECONNRESET', 'socket hang up' ] true
[ 'AbortError', 'ABORT_ERR', 'The operation was aborted' ]
ERR_FEATURE_UNAVAILABLE_ON_PLATFORM http.createServer is not available in this sandbox: nobody can connect to it; return values, or call functions, instead
ERR_FEATURE_UNAVAILABLE_ON_PLATFORM http.Server is not available in this sandbox: nobody can connect to it; return values, or call functions, instead
ERR_FEATURE_UNAVAILABLE_ON_PLATFORM net.connect is not available in this sandbox: there are no sockets; use fetch, http.request or https.request
ERR_FEATURE_UNAVAILABLE_ON_PLATFORM tls.TLSSocket is not available in this sandbox: there are no sockets; use fetch, http.request or https.request
ERR_FEATURE_UNAVAILABLE_ON_PLATFORM v8.writeHeapSnapshot is not available in this sandbox: the engine is QuickJS
`
	if r.stdout != want {
		t.Errorf("printed\n%s\nwant\n%s", r.stdout, want)
	}
}
