package wasi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// newNamespace returns an empty tree in memory.
func newNamespace(t testing.TB, o vfs.Options) *vfs.Namespace {
	t.Helper()
	template, err := vfs.NewTemplate(vfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ns := template.New(o)
	t.Cleanup(func() { ns.Close() })
	return ns
}

// newFiles returns a guest with an empty tree in memory, its root at descriptor 3.
func newFiles(t testing.TB, cfg Config) *guest {
	t.Helper()
	if cfg.FS == nil {
		cfg.FS = newNamespace(t, vfs.Options{})
	}
	return newGuest(t, cfg)
}

const rootFd = 3

// openAt opens a path below dir with all rights that dir passes on.
func (g *guest) openAt(dir uint64, path string, oflags, fdflags uint64) (uint64, Errno) {
	g.t.Helper()
	base := rightsFile
	if oflags&oflagDirectory != 0 {
		base = rightsDir
	}
	return g.openRights(dir, path, oflags, fdflags, base)
}

func (g *guest) openRights(dir uint64, path string, oflags, fdflags uint64, base rights) (uint64, Errno) {
	g.t.Helper()
	off, n := g.text(path)
	errno := g.call("path_open", dir, 0, off, n, oflags, uint64(base), uint64(rightsAll), fdflags, resultOff)
	return uint64(g.u32(resultOff)), errno
}

// open opens or creates and must succeed.
func (g *guest) open(path string, oflags, fdflags uint64) uint64 {
	g.t.Helper()
	fd, errno := g.openAt(rootFd, path, oflags, fdflags)
	if errno != ErrnoSuccess {
		g.t.Fatalf("open %q: %v", path, errno)
	}
	return fd
}

func (g *guest) write(fd uint64, s string) Errno {
	g.t.Helper()
	off, n := g.text(s)
	return g.call("fd_write", fd, g.iov(off, n), 1, resultOff)
}

// create makes a file with the content s.
func (g *guest) create(path, s string) {
	g.t.Helper()
	fd := g.open(path, oflagCreate|oflagTruncate, 0)
	if errno := g.write(fd, s); errno != ErrnoSuccess {
		g.t.Fatalf("write %q: %v", path, errno)
	}
	g.want(ErrnoSuccess, "fd_close", fd)
}

// content reads a whole file through a new descriptor.
func (g *guest) content(path string) string {
	g.t.Helper()
	fd := g.open(path, 0, 0)
	defer g.want(ErrnoSuccess, "fd_close", fd)
	all := ""
	for {
		part := g.read(fd, 4096)
		if part == "" {
			return all
		}
		all += part
	}
}

// onPath calls a function whose parameters are a directory, and a path with its length.
func (g *guest) onPath(name, path string) Errno {
	g.t.Helper()
	off, n := g.text(path)
	return g.call(name, rootFd, off, n)
}

func (g *guest) seek(fd uint64, delta int64, whence uint64) (int64, Errno) {
	g.t.Helper()
	errno := g.call("fd_seek", fd, uint64(delta), whence, resultOff)
	return int64(g.u64(resultOff)), errno
}

func TestPathOpenNumbers(t *testing.T) {
	g := newFiles(t, Config{OpenFiles: 8})
	for want := uint64(4); want < 8; want++ {
		if got := g.open(fmt.Sprint("f", want), oflagCreate, 0); got != want {
			t.Fatalf("got descriptor %d, want %d", got, want)
		}
	}
	g.fill()
	if _, errno := g.openAt(rootFd, "f4", 0, 0); errno != ErrnoMfile || g.u32(resultOff) != 0x3f3f3f3f {
		t.Errorf("over the cap: %v, stored %#x", errno, g.u32(resultOff))
	}
	// The lowest free number comes first, standard streams included.
	for _, fd := range []uint64{6, 1, 4} {
		g.want(ErrnoSuccess, "fd_close", fd)
	}
	for _, want := range []uint64{1, 4, 6} {
		if got := g.open("f4", 0, 0); got != want {
			t.Errorf("got descriptor %d, want %d", got, want)
		}
	}
	if _, errno := g.openAt(rootFd, "f4", 0, 0); errno != ErrnoMfile {
		t.Errorf("over the cap: %v", errno)
	}
	g.want(ErrnoBadf, "fd_close", 8)
	g.want(ErrnoBadf, "fd_close", 1<<32-1)
}

func TestPathOpenLeavesNoDescriptorOnErrors(t *testing.T) {
	g := newFiles(t, Config{})
	g.create("file", "x")
	off, n := g.text("file")
	end := uint64(g.mod.Memory().Size())
	all, inherit := uint64(rightsFile), uint64(rightsAll)
	g.want(ErrnoFault, "path_open", rootFd, 0, off, n, 0, all, inherit, 0, end-3)
	g.want(ErrnoFault, "path_open", rootFd, 0, end-1, 2, 0, all, inherit, 0, resultOff)
	g.want(ErrnoInval, "path_open", rootFd, 2, off, n, 0, all, inherit, 0, resultOff)
	g.want(ErrnoInval, "path_open", rootFd, 0, off, n, 16, all, inherit, 0, resultOff)
	g.want(ErrnoInval, "path_open", rootFd, 0, off, n, 0, all, inherit, 32, resultOff)
	g.want(ErrnoNotdir, "path_open", 1, 0, off, n, 0, all, inherit, 0, resultOff)
	g.want(ErrnoBadf, "path_open", 9, 0, off, n, 0, all, inherit, 0, resultOff)
	if fd := g.open("file", 0, 0); fd != 4 {
		t.Errorf("a failed open used up numbers: the next is %d", fd)
	}
	g.want(ErrnoNotdir, "path_open", 4, 0, off, n, 0, all, inherit, 0, resultOff)
}

func TestPathOpenRights(t *testing.T) {
	g := newFiles(t, Config{})
	g.create("file", "content")
	fd, errno := g.openRights(rootFd, "file", 0, 0, rightFdRead)
	if errno != ErrnoSuccess {
		t.Fatal(errno)
	}
	buf := g.iov(32768, 4)
	for _, tt := range []struct {
		want   Errno
		name   string
		params []uint64
	}{
		{ErrnoSuccess, "fd_read", []uint64{fd, buf, 1, resultOff}},
		{ErrnoBadf, "fd_write", []uint64{fd, buf, 1, resultOff}},
		{ErrnoNotcapable, "fd_pread", []uint64{fd, buf, 1, 0, resultOff}},
		{ErrnoBadf, "fd_pwrite", []uint64{fd, buf, 1, 0, resultOff}},
		{ErrnoNotcapable, "fd_seek", []uint64{fd, 0, whenceStart, resultOff}},
		{ErrnoNotcapable, "fd_tell", []uint64{fd, resultOff}},
		{ErrnoNotcapable, "fd_filestat_get", []uint64{fd, resultOff}},
		{ErrnoInval, "fd_filestat_set_size", []uint64{fd, 0}},
		{ErrnoNotcapable, "fd_filestat_set_times", []uint64{fd, 0, 0, 2}},
		{ErrnoNotcapable, "fd_fdstat_set_flags", []uint64{fd, 0}},
		{ErrnoNotcapable, "fd_advise", []uint64{fd, 0, 0, 0}},
		{ErrnoNotcapable, "fd_allocate", []uint64{fd, 0, 1}},
		{ErrnoNotcapable, "fd_sync", []uint64{fd}},
		{ErrnoNotcapable, "fd_datasync", []uint64{fd}},
		{ErrnoNotcapable, "fd_fdstat_set_rights", []uint64{fd, uint64(rightFdRead | rightFdSeek), 0}},
		{ErrnoNotdir, "fd_readdir", []uint64{fd, 0, 100, 0, resultOff}},
		{ErrnoSuccess, "fd_fdstat_set_rights", []uint64{fd, 0, 0}},
		{ErrnoBadf, "fd_read", []uint64{fd, buf, 1, resultOff}},
	} {
		if got := g.call(tt.name, tt.params...); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}

	// A directory that passes nothing on, and one that may not be worked in.
	off, n := g.text(".")
	g.want(ErrnoSuccess, "path_open", rootFd, 0, off, n, oflagDirectory, uint64(rightPathOpen), uint64(rightFdRead), 0, resultOff)
	dir := uint64(g.u32(resultOff))
	if _, errno := g.openRights(dir, "file", 0, 0, rightFdRead|rightFdWrite); errno != ErrnoNotcapable {
		t.Errorf("more rights than the directory passes on: %v", errno)
	}
	file, fn := g.text("file")
	g.want(ErrnoSuccess, "path_open", dir, 0, file, fn, 0, uint64(rightFdRead), 0, 0, resultOff)
	g.want(ErrnoNotcapable, "path_open", dir, 0, file, fn, oflagCreate, uint64(rightFdRead), 0, 0, resultOff)
	g.want(ErrnoNotcapable, "path_open", dir, 0, file, fn, oflagTruncate, uint64(rightFdRead), 0, 0, resultOff)
	for _, name := range []string{"path_create_directory", "path_remove_directory", "path_unlink_file"} {
		g.want(ErrnoNotcapable, name, dir, file, fn)
	}
	g.want(ErrnoNotcapable, "path_filestat_get", dir, 0, file, fn, resultOff)
	g.want(ErrnoNotcapable, "path_filestat_set_times", dir, 0, file, fn, 0, 0, 2)
	g.want(ErrnoNotcapable, "path_link", dir, 0, file, fn, rootFd, file, fn)
	g.want(ErrnoNotcapable, "path_link", rootFd, 0, file, fn, dir, file, fn)
	g.want(ErrnoNotcapable, "path_rename", dir, file, fn, rootFd, file, fn)
	g.want(ErrnoNotcapable, "path_rename", rootFd, file, fn, dir, file, fn)
	g.want(ErrnoNotcapable, "path_symlink", file, fn, dir, file, fn)
	g.want(ErrnoNotcapable, "path_readlink", dir, file, fn, 0, 10, resultOff)
	g.want(ErrnoNotcapable, "fd_readdir", dir, 0, 100, 0, resultOff)
}

func TestDirectoryDescriptors(t *testing.T) {
	g := newFiles(t, Config{})
	if errno := g.onPath("path_create_directory", "dir"); errno != ErrnoSuccess {
		t.Fatal(errno)
	}
	fd := g.open("dir", oflagDirectory, 0)
	buf := g.iov(32768, 4)
	for _, tt := range []struct {
		want   Errno
		name   string
		params []uint64
	}{
		{ErrnoIsdir, "fd_read", []uint64{fd, buf, 1, resultOff}},
		{ErrnoBadf, "fd_write", []uint64{fd, buf, 1, resultOff}},
		{ErrnoIsdir, "fd_pread", []uint64{fd, buf, 1, 0, resultOff}},
		{ErrnoBadf, "fd_pwrite", []uint64{fd, buf, 1, 0, resultOff}},
		{ErrnoIsdir, "fd_seek", []uint64{fd, 0, 0, resultOff}},
		{ErrnoIsdir, "fd_tell", []uint64{fd, resultOff}},
		{ErrnoIsdir, "fd_advise", []uint64{fd, 0, 0, 0}},
		{ErrnoIsdir, "fd_allocate", []uint64{fd, 0, 1}},
		{ErrnoInval, "fd_filestat_set_size", []uint64{fd, 0}},
		{ErrnoNotcapable, "fd_datasync", []uint64{fd}},
		{ErrnoSuccess, "fd_sync", []uint64{fd}},
		{ErrnoSuccess, "fd_filestat_set_times", []uint64{fd, 5, 6, 5}},
		{ErrnoBadf, "fd_prestat_get", []uint64{fd, resultOff}},
		{ErrnoBadf, "fd_prestat_dir_name", []uint64{fd, 0, 10}},
	} {
		if got := g.call(tt.name, tt.params...); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	g.want(ErrnoSuccess, "fd_filestat_get", fd, 512)
	if g.all()[512+16] != filetypeDirectory || g.u64(512+40) != 5 || g.u64(512+48) != 6 {
		t.Errorf("stat: type %d, times %d and %d", g.all()[512+16], g.u64(512+40), g.u64(512+48))
	}
	if _, errno := g.openAt(rootFd, "dir", 0, 0); errno != ErrnoIsdir {
		t.Errorf("opening for writing: %v", errno)
	}
}

func TestStandardStreams(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		g := newFiles(t, Config{Terminal: terminal})
		buf := g.iov(32768, 4)
		for fd := range uint64(3) {
			g.want(ErrnoSuccess, "fd_fdstat_get", fd, 512)
			seekable := rights(g.u64(512+8))&(rightFdSeek|rightFdTell) != 0
			if g.all()[512] != filetypeCharacter || seekable == terminal {
				t.Errorf("descriptor %d: type %d, terminal %v", fd, g.all()[512], !seekable)
			}
			g.want(ErrnoSuccess, "fd_filestat_get", fd, 512)
			if g.all()[512+16] != filetypeCharacter || g.u64(512+32) != 0 {
				t.Errorf("descriptor %d: stat type %d, size %d", fd, g.all()[512+16], g.u64(512+32))
			}
			g.want(ErrnoSpipe, "fd_seek", fd, 0, whenceStart, resultOff)
			g.want(ErrnoSpipe, "fd_tell", fd, resultOff)
			g.want(ErrnoSpipe, "fd_pread", fd, buf, 1, 0, resultOff)
			g.want(ErrnoSpipe, "fd_pwrite", fd, buf, 1, 0, resultOff)
			g.want(ErrnoSpipe, "fd_advise", fd, 0, 0, 0)
			g.want(ErrnoSpipe, "fd_allocate", fd, 0, 1)
			g.want(ErrnoInval, "fd_sync", fd)
			g.want(ErrnoInval, "fd_filestat_set_size", fd, 0)
			g.want(ErrnoInval, "fd_filestat_set_times", fd, 0, 0, 2)
			g.want(ErrnoBadf, "fd_prestat_get", fd, resultOff)
			g.want(ErrnoNotdir, "fd_readdir", fd, 0, 100, 0, resultOff)
		}
	}
}

func TestPrestat(t *testing.T) {
	ns := newNamespace(t, vfs.Options{})
	for _, dir := range []string{"/data", "/data/in"} {
		if err := ns.Mkdir(nil, vfs.MustPath(dir)); err != nil {
			t.Fatal(err)
		}
	}
	g := newFiles(t, Config{FS: ns, Preopens: []string{"/", "/data", "/data/in"}})
	for i, want := range []string{"/", "/data", "/data/in"} {
		fd := uint64(rootFd + i)
		g.fill()
		g.want(ErrnoSuccess, "fd_prestat_get", fd, 16)
		if g.all()[16] != 0 || g.u32(20) != uint32(len(want)) {
			t.Errorf("%s: tag %d, length %d", want, g.all()[16], g.u32(20))
		}
		g.want(ErrnoNametoolong, "fd_prestat_dir_name", fd, 64, uint64(len(want)-1))
		if g.all()[64] != '?' {
			t.Error("a name that does not fit was stored")
		}
		g.want(ErrnoSuccess, "fd_prestat_dir_name", fd, 64, uint64(len(want)+5))
		if got := string(g.all()[64 : 64+len(want)+1]); got != want+"?" {
			t.Errorf("name %q, want %q", got, want)
		}
	}
	g.want(ErrnoBadf, "fd_prestat_get", 6, 16)
	// A file made through one is there through the other.
	off, n := g.text("made")
	g.want(ErrnoSuccess, "path_open", 5, 0, off, n, oflagCreate, uint64(rightsFile), 0, 0, resultOff)
	off, n = g.text("data/in/made")
	g.want(ErrnoSuccess, "path_filestat_get", 3, 0, off, n, 512)
	// Nothing leads out of the inner one.
	off, n = g.text("../in/made")
	g.want(ErrnoNotcapable, "path_filestat_get", 5, 0, off, n, 512)

	if _, err := New(Config{FS: ns, Preopens: []string{"/none", "rel", "/data\xff"}}); err == nil ||
		strings.Count(err.Error(), "preopen") != 3 {
		t.Errorf("bad preopens: %v", err)
	}
}

func TestReadWriteSeek(t *testing.T) {
	g := newFiles(t, Config{})
	fd := g.open("file", oflagCreate, 0)
	if errno := g.write(fd, "0123456789"); errno != ErrnoSuccess || g.u32(resultOff) != 10 {
		t.Fatalf("write: %v, %d bytes", errno, g.u32(resultOff))
	}
	for _, tt := range []struct {
		delta  int64
		whence uint64
		want   int64
		errno  Errno
	}{
		{0, whenceCurrent, 10, ErrnoSuccess},
		{-4, whenceCurrent, 6, ErrnoSuccess},
		{-7, whenceCurrent, 0, ErrnoInval},
		{-11, whenceEnd, 0, ErrnoInval},
		{-3, whenceEnd, 7, ErrnoSuccess},
		{1 << 62, whenceStart, 1 << 62, ErrnoSuccess},
		{1 << 62, whenceCurrent, 0, ErrnoOverflow},
		{-1, whenceStart, 0, ErrnoInval},
		{0, 3, 0, ErrnoInval},
		{2, whenceStart, 2, ErrnoSuccess},
	} {
		got, errno := g.seek(fd, tt.delta, tt.whence)
		if errno != tt.errno || errno == ErrnoSuccess && got != tt.want {
			t.Errorf("seek %d from %d: %d, %v", tt.delta, tt.whence, got, errno)
		}
	}
	g.want(ErrnoFault, "fd_seek", fd, 9, whenceStart, 4*65536-7)
	if got := g.read(fd, 3); got != "234" {
		t.Errorf("read %q: a failed seek moved the offset", got)
	}
	g.want(ErrnoSuccess, "fd_tell", fd, resultOff)
	if got := g.u64(resultOff); got != 5 {
		t.Errorf("tell %d", got)
	}
	if got := g.read(fd, 100); got != "56789" {
		t.Errorf("read %q", got)
	}
	if got := g.read(fd, 100); got != "" {
		t.Errorf("read %q at the end", got)
	}
	// Positional calls leave the offset alone.
	off, n := g.text("XY")
	g.want(ErrnoSuccess, "fd_pwrite", fd, g.iov(off, n), 1, 1, resultOff)
	g.want(ErrnoSuccess, "fd_pread", fd, g.iov(32768, 4), 1, 0, resultOff)
	if got := string(g.all()[32768:32772]); got != "0XY3" {
		t.Errorf("pread %q", got)
	}
	g.want(ErrnoInval, "fd_pread", fd, g.iov(32768, 4), 1, 1<<63, resultOff)
	g.want(ErrnoInval, "fd_pwrite", fd, g.iov(off, n), 1, 1<<63, resultOff)
	g.want(ErrnoFbig, "fd_pwrite", fd, g.iov(off, n), 1, 1<<63-1, resultOff)
	if got, _ := g.seek(fd, 0, whenceCurrent); got != 10 {
		t.Errorf("offset %d after positional calls", got)
	}
	// A write beyond the end leaves a hole of zeros.
	g.seek(fd, 12, whenceStart)
	g.write(fd, "!")
	if got := g.content("file"); got != "0XY3456789\x00\x00!" {
		t.Errorf("content %q", got)
	}
}

func TestScatteredFile(t *testing.T) {
	g := newFiles(t, Config{})
	fd := g.open("file", oflagCreate, 0)
	a, an := g.text("abc")
	b, bn := g.text("defg")
	g.want(ErrnoSuccess, "fd_write", fd, g.iov(a, an, 0, 0, b, bn), 3, resultOff)
	if got := g.content("file"); got != "abcdefg" {
		t.Errorf("content %q", got)
	}
	// Overlapping buffers: the last one read wins, and the iovecs were copied before they are read over.
	iovs := g.iov(600, 4, 602, 4)
	g.want(ErrnoSuccess, "fd_pread", fd, iovs, 2, 0, resultOff)
	if got := string(g.all()[600:606]); got != "abefg?" || g.u32(resultOff) != 7 {
		t.Errorf("overlapping read %q, %d bytes", got, g.u32(resultOff))
	}
	iovs = g.iov(0, 0, 700, 3)
	put32(g.all(), int(iovs), uint32(iovs)) // the first buffer is the iovec array
	put32(g.all(), int(iovs)+4, 4)
	g.want(ErrnoSuccess, "fd_pread", fd, iovs, 2, 0, resultOff)
	if got := string(g.all()[700:704]); got != "efg?" {
		t.Errorf("read over its own iovecs: %q", got)
	}
}

func TestIovecBounds(t *testing.T) {
	g := newFiles(t, Config{})
	fd := g.open("file", oflagCreate, 0)
	end := uint64(g.mod.Memory().Size())
	const huge = 1<<32 - 1
	for _, name := range []string{"fd_read", "fd_write", "fd_pread", "fd_pwrite"} {
		call := func(iovs, n, result uint64) Errno {
			if strings.HasPrefix(name, "fd_p") {
				return g.call(name, fd, iovs, n, 0, result)
			}
			return g.call(name, fd, iovs, n, result)
		}
		good := g.iov(600, 4)
		for _, tt := range []struct {
			name            string
			iovs, n, result uint64
			want            Errno
		}{
			{"count of 2^32-1", good, huge, resultOff, ErrnoInval},
			{"count of 1,025", good, 1025, resultOff, ErrnoInval},
			{"array out of memory", end - 7, 1, resultOff, ErrnoFault},
			{"array at 2^32-1", huge, 1, resultOff, ErrnoFault},
			{"result out of memory", good, 1, end - 3, ErrnoFault},
			{"buffer out of memory", g.iov(end-1, 2), 1, resultOff, ErrnoFault},
			{"buffer wraps", g.iov(huge, huge), 1, resultOff, ErrnoFault},
			{"second buffer out of memory", g.iov(600, 4, end, 1), 2, resultOff, ErrnoFault},
			{"empty buffer at the end", g.iov(end, 0), 1, resultOff, ErrnoSuccess},
			{"no buffer", 0, 0, resultOff, ErrnoSuccess},
		} {
			if got := call(tt.iovs, tt.n, tt.result); got != tt.want {
				t.Errorf("%s: %s: %v, want %v", name, tt.name, got, tt.want)
			}
		}
	}
	if got := g.content("file"); got != "" {
		t.Errorf("a refused write left %d bytes", len(got))
	}
}

func TestTotalOfIovecsIsBounded(t *testing.T) {
	raw := make([]byte, 2*8)
	put32(raw, 4, 1<<30)
	put32(raw, 12, 1<<30)
	m := guestMemory{wideMemory{iovecs: raw}}
	if iovs, errno := m.iovecs(nil, 0, 1); errno != ErrnoSuccess || len(iovs) != 1 {
		t.Errorf("2^30 bytes: %v", errno)
	}
	if _, errno := m.iovecs(nil, 0, 2); errno != ErrnoInval {
		t.Errorf("2^31 bytes: %v", errno)
	}
	if b, errno := m.bytes(1<<32-4, 4); errno != ErrnoFault {
		t.Errorf("the last bytes of 4 GiB: %v, %v", b, errno)
	}
	if _, errno := (guestMemory{}).bytes(0, 0); errno != ErrnoFault {
		t.Errorf("no memory: %v", errno)
	}
}

func TestAppend(t *testing.T) {
	g := newFiles(t, Config{})
	g.create("file", "start")
	fd := g.open("file", 0, uint64(fdflagAppend))
	g.write(fd, "+1")
	if got, _ := g.seek(fd, 0, whenceStart); got != 0 {
		t.Errorf("seek to %d", got)
	}
	g.write(fd, "+2")
	if got, _ := g.seek(fd, 0, whenceCurrent); got != 9 {
		t.Errorf("offset %d after an append", got)
	}
	off, n := g.text("S")
	g.want(ErrnoSuccess, "fd_pwrite", fd, g.iov(off, n), 1, 0, resultOff)
	if got := g.content("file"); got != "Start+1+2" {
		t.Errorf("content %q", got)
	}
	// The flag can be taken away, and is told.
	g.want(ErrnoSuccess, "fd_fdstat_get", fd, 512)
	if got := g.u32(512) >> 16; got != uint32(fdflagAppend) {
		t.Errorf("flags %d", got)
	}
	g.want(ErrnoSuccess, "fd_fdstat_set_flags", fd, uint64(fdflagSync))
	g.seek(fd, 0, whenceStart)
	g.write(fd, "s")
	if got := g.content("file"); got != "start+1+2" {
		t.Errorf("content %q", got)
	}
	g.want(ErrnoInval, "fd_fdstat_set_flags", fd, 32)
}

func TestSizes(t *testing.T) {
	g := newFiles(t, Config{})
	fd := g.open("file", oflagCreate, 0)
	size := func() uint64 {
		g.want(ErrnoSuccess, "fd_filestat_get", fd, 512)
		return g.u64(512 + 32)
	}
	for _, tt := range []struct {
		name   string
		params []uint64
		want   Errno
		size   uint64
	}{
		{"fd_filestat_set_size", []uint64{fd, 100}, ErrnoSuccess, 100},
		{"fd_filestat_set_size", []uint64{fd, 1 << 63}, ErrnoInval, 100},
		{"fd_filestat_set_size", []uint64{fd, 10}, ErrnoSuccess, 10},
		{"fd_allocate", []uint64{fd, 0, 0}, ErrnoInval, 10},
		{"fd_allocate", []uint64{fd, 5, 10}, ErrnoSuccess, 15},
		{"fd_allocate", []uint64{fd, 0, 5}, ErrnoSuccess, 15},
		{"fd_allocate", []uint64{fd, 1 << 62, 1 << 62}, ErrnoFbig, 15},
		{"fd_allocate", []uint64{fd, 1 << 63, 1}, ErrnoFbig, 15},
		{"fd_advise", []uint64{fd, 0, 10, 5}, ErrnoSuccess, 15},
		{"fd_advise", []uint64{fd, 0, 10, 6}, ErrnoInval, 15},
		{"fd_advise", []uint64{fd, 1 << 63, 0, 0}, ErrnoInval, 15},
	} {
		if got := g.call(tt.name, tt.params...); got != tt.want || size() != tt.size {
			t.Errorf("%s%v: %v and %d bytes, want %v and %d", tt.name, tt.params, got, size(), tt.want, tt.size)
		}
	}
	g.want(ErrnoSuccess, "fd_sync", fd)
	g.want(ErrnoSuccess, "fd_datasync", fd)
}

func TestTimes(t *testing.T) {
	now := time.Unix(5000, 0)
	g := newFiles(t, Config{FS: newNamespace(t, vfs.Options{Now: func() int64 { return now.UnixNano() }})})
	g.create("file", "")
	fd := g.open("file", 0, 0)
	off, n := g.text("file")
	for _, tt := range []struct {
		atim, mtim, flags uint64
		want              Errno
		wantA, wantM      uint64
	}{
		{1, 2, 0, ErrnoSuccess, 5000e9, 5000e9},
		{1, 2, 1, ErrnoSuccess, 1, 5000e9},
		{1, 2, 4, ErrnoSuccess, 1, 2},
		{7, 8, 2 | 8, ErrnoSuccess, 5000e9, 5000e9},
		{7, 8, 1 | 4, ErrnoSuccess, 7, 8},
		{9, 9, 1 | 2, ErrnoInval, 7, 8},
		{9, 9, 4 | 8, ErrnoInval, 7, 8},
		{9, 9, 16, ErrnoInval, 7, 8},
		{1 << 63, 9, 1, ErrnoInval, 7, 8},
		{1 << 63, 9, 4, ErrnoSuccess, 7, 9},
	} {
		for _, byPath := range []bool{true, false} {
			var got Errno
			if byPath {
				got = g.call("path_filestat_set_times", rootFd, 0, off, n, tt.atim, tt.mtim, tt.flags)
			} else {
				got = g.call("fd_filestat_set_times", fd, tt.atim, tt.mtim, tt.flags)
			}
			g.want(ErrnoSuccess, "path_filestat_get", rootFd, 0, off, n, 512)
			if a, m := g.u64(512+40), g.u64(512+48); got != tt.want || a != tt.wantA || m != tt.wantM {
				t.Errorf("%+v: %v, times %d and %d", tt, got, a, m)
			}
		}
	}
	g.want(ErrnoInval, "path_filestat_set_times", rootFd, 2, off, n, 0, 0, 2)
	g.want(ErrnoInval, "path_filestat_get", rootFd, 2, off, n, 512)
}

func TestRenumber(t *testing.T) {
	// What each number is before: 0-2 standard streams, 3 preopen, 4 and 5 files, 6 closed, 7 a directory.
	setup := func(t *testing.T) *guest {
		g := newFiles(t, Config{})
		g.create("a", "in a")
		g.create("b", "in b")
		g.onPath("path_create_directory", "dir")
		g.open("a", 0, 0)
		g.open("b", 0, 0)
		g.open("b", 0, 0)
		g.open("dir", oflagDirectory, 0)
		g.want(ErrnoSuccess, "fd_close", 6)
		return g
	}
	isOpen := func(n uint64) bool { return n <= 7 && n != 6 }
	numbers := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 1 << 31, 1<<32 - 1}
	for _, from := range numbers {
		for _, to := range numbers {
			g := setup(t)
			before := slices.Clone(g.s.fds)
			got := g.call("fd_renumber", from, to)
			if !isOpen(from) || !isOpen(to) {
				if got != ErrnoBadf || !slices.Equal(before, g.s.fds) {
					t.Errorf("renumber %d to %d: %v", from, to, got)
				}
				continue
			}
			if got != ErrnoSuccess || g.s.fds[to] != before[from] {
				t.Errorf("renumber %d to %d: %v, moved %v", from, to, got, g.s.fds[to] == before[from])
			}
			if from == to {
				continue
			}
			g.want(ErrnoBadf, "fd_fdstat_get", from, 512)
			// The number that became free is used again, the lowest first.
			if before[to].kind == kindFile {
				if _, err := before[to].handle.Stat(); err == nil {
					t.Errorf("renumber %d to %d left the old file open", from, to)
				}
			}
			if n, errno := g.s.free(); errno != ErrnoSuccess || uint64(n) != min(from, 6) {
				t.Errorf("renumber %d to %d: the next free number is %d, %v", from, to, n, errno)
			}
			if g.s.open != 6 {
				t.Errorf("renumber %d to %d: %d open", from, to, g.s.open)
			}
		}
	}
}

