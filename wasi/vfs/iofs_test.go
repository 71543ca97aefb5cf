package vfs_test

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// plainFS is an fs.FS that has nothing but Open, with files that can only be read, or sought as well.
type plainFS struct {
	fsys fs.FS
	seek bool
}

func (p plainFS) Open(name string) (fs.File, error) {
	f, err := p.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if d, ok := f.(fs.ReadDirFile); ok {
		if fi, err := f.Stat(); err == nil && fi.IsDir() {
			return d, nil
		}
	}
	if s, ok := f.(io.Seeker); ok && p.seek {
		return struct {
			fs.File
			io.Seeker
		}{f, s}, nil
	}
	return struct{ fs.File }{f}, nil
}

// TestIOFSWithoutLinks mounts an fs.FS that follows its links itself.
func TestIOFSWithoutLinks(t *testing.T) {
	m := filledMap()
	m["link"] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte("hello.txt")}
	m["dangling"] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte("none")}
	ns := mounted(t, must(vfs.NewIOFS(plainFS{m, false})), vfs.ModeReadOnly)
	if b, err := ns.ReadFile("/mnt/x/link", 100); string(b) != "hello, world\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if got := names(t, ns, "/mnt/x"); got != "big dir empty hello.txt link vacant" {
		t.Error(got)
	}
}

func TestIOFSRoot(t *testing.T) {
	if _, err := vfs.NewIOFS(brokenFS{}); err == nil {
		t.Error("took an fs.FS without a root")
	}
}

type brokenFS struct{}

func (brokenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func TestFileFS(t *testing.T) {
	ns := namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/lib/file.bin", FS: vfs.NewFileFS(strings.NewReader("0123456789"), 8, time.Unix(7, 0))}}}, vfs.Options{})
	h := openFile(t, ns, "/lib/file.bin", vfs.OpenRead)
	twin := openFile(t, ns, "/lib/file.bin", vfs.OpenRead)
	for _, h := range []*vfs.Handle{h, twin} {
		if b, err := io.ReadAll(io.NewSectionReader(h, 2, 100)); string(b) != "234567" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if st := must(h.Stat()); st.Size != 8 || st.Mtime != 7e9 || st.Kind != vfs.KindRegular {
			t.Errorf("%+v", st)
		}
		ok(t, h.Sync(false))
		if err := h.SetTimes(vfs.Times{Flags: vfs.SetMtimeNow}); err != vfs.ErrReadOnly {
			t.Error(err)
		}
		ok(t, h.Close())
	}
	for _, c := range []struct {
		name  string
		flags vfs.OpenFlags
		want  error
	}{{"/lib/file.bin", vfs.OpenWrite, vfs.ErrReadOnly}, {"/lib/file.bin", vfs.OpenTruncate, vfs.ErrReadOnly}, {"/lib/file.bin/", vfs.OpenRead, vfs.ErrNotDir},
		{"/lib/file.bin/x", vfs.OpenRead, vfs.ErrNotDir}, {"/lib/file.bin", vfs.OpenDirectory, vfs.ErrNotDir}} {
		if _, err := ns.Open(nil, vfs.MustPath(c.name), c.flags); err != c.want {
			t.Errorf("%s, flags %b: %v, want %v", c.name, c.flags, err, c.want)
		}
	}
	if got := names(t, ns, "/lib"); got != "file.bin" {
		t.Error(got)
	}
}
