package web_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/web"
)

func TestArchive(t *testing.T) {
	s := serve(t, nil)
	p := s.session(object{})
	s.execute(p+"/execute", object{"code": "import os\nos.makedirs('empty')\nos.mkdir('d')\nopen('d/a','w').write('A')\nopen('b','w').write('B')"}, "ok")
	r := s.do("GET", p+"/archive", nil).must(200, nil)
	names := map[string]string{}
	for tr := tar.NewReader(bytes.NewReader(r.body)); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(tr)
		names[h.Name] = string(b)
	}
	if len(names) != 4 || names["d/a"] != "A" || names["b"] != "B" {
		t.Errorf("tar %v", names)
	}
	z := s.do("GET", p+"/archive?format=zip", nil).must(200, nil)
	zr, err := zip.NewReader(bytes.NewReader(z.body), int64(len(z.body)))
	if err != nil || len(zr.File) != 4 {
		t.Errorf("zip: %v", err)
	}
	g := s.do("GET", p+"/archive", nil, "Accept: application/gzip").must(200, nil)
	if same := s.do("GET", p+"/archive?format=tgz", nil).must(200, nil); !bytes.Equal(same.body, g.body) || !strings.Contains(same.header.Get("Content-Disposition"), ".tar.gz") {
		t.Errorf("%v", same.header)
	}
	for _, c := range []struct {
		body   []byte
		kind   string
		format string
	}{
		{r.body, "", "?format=tar"}, {z.body, "", "?format=zip"}, {g.body, "", "?format=tar.gz"},
		{r.body, "", ""}, {z.body, "application/octet-stream", ""}, {g.body, "application/x-tar", ""}, // the bytes tell
	} {
		q := s.session(object{})
		var w web.ArchiveWritten
		s.do("PUT", q+"/archive"+c.format, c.body, "Content-Type: "+c.kind).must(200, &w)
		if w.Files != 2 || w.Bytes != 2 {
			t.Errorf("%s: %+v", c.kind, w)
		}
		s.execute(q+"/execute", object{"code": "import os\nassert open('d/a').read() + open('b').read() == 'AB' and os.path.isdir('empty')"}, "ok")
		s.do("PUT", q+"/archive"+c.format, c.body[:len(c.body)/3], "Content-Type: "+c.kind).mustFail(400, "invalid_request", "malformed")
	}
	s.do("PUT", p+"/archive?format=zip", r.body).mustFail(400, "invalid_request", "malformed")
	s.do("GET", p+"/archive?format=rar", nil).mustFail(400, "invalid_request", "use tar, tar.gz or zip")
}

// TestHostileArchives: what an archive must not do is refused, and said.
func TestHostileArchives(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.MaxBodyBytes = 1 << 20 })
	p := s.session(object{"limits": object{"disk_bytes": 1 << 20}})
	tarOf := func(headers ...tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			h.Mode = 0o600
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(w, zeros{}, h.Size); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	zipOf := func(name string, mode fs.FileMode, content []byte) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write(content)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	packed := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(b); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	whole := tarOf(tar.Header{Name: "a", Size: 1})
	for _, c := range []struct {
		name    string
		archive []byte
		status  int
		text    string
	}{
		{"name above", tarOf(tar.Header{Name: "../../etc/x", Size: 1}), 400, "leads out of it"},
		{"folder above", tarOf(tar.Header{Name: "../x/", Typeflag: tar.TypeDir}), 400, "leads out of it"},
		{"absolute name", tarOf(tar.Header{Name: "/etc/x", Size: 1}), 400, "leads out of it"},
		{"name above in a zip", zipOf("a/../../x", 0o600, nil), 400, "leads out of it"},
		{"link", tarOf(tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), 400, `"l" that is neither a file nor a folder`},
		{"hard link", tarOf(tar.Header{Name: "l", Linkname: "a", Typeflag: tar.TypeLink}), 400, "neither a file nor a folder"},
		{"device", tarOf(tar.Header{Name: "d", Typeflag: tar.TypeChar}), 400, "neither a file nor a folder"},
		{"link in a zip", zipOf("l", fs.ModeSymlink|0o777, []byte("/etc/passwd")), 400, "neither a file nor a folder"},
		{"file below a file", tarOf(tar.Header{Name: "f", Size: 1}, tar.Header{Name: "f/x", Size: 1}), 409, "not a folder"},
		{"bomb", packed(tarOf(tar.Header{Name: "bomb", Size: 64 << 20})), 413, "disk is full"},
		{"bomb in a zip", zipOf("bomb", 0o600, make([]byte, 64<<20)), 413, "disk is full"},
		{"bomb after the end", packed(append(whole, make([]byte, 112<<20)...)), 413, "larger than"},
		{"nothing", nil, 400, "malformed"},
		{"no archive", bytes.Repeat([]byte("text\n"), 1000), 400, "malformed"},
		{"cut short", whole[:len(whole)-100], 400, "cut short"},
		{"cut in packing", packed(whole)[:20], 400, "malformed"},
	} {
		r := s.do("PUT", p+"/archive", c.archive)
		if r.status != c.status || !strings.Contains(string(r.body), strings.ReplaceAll(c.text, `"`, `\"`)) && !strings.Contains(string(r.body), c.text) {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
	// What is forgotten takes no room of the disk, and time.
	hole := tarOf(tar.Header{Name: "null", Size: 512, PAXRecords: map[string]string{
		"?NU.sparse.major": "1", "?NU.sparse.minor": "0", "?NU.sparse.name": "null", "?NU.sparse.realsize": "4611686018427387904",
	}})
	hole = bytes.ReplaceAll(hole, []byte("?NU"), []byte("GNU")) // which the writer would not write
	copy(hole[len(hole)-3*512:], "0\n")                         // no piece of it is there
	for _, archive := range [][]byte{hole, packed(hole), zipOf("null", 0o600, make([]byte, 256<<20))} {
		s.do("PUT", p+"/archive?path=/dev", archive).mustFail(413, "too_large", "when it is unpacked")
	}
	// A file that did not get all of what was sent is not there.
	s.do("PUT", p+"/files/half", strings.Repeat("x", 1<<19)).must(200, nil)
	s.do("PUT", p+"/files/half", io.LimitReader(zeros{}, 2<<20)).mustFail(413, "too_large", "disk is full")
	s.execute(p+"/execute", object{"code": "import os\nassert not os.path.exists('bomb') and not os.path.exists('half')"}, "ok")
}

// zeros is as many as one reads.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
