package web

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzDecode: whatever a body holds, decoding it does not panic; and what is accepted is JSON with no key twice.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"code":"1"}`, `{"code":"1","limits":{"fuel":1},"files":[{"path":"a","content":""}]}`, `{"code":"\u0061","inputs":{"a":[{}]}}`, `{"a":1,"a":2}`, `[`, `"\`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var req ExecuteRequest
		if decodeJSON(body, &req) != nil {
			return
		}
		if !json.Valid(body) {
			t.Errorf("accepted what is not JSON: %q", body)
		}
		if _, err := req.options(req.Language, &Key{Policy: Policy{}.withDefaults()}); err == nil {
			_, _ = req.turn()
		}
	})
}

// FuzzPaths: what a URL names is a clean, absolute path of the sandbox, or refused.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a", "a%20b", "..%2f..%2fetc", "/tmp/x", "data/x", "%00", "%zz", "a//b/../c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := guestPath(s)
		if err == nil && (!strings.HasPrefix(p, "/") || strings.Contains(p, "..") && strings.Contains("/"+p+"/", "/../") || strings.Contains(p, "\x00")) {
			t.Errorf("%q is %q", s, p)
		}
		if p, err := memberPath("/data/in", s); err == nil && p != "/data/in" && !strings.HasPrefix(p, "/data/in/") {
			t.Errorf("member %q is put at %q", s, p)
		}
	})
}

// FuzzArchive: whatever an uploaded archive holds, its files go below the folder, no more of it is read than may be, and
// damage is the client's error.
func FuzzArchive(f *testing.F) {
	var asTar, asZip bytes.Buffer
	t, z := tar.NewWriter(&asTar), zip.NewWriter(&asZip)
	for _, name := range []string{"a.txt", "sub/b", "../up", "/abs"} {
		_ = t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 4})
		_, _ = t.Write([]byte("text"))
		w, _ := z.Create(name)
		_, _ = w.Write([]byte("text"))
	}
	_ = t.WriteHeader(&tar.Header{Name: "link", Linkname: "/etc", Typeflag: tar.TypeSymlink})
	_, _ = t.Close(), z.Close()
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	_, _ = g.Write(asTar.Bytes())
	_ = g.Close()
	f.Add(asTar.Bytes(), "tar")
	f.Add(asZip.Bytes(), "zip")
	f.Add(packed.Bytes(), "")
	f.Fuzz(func(t *testing.T, archive []byte, kind string) {
		put := func(name string, r io.Reader) error {
			p, err := memberPath("/data/in", name)
			if err != nil {
				return err
			}
			if p != "/data/in" && !strings.HasPrefix(p, "/data/in/") {
				t.Errorf("member %q is put at %q", name, p)
			}
			if r == nil {
				return nil
			}
			_, err = io.CopyN(io.Discard, r, 1<<20)
			if err == io.EOF {
				err = nil
			}
			return err
		}
		err := extract(bytes.NewReader(archive), kind, 1<<24, func(r io.Reader) error { return unzip(r, 1<<16, put) }, put)
		_, refused := errors.AsType[*apiError](err)
		_, tooLarge := errors.AsType[*http.MaxBytesError](err)
		if err != nil && !refused && !tooLarge {
			t.Errorf("%v is told as a fault of the service", err)
		}
	})
}

// FuzzTraceparent: what is passed on is well formed.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, s string) {
		parent, trace := traceparent([]string{s})
		if parent != "" && (len(parent) != 55 || len(trace) != 32 || strings.ContainsAny(parent, "\r\n ")) {
			t.Errorf("%q gives %q", s, parent)
		}
	})
}
