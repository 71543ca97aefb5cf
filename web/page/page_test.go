package page_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/web/page"
)

func get(t *testing.T, method, path string, headers map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	page.New().ServeHTTP(w, r)
	return w.Result()
}

func TestPolicy(t *testing.T) {
	for _, path := range []string{"/", "/page.js", "/page.css", "/frame.html", "/nothing"} {
		p := get(t, "GET", path, nil).Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(p, "default-src 'none'; ") || strings.Contains(p, "unsafe-eval") || regexp.MustCompile(`script-src[^;]*unsafe`).MatchString(p) {
			t.Errorf("%s: policy %q", path, p)
		}
		if got := get(t, "GET", path, nil).Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options %q", path, got)
		}
	}
	if p := get(t, "GET", "/", nil).Header.Get("Content-Security-Policy"); strings.Contains(p, "unsafe-inline") {
		t.Errorf("the page's policy is %q", p)
	}
	if p := get(t, "GET", "/frame.html", nil).Header.Get("Content-Security-Policy"); !strings.Contains(p, "sandbox allow-scripts") || strings.Contains(p, "allow-same-origin") {
		t.Errorf("the frame's policy is %q", p)
	}
}

// TestNothingInline checks that the page has no script, style or handler in its text, which the policy would stop.
func TestNothingInline(t *testing.T) {
	b, err := os.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`<style`, `style="`, `<script>`, ` on[a-z]+="`, `(src|href)="https?:`} {
		if found := regexp.MustCompile(bad).Find(b); found != nil {
			t.Errorf("index.html has %s", found)
		}
	}
	scripts, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scripts {
		b, err := os.ReadFile("assets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval("} {
			if bytes.Contains(b, []byte(bad)) {
				t.Errorf("%s has %s", f.Name(), bad)
			}
		}
	}
}

func TestServesByExactPath(t *testing.T) {
	for path, want := range map[string]int{
		"/": 200, "/page.js": 200, "/sales.csv": 200, "/index.html": 404, "/frame.js": 404, "/editor.js": 404, "/assets/page.js": 404,
		"/page.js/": 404, "//page.js": 404, "/%70age.js": 404, "/page.go": 404, "/../page.js": 404,
	} {
		if got := get(t, "GET", path, nil).StatusCode; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if got := get(t, "POST", "/", nil).StatusCode; got != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got)
	}
	first := get(t, "GET", "/page.css", nil)
	again := get(t, "GET", "/page.css", map[string]string{"If-None-Match": first.Header.Get("ETag")})
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("the second time: %d", again.StatusCode)
	}
	if packed := get(t, "GET", "/page.css", map[string]string{"Accept-Encoding": "gzip"}); packed.Header.Get("Content-Encoding") != "gzip" || packed.ContentLength >= first.ContentLength {
		t.Errorf("packed: %v", packed.Header)
	}
}

// TestExampleFile keeps the page's copy of the demo's data the same as the demo's.
func TestExampleFile(t *testing.T) {
	ours, err := os.ReadFile("assets/sales.csv")
	if err != nil {
		t.Fatal(err)
	}
	demo, err := os.ReadFile("../../testdata/sales.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ours, demo) {
		t.Error("assets/sales.csv is not testdata/sales.csv: copy it")
	}
}