func TestRenumberedStreamsWork(t *testing.T) {
	var out bytes.Buffer
	g := newFiles(t, Config{Stdin: strings.NewReader("typed"), Stdout: &out})
	g.create("log", "")
	g.open("log", 0, 0)
	g.open("log", 0, 0)
	g.want(ErrnoSuccess, "fd_renumber", 1, 4)
	g.want(ErrnoSuccess, "fd_renumber", 0, 5)
	g.write(4, "moved")
	if got := g.read(5, 10); got != "typed" || out.String() != "moved" {
		t.Errorf("read %q, wrote %q", got, out.String())
	}
	// Standard output goes to a file that takes its number.
	if fd := g.open("log", 0, 0); fd != 0 {
		t.Fatalf("got %d", fd)
	}
	if fd := g.open("log", 0, 0); fd != 1 {
		t.Fatalf("got %d", fd)
	}
	g.write(1, "to the file")
	if got := g.content("log"); got != "to the file" || out.String() != "moved" {
		t.Errorf("file %q, stdout %q", got, out.String())
	}
}

type dirent struct {
	next uint64
	name string
	kind byte
}

// readdir lists from a cookie with a buffer of size bytes. more says that the buffer was filled.
func (g *guest) readdir(fd, size, cookie uint64) (entries []dirent, more bool) {
	g.t.Helper()
	const buf = 131072
	g.all()[buf+size] = '?'
	g.want(ErrnoSuccess, "fd_readdir", fd, buf, size, cookie, resultOff)
	used := uint64(g.u32(resultOff))
	mem := g.all()[buf:]
	if used > size || mem[size] != '?' {
		g.t.Fatalf("%d of %d bytes used", used, size)
	}
	for at := uint64(0); at+direntBytes <= used; {
		n := uint64(g.u32(uint32(buf + at + 16)))
		if at+direntBytes+n > used {
			break
		}
		entries = append(entries, dirent{g.u64(uint32(buf + at)), string(mem[at+direntBytes : at+direntBytes+n]), mem[at+20]})
		at += direntBytes + n
	}
	return entries, used == size
}

