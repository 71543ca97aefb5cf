// Package page is the playground: a page on which a person writes a program, runs it and sees what it did.
//
// Its files are served by exact path from memory, with a content policy that allows no inline script, no inline style
// and nothing from elsewhere. What programs print is put into the page as text; HTML that they show gets into a frame
// of an opaque origin whose own policy allows no script but the one that fills it. The page holds no key: the person
// types one, and it stays in the tab.
//
// The code editor is bundled at setup from pinned packages (editor.go). Without it the page has a text area.
package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/cloche-dev/cloche/runtimes"
)

//go:embed assets
var assets embed.FS

// policy is the page's. Frames are the guest's HTML; pictures of programs are blobs and data.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
	"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// framePolicy is that of the frame which shows HTML of programs, given the hash of its one script: its origin is opaque,
// no other script runs, and it can reach nothing. Styles of the program's are allowed, since all that they can touch is
// its own.
const framePolicy = "default-src 'none'; script-src 'sha256-%s'; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"

var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".csv": "text/csv; charset=utf-8",
}

// file is one file as it is served.
type file struct {
	plain, packed []byte // packed is gzip's, or nil
	etag          string
	contentType   string
	policy        string
}

// Handler serves the page. It may be called from several goroutines.
type Handler struct {
	files  map[string]*file     // by path
	editor atomic.Pointer[file] // nil until Prepare
}

// New makes the page's handler. Until [Handler.Prepare] has been called the page has a text area for an editor.
func New() *Handler {
	h := &Handler{files: map[string]*file{}}
	list, err := assets.ReadDir("assets")
	if err != nil {
		panic(err) // the assets are part of the program
	}
	for _, d := range list {
		b, err := assets.ReadFile("assets/" + d.Name())
		if err != nil {
			panic(err)
		}
		h.files["/"+d.Name()] = newFile(d.Name(), b)
	}
	h.files["/"] = h.files["/index.html"]
	h.files["/frame.html"] = frame(h.files["/frame.html"].plain, h.files["/frame.js"].plain)
	delete(h.files, "/index.html")
	delete(h.files, "/frame.js")
	return h
}

// frame is the frame's document with its script in it: an opaque origin may load nothing from here.
func frame(document, script []byte) *file {
	f := newFile("frame.html", bytes.Replace(document, []byte(`<script src="/frame.js"></script>`), fmt.Appendf(nil, "<script>%s</script>", script), 1))
	sum := sha256.Sum256(script)
	f.policy = fmt.Sprintf(framePolicy, base64.StdEncoding.EncodeToString(sum[:]))
	return f
}

// Prepare takes the editor from the cache in dir ("" for the default one), and fetches and bundles it when it is
// missing.
func (h *Handler) Prepare(ctx context.Context, dir string, p runtimes.Progress) error {
	c, err := runtimes.OpenCache(dir)
	if err != nil {
		return err
	}
	defer c.Close()
	folder, err := c.Ensure(ctx, entry(c), p)
	if err != nil {
		return fmt.Errorf("prepare the page's editor: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(folder, editorFile))
	if err != nil {
		return err
	}
	h.editor.Store(newFile(editorFile, b))
	return nil
}

func newFile(name string, b []byte) *file {
	sum := sha256.Sum256(b)
	f := &file{
		plain: b, etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
		contentType: contentTypes[path.Ext(name)], policy: policy,
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	z.Write(b)                                                 // a bytes.Buffer takes all
	z.Close()
	if packed.Len() < len(b)*9/10 {
		f.packed = packed.Bytes()
	}
	return f
}

// find is the file of a path as it was sent: an escaped form of a path is another path.
func (h *Handler) find(r *http.Request) *file {
	name := r.URL.Path
	if r.URL.RawPath != "" && r.URL.RawPath != name {
		return nil
	}
	if name == "/"+editorFile {
		return h.editor.Load()
	}
	return h.files[name]
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	f := h.find(r)
	if f == nil {
		head.Set("Content-Security-Policy", policy)
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	head.Set("Content-Security-Policy", f.policy)
	head.Set("Content-Type", f.contentType)
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	head.Set("Cache-Control", "no-cache") // asked for again each time, and then answered with 304
	head.Set("ETag", f.etag)
	head.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	b := f.plain
	if f.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		head.Set("Content-Encoding", "gzip")
		b = f.packed
	}
	head.Set("Content-Length", fmt.Sprint(len(b)))
	if r.Method == http.MethodGet {
		w.Write(b) // a client that went away is no concern of ours
	}
}
