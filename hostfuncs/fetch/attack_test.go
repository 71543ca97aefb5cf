package fetch_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/hostfuncs/fetch/fetchtest"
)

// TestSecretForms: a server that gives a secret back in a form of its own does not give it to the program, whatever is around it
// and wherever the answer is cut.
func TestSecretForms(t *testing.T) {
	const token = "ab+/c<d>e&f'g=h\"i"
	utf16Bytes := func(low, high int) string {
		var b []byte
		for _, u := range utf16.Encode([]rune("x" + token)) {
			pair := [2]byte{byte(u), byte(u >> 8)}
			b = append(b, pair[low], pair[high])
		}
		return string(b)
	}
	forms := map[string]string{
		"as it is": token, "upper": strings.ToUpper(token), "query": url.QueryEscape(token), "query in small letters": strings.ToLower(url.QueryEscape(token)),
		"path": url.PathEscape(token), "HTML": html.EscapeString(token), "PHP's JSON": strings.ReplaceAll(strings.ReplaceAll(token, `"`, `\"`), "/", `\/`),
		".NET's JSON": `ab\u002B/c\u003Cd\u003Ee\u0026f\u0027g=h\u0022i`, "JSON": fmt.Sprintf("%q", token), "hex": fmt.Sprintf("%x", token), "upper hex": fmt.Sprintf("%X", token), "UTF-16": utf16Bytes(0, 1), "UTF-16BE": utf16Bytes(1, 0),
	}
	for before := range 4 {
		text := []byte(strings.Repeat("x", before) + "Authorization: Bearer " + token + " tail")
		forms[fmt.Sprint("base64 behind ", before)] = base64.StdEncoding.EncodeToString(text)
		forms[fmt.Sprint("base64url behind ", before)] = base64.URLEncoding.EncodeToString(text)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		body := forms[q.Get("form")]
		var out io.Writer = w
		if q.Get("gzip") != "" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		}
		for i := range len(body) {
			io.WriteString(out, body[i:i+1])
			if f, ok := out.(http.Flusher); ok {
				f.Flush()
			}
		}
	}))
	defer s.Close()
	p := policy(t, "127.0.0.1:*")
	for _, pattern := range policy(t, s.URL).Allow {
		p.Secrets = append(p.Secrets, fetch.Secret{For: pattern, Header: "Authorization", Value: "Bearer " + token})
	}
	g := newGuest(t, p)
	for form, text := range forms {
		for _, coding := range []string{"", "&gzip=1"} {
			a, err := g.get(s.URL + "/?form=" + url.QueryEscape(form) + coding)
			if err != nil {
				t.Fatal(form, err)
			}
			// Neither all of it nor any stretch of five characters may be left, where the secret stands.
			if len(a.body) != len(text) || !strings.Contains(a.body, "********") {
				t.Errorf("%s%s: %q became %q", form, coding, text, a.body)
			}
			if strings.HasPrefix(form, "base64") {
				plain, _ := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_", "=", "", "*", "A").Replace(a.body))
				if bytes.Contains(plain, []byte(token[2:8])) {
					t.Errorf("%s: %q says %q", form, a.body, plain)
				}
			}
		}
	}
}

// TestSecretElsewhere: what one server was told does not go to another by a redirect, nor come by an answer that cannot be read.
func TestSecretElsewhere(t *testing.T) {
	const token = "secret-token-value"
	var told []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.RequestURI+fmt.Sprint(r.Header))
		w.Header().Set("Content-Encoding", "br")
		io.WriteString(w, token)
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, auth, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		w.Header().Set("Location", other.URL+"/?t="+auth)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	p := policy(t, "127.0.0.1:*")
	p.Secrets = []fetch.Secret{{For: policy(t, s.URL).Allow[0], Header: "Authorization", Value: "Bearer " + token}}
	g := newGuest(t, p)
	g.fails(m{"url": s.URL}, "", "names a secret")
	a, err := g.fetch(m{"url": s.URL, "redirect": "manual"}, "")
	if err != nil || strings.Contains(a.header("Location"), token) {
		t.Errorf("%+v, %v", a, err)
	}
	g.fails(m{"url": other.URL}, "", "cannot be undone")
	if strings.Contains(fmt.Sprint(told), token) || strings.Contains(fmt.Sprint(g.client.Records()), token) {
		t.Errorf("the secret went to %q, records %+v", told, g.client.Records())
	}
}