func TestReaddir(t *testing.T) {
	g := newFiles(t, Config{})
	const files = 50
	want := []string{".", ".."}
	for i := range files {
		name := fmt.Sprintf("file-%02d", i)
		g.create(name, "")
		want = append(want, name)
	}
	for _, size := range []uint64{24 + 7, 60, 100, 500, 65536} {
		var got []string
		cookie, more := uint64(0), true
		for more {
			var entries []dirent
			entries, more = g.readdir(rootFd, size, cookie)
			if len(entries) == 0 && more {
				t.Fatalf("a buffer of %d bytes makes no way", size)
			}
			for _, e := range entries {
				got, cookie = append(got, e.name), e.next
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("buffer of %d: %q", size, got)
		}
	}
	// The same cookie gives the same entries while the directory changes.
	first, _ := g.readdir(rootFd, 300, 0)
	rest, _ := g.readdir(rootFd, 4096, first[len(first)-1].next)
	g.create("aaa-new", "")
	g.onPath("path_unlink_file", "file-07")
	again, _ := g.readdir(rootFd, 4096, first[len(first)-1].next)
	if !slices.Equal(rest, again) {
		t.Errorf("entries after a cookie changed: %v, then %v", rest, again)
	}
	// From the start it is a new listing.
	all, _ := g.readdir(rootFd, 8192, 0)
	if len(all) != files+2 || !slices.ContainsFunc(all, func(e dirent) bool { return e.name == "aaa-new" }) {
		t.Errorf("%d entries after the changes", len(all))
	}
	if all[0].kind != filetypeDirectory || all[2].kind != filetypeRegular {
		t.Errorf("types %d and %d", all[0].kind, all[2].kind)
	}
	// The last cookie is the end, what was never given is an error.
	if tail, more := g.readdir(rootFd, 100, all[len(all)-1].next); len(tail) != 0 || more {
		t.Errorf("after the end: %v", tail)
	}
	for _, cookie := range []uint64{files + 3, 1 << 32, 1 << 63, 1<<64 - 1} {
		g.want(ErrnoInval, "fd_readdir", rootFd, 131072, 100, cookie, resultOff)
	}
	end := uint64(g.mod.Memory().Size())
	g.want(ErrnoFault, "fd_readdir", rootFd, end-10, 100, 0, resultOff)
	g.want(ErrnoFault, "fd_readdir", rootFd, 131072, 1<<32-1, 0, resultOff)
	g.want(ErrnoFault, "fd_readdir", rootFd, 131072, 100, 0, end)
	g.want(ErrnoSuccess, "fd_readdir", rootFd, 131072, 0, 0, resultOff)
	for size := range uint64(40) { // wherever the buffer cuts an entry
		g.readdir(rootFd, size, 0)
	}
}

func TestLinks(t *testing.T) {
	g := newFiles(t, Config{})
	g.create("file", "content")
	symlink := func(text, path string) Errno {
		a, an := g.text(text)
		b, bn := g.text(path)
		return g.call("path_symlink", a, an, rootFd, b, bn)
	}
	for _, tt := range []struct {
		text, path string
		want       Errno
	}{
		{"file", "link", ErrnoSuccess},
		{"file", "link", ErrnoExist},
		{"none", "dangling", ErrnoSuccess},
		{"/file", "absolute", ErrnoNotcapable},
		{"", "empty", ErrnoNoent},
		{"a\x00b", "nul", ErrnoInval},
		{"\xff", "bytes", ErrnoIlseq},
		{strings.Repeat("x/", 3000), "long", ErrnoNametoolong},
	} {
		if got := symlink(tt.text, tt.path); got != tt.want {
			t.Errorf("symlink %.20q at %q: %v, want %v", tt.text, tt.path, got, tt.want)
		}
	}
	off, n := g.text("link")
	for size, want := range map[uint64]string{0: "?", 2: "fi?", 4: "file?", 10: "file?"} {
		g.all()[600] = '?'
		copy(g.all()[600:], "??????????")
		g.want(ErrnoSuccess, "path_readlink", rootFd, off, n, 600, size, resultOff)
		if got := string(g.all()[600 : 600+len(want)]); got != want || int(g.u32(resultOff)) != len(want)-1 {
			t.Errorf("readlink into %d bytes: %q, %d", size, got, g.u32(resultOff))
		}
	}
	file, fn := g.text("file")
	g.want(ErrnoInval, "path_readlink", rootFd, file, fn, 600, 10, resultOff)
	// stat and open follow only when told to.
	g.want(ErrnoSuccess, "path_filestat_get", rootFd, 0, off, n, 512)
	if g.all()[512+16] != filetypeLink {
		t.Errorf("type %d", g.all()[512+16])
	}
	g.want(ErrnoSuccess, "path_filestat_get", rootFd, lookupFollow, off, n, 512)
	if g.all()[512+16] != filetypeRegular {
		t.Errorf("type %d", g.all()[512+16])
	}
	read := uint64(rightFdRead)
	g.want(ErrnoLoop, "path_open", rootFd, 0, off, n, 0, read, 0, 0, resultOff)
	g.want(ErrnoSuccess, "path_open", rootFd, lookupFollow, off, n, 0, read, 0, 0, resultOff)

	hard := func(path string, flags uint64, newPath string) Errno {
		a, an := g.text(path)
		b, bn := g.text(newPath)
		return g.call("path_link", rootFd, flags, a, an, rootFd, b, bn)
	}
	for _, tt := range []struct {
		path    string
		flags   uint64
		newPath string
		want    Errno
	}{
		{"file", 0, "second", ErrnoSuccess},
		{"file", 0, "second", ErrnoExist},
		{"file", 0, "third/", ErrnoNoent},
		{"none", 0, "x", ErrnoNoent},
		{"link", lookupFollow, "followed", ErrnoSuccess},
		{"dangling", lookupFollow, "x", ErrnoNoent},
		{"dangling", 0, "dangling2", ErrnoSuccess},
		{".", 0, "x", ErrnoPerm},
		{"file", 2, "x", ErrnoInval},
	} {
		if got := hard(tt.path, tt.flags, tt.newPath); got != tt.want {
			t.Errorf("link %q at %q: %v, want %v", tt.path, tt.newPath, got, tt.want)
		}
	}
	g.want(ErrnoSuccess, "path_filestat_get", rootFd, 0, file, fn, 512)
	if got := g.u64(512 + 24); got != 3 {
		t.Errorf("%d names, want 3", got)
	}
}

func TestAbsoluteLinks(t *testing.T) {
	g := newFiles(t, Config{AbsoluteLinks: true})
	g.create("file", "content")
	a, an := g.text("/file")
	b, bn := g.text("link")
	g.want(ErrnoSuccess, "path_symlink", a, an, rootFd, b, bn)
	g.want(ErrnoSuccess, "path_open", rootFd, lookupFollow, b, bn, 0, uint64(rightFdRead), 0, 0, resultOff)
	if got := g.read(uint64(g.u32(resultOff)), 10); got != "content" {
		t.Errorf("read %q", got)
	}
}

func TestRenameAndRemove(t *testing.T) {
	g := newFiles(t, Config{})
	g.create("file", "content")
	g.onPath("path_create_directory", "dir")
	g.create("dir/inner", "")
	rename := func(from, to string) Errno {
		a, an := g.text(from)
		b, bn := g.text(to)
		return g.call("path_rename", rootFd, a, an, rootFd, b, bn)
	}
	for i, step := range []struct {
		got, want Errno
	}{
		{g.onPath("path_create_directory", "dir"), ErrnoExist},
		{g.onPath("path_remove_directory", "dir"), ErrnoNotempty},
		{g.onPath("path_remove_directory", "file"), ErrnoNotdir},
		{g.onPath("path_unlink_file", "dir"), ErrnoIsdir},
		{g.onPath("path_unlink_file", "file/"), ErrnoNotdir},
		{g.onPath("path_unlink_file", "none"), ErrnoNoent},
		{g.onPath("path_unlink_file", "/file"), ErrnoNotcapable},
		{g.onPath("path_unlink_file", ""), ErrnoNoent},
		{g.onPath("path_unlink_file", "fi\x00le"), ErrnoInval},
		{g.onPath("path_unlink_file", "\xff"), ErrnoIlseq},
		{g.onPath("path_unlink_file", strings.Repeat("n", 256)), ErrnoNametoolong},
		{rename("file", "dir"), ErrnoIsdir},
		{rename("dir", "file"), ErrnoNotdir},
		{rename("dir", "dir/sub"), ErrnoInval},
		{rename("none", "other"), ErrnoNoent},
		{rename("file", "dir/moved"), ErrnoSuccess},
		{rename("dir", "other"), ErrnoSuccess},
		{g.onPath("path_unlink_file", "other/inner"), ErrnoSuccess},
		{g.onPath("path_unlink_file", "other/moved"), ErrnoSuccess},
		{g.onPath("path_remove_directory", "other/"), ErrnoSuccess},
	} {
		if step.got != step.want {
			t.Errorf("step %d: %v, want %v", i, step.got, step.want)
		}
	}
}

func TestQuota(t *testing.T) {
	ns := newNamespace(t, vfs.Options{Bytes: 1 << 20, Inodes: 10})
	g := newFiles(t, Config{FS: ns})
	fd := g.open("big", oflagCreate, 0)
	written := uint64(0)
	for {
		errno := g.call("fd_write", fd, g.iov(65536, 65536), 1, resultOff)
		if errno != ErrnoSuccess {
			if errno != ErrnoNospc {
				t.Errorf("over the quota: %v", errno)
			}
			break
		}
		if written += uint64(g.u32(resultOff)); written > 1<<20 {
			t.Fatalf("%d bytes fit into 1 MiB", written)
		}
	}
	if written < 1<<19 {
		t.Errorf("only %d bytes fit", written)
	}
	g.want(ErrnoNospc, "fd_allocate", fd, 0, 1<<21)
	g.want(ErrnoSuccess, "fd_filestat_set_size", fd, 0)
	if errno := g.write(fd, "room again"); errno != ErrnoSuccess {
		t.Errorf("after cutting the file: %v", errno)
	}
	made := 0
	for ; made < 20; made++ {
		if errno := g.onPath("path_create_directory", fmt.Sprint("d", made)); errno != ErrnoSuccess {
			if errno != ErrnoNospc {
				t.Errorf("over the inodes: %v", errno)
			}
			break
		}
	}
	if made == 0 || made > 10 {
		t.Errorf("%d directories within 10 inodes", made)
	}
}

func TestUnlinkedFileStays(t *testing.T) {
	g := newFiles(t, Config{})
	g.create("file", "still here")
	fd := g.open("file", 0, 0)
	if errno := g.onPath("path_unlink_file", "file"); errno != ErrnoSuccess {
		t.Fatal(errno)
	}
	if got := g.read(fd, 100); got != "still here" {
		t.Errorf("read %q", got)
	}
}

func TestPollFile(t *testing.T) {
	g := newFiles(t, Config{})
	g.create("file", "0123456789")
	fd := g.open("file", 0, 0)
	g.seek(fd, 4, whenceStart)
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead, nbytes: 6}, {userdata: 2, kind: eventFdWrite}},
		fdSub(1, eventFdRead, uint32(fd)), fdSub(2, eventFdWrite, uint32(fd)))
	g.wantEvents([]event{{userdata: 1, kind: eventFdRead, errno: ErrnoBadf}}, fdSub(1, eventFdRead, rootFd))
}

