package wasi

import (
	"testing"
	"testing/fstest"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// TestPathOpenReadOnly opens files of a read-only mount with the rights that C and Go programs ask for: those to read
// are given, and the right to cut that Go adds is not; with the right to write, or to cut now, it is refused.
func TestPathOpenReadOnly(t *testing.T) {
	files, err := vfs.NewIOFS(fstest.MapFS{"file": {Data: []byte("content")}})
	if err != nil {
		t.Fatal(err)
	}
	template, err := vfs.NewTemplate(vfs.Config{Mounts: []vfs.Mount{{Path: "/ro", FS: files, Mode: vfs.ModeReadOnly}}})
	if err != nil {
		t.Fatal(err)
	}
	ns := template.New(vfs.Options{})
	t.Cleanup(func() { ns.Close() })
	g := newFiles(t, Config{FS: ns})
	cut := rightFdFilestatSetSize | rightFdAllocate
	for _, c := range []struct {
		name   string
		oflags uint64
		base   rights
		want   Errno
	}{
		{"to read", 0, rightFdRead | rightFdSeek, ErrnoSuccess},
		{"to read, with the right to cut", 0, rightFdRead | rightFdSeek | cut, ErrnoSuccess},
		{"to write", 0, rightFdWrite, ErrnoRofs},
		{"to read and write", 0, rightFdRead | rightFdWrite | cut, ErrnoRofs},
		{"to cut", 0, cut, ErrnoRofs},
		{"and cut it now", oflagTruncate, rightFdRead | cut, ErrnoRofs},
	} {
		fd, errno := g.openRights(rootFd, "ro/file", c.oflags, 0, c.base)
		if errno != c.want {
			t.Errorf("%s: %v, want %v", c.name, errno, c.want)
		}
		if errno != ErrnoSuccess {
			continue
		}
		if errno := g.call("fd_read", fd, g.iov(32768, 4), 1, resultOff); errno != ErrnoSuccess {
			t.Errorf("%s: fd_read: %v", c.name, errno)
		}
		if errno := g.call("fd_filestat_set_size", fd, 0); errno == ErrnoSuccess {
			t.Errorf("%s: it was cut", c.name)
		}
	}
}