// TestSecretParts: wherever an answer repeats a secret beside its body, and wherever it is cut off, the program does not see it.
func TestSecretParts(t *testing.T) {
	const token = "Zq7KpL2mXw9RtB4v"
	s := fetchtest.Raw(t, func(c net.Conn, r *http.Request) {
		kilo := strings.Repeat("k", 1000)
		ok := "HTTP/1.1 200 OK\r\n"
		answers := map[string]string{
			"/status":      "HTTP/1.1 200 it is " + token + "\r\nContent-Length: 0\r\n\r\n",
			"/name":        ok + token + ": x\r\nContent-Length: 0\r\n\r\n",
			"/name-part":   ok + "X-" + token + "-y: x\r\nContent-Length: 0\r\n\r\n",
			"/value":       ok + "X: a" + token + "b\r\nSet-Cookie: t=" + token + "\r\nContent-Length: 0\r\n\r\n",
			"/type":        ok + "Content-Type: text/" + token + "\r\nContent-Length: 0\r\n\r\n",
			"/trailer":     ok + "Trailer: " + token + "\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + token + ": " + token + "\r\n\r\n",
			"/extension":   ok + "Transfer-Encoding: chunked\r\n\r\n1;" + token + "=" + token + "\r\nx\r\n0\r\n\r\n",
			"/chunks":      ok + "Transfer-Encoding: chunked\r\n\r\n8\r\n" + token[:8] + "\r\n8\r\n" + token[8:] + "\r\n0\r\n\r\n",
			"/redirect":    "HTTP/1.1 302 Found\r\nLocation: /x?" + token + "\r\nContent-Length: 0\r\n\r\n",
			"/redirect-to": "HTTP/1.1 302 Found\r\nLocation: http://" + token + ".example/\r\nContent-Length: 0\r\n\r\n",
			"/malformed":   "HTTP/1.1 " + token + "\r\n" + token + "\r\n\r\n",
			"/coding":      ok + "Content-Encoding: " + token + "\r\nContent-Length: 1\r\n\r\nx",
			"/length":      ok + "Content-Length: " + token + "\r\n\r\nx",
			"/te":          ok + "Transfer-Encoding: " + token + "\r\n\r\nx",
			"/cut":         ok + "Content-Length: 2000\r\n\r\n" + kilo + token[:len(token)-1],
			"/cut-chunks":  ok + "Transfer-Encoding: chunked\r\n\r\n400\r\n" + kilo + token[:len(token)-1],
			"/short":       ok + "Content-Length: 1015\r\n\r\n" + kilo + token,
			"/too-long":    ok + fmt.Sprintf("Content-Length: 5000\r\n\r\n%s%s%s", strings.Repeat("k", 4096-8), token, strings.Repeat("k", 888)),
			"/continue":    "HTTP/1.1 103 Early Hints\r\nLink: <" + token + ">\r\n\r\n" + ok + "Content-Length: 1\r\n\r\nx",
		}
		io.WriteString(c, answers[r.URL.Path])
	})
	p := policy(t, "127.0.0.1:*")
	p.Limits.ResponseBytes = 4096
	p.Secrets = []fetch.Secret{{For: policy(t, s).Allow[0], Header: "Authorization", Value: "Bearer " + token}}
	for _, path := range strings.Fields("status name name-part value type trailer extension chunks redirect redirect-to malformed coding length te cut cut-chunks short too-long continue") {
		for _, redirect := range []string{"follow", "manual", "error"} {
			g := newGuest(t, p)
			a, err := g.head(m{"url": s + "/" + path, "redirect": redirect}, "")
			body := ""
			for err == nil && a.Stream != 0 {
				var piece []byte
				if piece, err = g.read(a.Stream, nil); len(piece) == 0 {
					break
				}
				body += string(piece)
			}
			if seen := strings.ToLower(fmt.Sprintf("%+v %s %v %+v", a, body, err, g.client.Records())); strings.Contains(seen, strings.ToLower(token[:4])) || strings.Contains(seen, strings.ToLower(token[8:])) {
				t.Errorf("%s: %s", path, seen)
			}
		}
	}
}

// TestPathsOutside: no spelling of a path leads out of the one that is allowed.
func TestPathsOutside(t *testing.T) {
	s := serve(t)
	g := newGuest(t, policy(t, s.URL+"/v1/*"))
	for _, path := range []string{
		"/v1/../admin", "/v1/%2e%2e/admin", "/v1/.%2E/admin", "/v1/%2e%2e%2fadmin", "/v1/..%2fadmin", "/v1/..%5cadmin", "/v1/%252e%252e/admin",
		"/v1/%25252e%25252e/admin", "/v1/..;/admin", "/v1/..;x=1/admin", "/v1/%2e%2e;/admin", "/v1/..%00/admin", "/v1/..%0a/admin", "/v1/..%7f/admin",
		"/v1/%c0%ae%c0%ae/admin", "/v1/..%c0%afadmin", "/v1/..%c1%9cadmin", "/v1/%e0%80%ae", "/V1/x", "//v1/x", "/v1", "/v1%2fx", "/%76%31/x", "/./v1x/y", "/v1/%",
	} {
		if a, err := g.get(s.URL + path); err == nil && path != "/v1/%e0%80%ae" {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if n := s.hits.Load(); n > 1 {
		t.Errorf("%d requests reached the server", n)
	}
	for _, path := range []string{"/v1/", "/v1/a%20b", "/v1/..a/b", "/v1/a;v=1/b", "/v1/%C3%A9", "/v1/x%2Fy"} {
		if _, err := g.get(s.URL + path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