func TestRollback(t *testing.T) {
	ns := newNamespace(t, vfs.Options{})
	g := newFiles(t, Config{FS: ns})
	if g.s.Rollback() {
		t.Error("rolled back without a checkpoint")
	}
	g.create("kept", "0123456789")
	g.create("gone", "temporary")
	kept, gone := g.open("kept", 0, 0), g.open("gone", 0, 0)
	g.onPath("path_unlink_file", "gone")
	g.seek(kept, 3, whenceStart)

	for _, turn := range []string{"first", "second"} {
		snapshot := ns.Snapshot()
		if err := g.s.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(g.s.fds)
		// A turn that makes a mess.
		g.read(kept, 4)
		g.want(ErrnoSuccess, "fd_fdstat_set_rights", kept, 0, 0)
		g.want(ErrnoSuccess, "fd_close", gone)
		extra := g.open("kept", 0, 0)
		g.want(ErrnoSuccess, "fd_renumber", extra, 1)
		g.want(ErrnoSuccess, "fd_close", 0)
		g.want(ErrnoSuccess, "fd_close", rootFd)
		g.want(ErrnoSuccess, "fd_renumber", kept, 2)
		late := g.s.fds[1].handle

		if err := ns.Restore(snapshot); err != nil {
			t.Fatal(err)
		}
		if !g.s.Rollback() {
			t.Fatal("no checkpoint")
		}
		for i := range before {
			before[i].held = false
		}
		if !slices.Equal(before, g.s.fds) {
			t.Errorf("%s turn: table is %v, was %v", turn, g.s.fds, before)
		}
		if _, err := late.Stat(); err == nil {
			t.Errorf("%s turn: a file opened since is still open", turn)
		}
		if got := g.read(gone, 100); got != "temporary" {
			t.Errorf("%s turn: read %q from a file closed since", turn, got)
		}
		g.seek(gone, 0, whenceStart)
		if got := g.read(kept, 2); got != "34" {
			t.Errorf("%s turn: read %q, want the old offset", turn, got)
		}
		g.seek(kept, 3, whenceStart)
	}

	// After a commit what the guest closed is closed.
	if err := g.s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	h := g.s.fds[gone].handle
	g.want(ErrnoSuccess, "fd_close", gone)
	if _, err := h.Stat(); err != nil {
		t.Errorf("closed before the commit: %v", err)
	}
	if err := g.s.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Stat(); err == nil {
		t.Error("still open after the commit")
	}
	if g.s.Rollback() {
		t.Error("rolled back after a commit")
	}
}

