package js_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// fetched is what a program asked for by fetch.
type fetched struct {
	Method, URL, Redirect string
	Async                 bool
	Headers               [][2]string
	Body                  *struct {
		Bytes int `json:"$bytes"`
	}
	body string
}

// fakeNet answers fetch with reply, and notes the requests.
func fakeNet(t *testing.T, requests *[]fetched, reply func(fetched) (header any, body string)) func(context.Context, []byte) ([]byte, error) {
	return func(_ context.Context, frame []byte) ([]byte, error) {
		if hostfuncs.Op(frame[0]) != hostfuncs.OpFetch {
			t.Fatalf("op %#x", frame[0])
		}
		n := binary.LittleEndian.Uint32(frame[1:])
		var f fetched
		if err := json.Unmarshal(frame[5:5+n], &f); err != nil {
			t.Fatalf("header %q: %v", frame[5:5+n], err)
		}
		f.body = string(frame[5+n:])
		if (f.Body == nil) != (f.body == "") || f.Body != nil && f.Body.Bytes != len(f.body) {
			t.Errorf("a body of %d bytes is announced as %+v", len(f.body), f.Body)
		}
		*requests = append(*requests, f)
		header, body := reply(f)
		text, _ := json.Marshal(header)
		if !f.Async {
			t.Errorf("%s %s would keep the program from doing anything else", f.Method, f.URL)
		}
		// Answered at once: 1, and the frame.
		return append(binary.LittleEndian.AppendUint32([]byte{0, 1, 0}, uint32(len(text))), append(text, body...)...), nil
	}
}

func TestFetch(t *testing.T) {
	var requests []fetched
	s := newSandbox(t)
	s.door = fakeNet(t, &requests, func(f fetched) (any, string) {
		return map[string]any{"status": 203, "statusText": "Fine", "url": f.URL + "#after", "redirected": true, "headers": [][2]string{{"content-type", "application/json"}}},
			`{"city": "Oslo ü", "body": ` + fmt.Sprintf("%q", f.body) + `}`
	})
	r := s.ok(`
		const r = await fetch("http://example.com/x?q=1#frag", { headers: { "X-A": "b" } });
		console.log(r.status, r.ok, r.statusText, r.url, r.redirected, r.headers.get("Content-Type"), (await r.json()).city);
		const p = await fetch("https://h/", { method: "POST", body: JSON.stringify({ a: "ü" }), headers: { "Content-Type": "application/json" }, redirect: "manual" });
		console.log((await p.json()).body);
		await fetch(new Request("http://r/", { method: "PUT", body: new Uint8Array([1, 2]) }));
		await fetch(new URL("http://u/"), { method: "delete" });
		const f = new FormData(); f.append("k", "v");
		await fetch("http://f/", { method: "POST", body: f });
		await fetch("http://g/", { method: "POST", duplex: "half", body: (async function* () { yield "a"; yield "b"; })() });
		const both = await Promise.all([fetch("http://one/"), fetch("http://two/")]);
		console.log(both.map((r) => r.status));
		console.log(await (await fetch("http://b/")).arrayBuffer().then((b) => b.byteLength), p instanceof Response);
	`)
	if want := "203 true Fine http://example.com/x?q=1#after true application/json Oslo ü\n{\"a\":\"ü\"}\n[ 203, 203 ]\n31 true\n"; r.stdout != want {
		t.Errorf("printed %q, want %q", r.stdout, want)
	}
	var seen []string
	for _, f := range requests {
		line := f.Method + " " + f.URL + f.Redirect
		for _, h := range f.Headers {
			if h[0] == "accept" && h[1] == "*/*" { // unless the program says what it takes
				continue
			}
			if h[0] != "content-type" || !strings.HasPrefix(h[1], "multipart") {
				line += " " + h[0] + "=" + h[1]
			}
		}
		if len(f.body) < 20 {
			line += fmt.Sprintf(" %q", f.body)
		}
		seen = append(seen, line)
	}
	want := []string{
		`GET http://example.com/x?q=1 x-a=b ""`, `POST https://h/manual content-type=application/json "{\"a\":\"ü\"}"`, `PUT http://r/ "\x01\x02"`, `DELETE http://u/ ""`,
		`POST http://f/`, `POST http://g/ "ab"`, `GET http://one/ ""`, `GET http://two/ ""`, `GET http://b/ ""`,
	}
	if got := strings.Join(seen, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("requests\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestFetchRefused: whatever the host answers, the program gets a TypeError that it can handle.
func TestFetchRefused(t *testing.T) {
	for reply, want := range map[string]string{
		"\x01" + `{"name":"PermissionError","message":"169.254.169.254 is not allowed"}`: "TypeError fetch failed: 169.254.169.254 is not allowed PermissionError",
		"\x01not JSON":                     "TypeError fetch failed: the host refused Error",
		"\x01":                             "TypeError fetch failed: the host refused Error",
		"":                                 "TypeError fetch failed: the host refused Error",
		"\x00\x01\x01{}":                   "TypeError fetch failed: the host refused Error",
		"\x00":                             "TypeError fetch failed: the host's answer is malformed RangeError",
		"\x00\x01\x00\xff\xff\xff\xff{}":   "TypeError fetch failed: the host's answer is malformed SyntaxError",
		"\x00\x01\x00\x02\x00\x00\x00[]":   "TypeError fetch failed: the host's answer is malformed undefined",
		"\x00\x01\x00\x04\x00\x00\x00null": "TypeError fetch failed: the host's answer is malformed TypeError",
	} {
		s := newSandbox(t)
		s.door = func(context.Context, []byte) ([]byte, error) { return []byte(reply), nil }
		r := s.turn(`try { const r = await fetch("http://x/"); console.log("reached", r.status) } catch (e) { console.log(e.name, e.message, e.cause?.name) }`)
		if got := strings.TrimSpace(r.stdout); got != want && !strings.Contains(want, "undefined") {
			t.Errorf("%q: printed %q, want %q", reply, got, want)
		}
		if r.err != nil || r.Error != nil {
			t.Errorf("%q: error %v, exception %+v", reply, r.err, r.Error)
		}
	}
}

// TestDoorStop: an error of the door ends the run.
func TestDoorStop(t *testing.T) {
	s := newSandbox(t)
	stop := fmt.Errorf("no more")
	s.door = func(context.Context, []byte) ([]byte, error) { return nil, stop }
	r := s.turn(`try { await fetch("http://x/") } catch (e) { console.log("caught") } finally { console.log("finally") }`)
	if r.err != stop || r.stdout != "" {
		t.Errorf("error %v, printed %q", r.err, r.stdout)
	}
	if err := s.inst.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