func TestRollbackOfLazyDescriptors(t *testing.T) {
	ns := newNamespace(t, vfs.Options{})
	g := newFiles(t, Config{FS: ns})
	if err := g.s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	g.create("file", "x") // opens the preopen
	h := g.s.fds[rootFd].handle
	if h == nil {
		t.Fatal("preopen is not open")
	}
	g.s.Rollback()
	if _, err := h.Stat(); err == nil {
		t.Error("handle of a preopen leaked")
	}
	if got := g.content("file"); got != "x" {
		t.Errorf("content %q", got)
	}
}

func TestDescriptorsOfAnImage(t *testing.T) {
	ns := newNamespace(t, vfs.Options{})
	g := newFiles(t, Config{FS: ns})
	if list, err := g.s.OpenDescriptors(); err != nil || len(list) != 0 {
		t.Errorf("a fresh state has %v, %v", list, err)
	}
	g.create("font", "0123456789")
	g.create("log", "")
	g.create("temp", "")
	g.onPath("path_create_directory", "dir")
	font, _ := g.openRights(rootFd, "font", 0, 0, rightFdRead|rightFdSeek|rightFdTell)
	g.seek(font, 4, whenceStart)
	log := g.open("log", 0, uint64(fdflagAppend))
	temp := g.open("temp", 0, 0)
	g.onPath("path_unlink_file", "temp")
	dir := g.open("dir", oflagDirectory, 0)
	g.want(ErrnoSuccess, "fd_close", 0)

	list, err := g.s.OpenDescriptors()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var back []Descriptor
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if len(back) != 5 || !slices.Equal(list, back) {
		t.Fatalf("described %s", text)
	}

	r := newFiles(t, Config{FS: ns})
	if err := r.s.RestoreDescriptors(back); err != nil {
		t.Fatal(err)
	}
	if r.s.fds[font].handle != nil {
		t.Error("opened before its first use")
	}
	if again, err := r.s.OpenDescriptors(); err != nil || !slices.Equal(again, back) {
		t.Errorf("described again as %v, %v", again, err)
	}
	r.want(ErrnoSuccess, "fd_fdstat_get", font, 512)
	if r.all()[512] != filetypeRegular || rights(r.u64(512+8)) != rightFdRead|rightFdSeek|rightFdTell {
		t.Errorf("type %d, rights %#x", r.all()[512], r.u64(512+8))
	}
	if got := r.read(font, 3); got != "456" {
		t.Errorf("read %q", got)
	}
	r.want(ErrnoBadf, "fd_write", font, r.iov(600, 1), 1, resultOff)
	r.write(log, "appended")
	if got := r.content("log"); got != "appended" {
		t.Errorf("log %q", got)
	}
	r.want(ErrnoStale, "fd_read", temp, r.iov(600, 1), 1, resultOff)
	r.want(ErrnoStale, "fd_filestat_get", temp, 512)
	r.want(ErrnoSuccess, "fd_close", temp)
	entries, _ := r.readdir(dir, 200, 0)
	if len(entries) != 2 {
		t.Errorf("entries %v", entries)
	}
	if fd := r.open("log", 0, 0); fd != 0 {
		t.Errorf("the closed number is not free: got %d", fd)
	}
	// Its file is gone before the first use.
	gone := newFiles(t, Config{FS: ns})
	if err := gone.s.RestoreDescriptors(back); err != nil {
		t.Fatal(err)
	}
	gone.onPath("path_unlink_file", "font")
	gone.want(ErrnoStale, "fd_read", font, gone.iov(600, 1), 1, resultOff)
}

func TestRestoreDescriptorsRefuses(t *testing.T) {
	ns := newNamespace(t, vfs.Options{})
	for _, tt := range []struct {
		d    Descriptor
		want string
	}{
		{Descriptor{FD: 4, Type: "pipe"}, `wasi: restore descriptor 4: unknown type "pipe"`},
		{Descriptor{FD: 1 << 20, Type: "file", Path: "/x"}, "wasi: restore descriptor 1048576: number too high"},
		{Descriptor{FD: 4, Type: "file", Path: "x"}, `wasi: restore descriptor 4: path "x" is not absolute`},
		{Descriptor{FD: 4, Type: "file", Path: "/\xff"}, "wasi: restore descriptor 4: illegal name"},
		{Descriptor{FD: 4, Type: "file", Path: "/x", Offset: -1}, "wasi: restore descriptor 4: negative offset -1"},
	} {
		s, err := New(Config{FS: ns})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RestoreDescriptors([]Descriptor{tt.d}); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v, want %q", tt.d, err, tt.want)
		}
		s.Close()
	}
	s, err := New(Config{FS: ns, OpenFiles: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var many []Descriptor
	for fd := range uint32(3) {
		many = append(many, Descriptor{FD: 10 + fd, Type: "dir", Path: "/"})
	}
	if err := s.RestoreDescriptors(many); err == nil || err.Error() != "wasi: 7 descriptors to restore, but a cap of 5" {
		t.Errorf("over the cap: %v", err)
	}
}

func TestRenew(t *testing.T) {
	var first, second bytes.Buffer
	g := newFiles(t, Config{Args: []string{"one"}, Stdout: &first})
	g.create("file", "0123456789")
	fd := g.open("file", 0, 0)
	g.write(1, "first")
	if err := g.s.Renew(Config{Args: []string{"\x00"}}); err == nil {
		t.Error("a bad argument was taken")
	}
	g.write(1, " turn")
	if err := g.s.Renew(Config{Args: []string{"two", "x"}, Stdin: strings.NewReader("in"), Stdout: &second}); err != nil {
		t.Fatal(err)
	}
	g.write(1, "second turn")
	if first.String() != "first turn" || second.String() != "second turn" {
		t.Errorf("wrote %q and %q", &first, &second)
	}
	if got := g.read(0, 10) + g.read(fd, 4); got != "in0123" {
		t.Errorf("read %q", got)
	}
	g.want(ErrnoSuccess, "args_sizes_get", 16, 24)
	if g.u32(16) != 2 {
		t.Errorf("%d arguments", g.u32(16))
	}
	// What a turn closes is there again for the next; what took its number stays.
	g.want(ErrnoSuccess, "fd_close", 0)
	g.want(ErrnoSuccess, "fd_close", 1)
	if n := g.open("file", 0, 0); n != 0 {
		t.Fatalf("a file is descriptor %d, not 0", n)
	}
	if err := g.s.Renew(Config{Stdout: &second}); err != nil {
		t.Fatal(err)
	}
	g.write(1, ", third turn")
	if got := second.String() + g.read(0, 4); got != "second turn, third turn0123" {
		t.Errorf("after closing the streams: %q", got)
	}
}

func TestCloseIsIdempotent(t *testing.T) {
	g := newFiles(t, Config{})
	fd := g.open("file", oflagCreate, 0)
	h := g.s.fds[fd].handle
	for range 2 {
		if err := g.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Stat(); err == nil {
		t.Error("a file is still open")
	}
	g.want(ErrnoBadf, "fd_read", fd, g.iov(600, 1), 1, resultOff)
	if _, err := g.s.OpenDescriptors(); err == nil {
		t.Error("described after it was closed")
	}
}
