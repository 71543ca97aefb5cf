//go:build linux

package vfs_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// exportTemplate has an overlay, so that all that a snapshot can hold is there.
func exportTemplate(t testing.TB) *vfs.Template {
	return must(vfs.NewTemplate(vfs.Config{Layout: true, Mounts: []vfs.Mount{{Path: "/o", FS: ioFS(t), Mode: vfs.ModeOverlay}}}))
}

// varied fills a namespace with files of all kinds.
func varied(t testing.TB, ns *vfs.Namespace) {
	t.Helper()
	runScript(t, ns, "/data", `
		write a hello
		link a b
		symlink a l
		mkdir d
		mkdir d/e
		write d/e/f deep
		write s x
		sparse s 6553600 end
		truncate s 9000000
		write big x
		allocate big 0 200000
		truncate big 100001
	`)
	runScript(t, ns, "/o", `
		append hello.txt more
		unlink empty
		unlink dir/a
		write dir/new new
		mkdir made
		rename dir/b made/b
	`)
	ok(t, ns.SetTimes(nil, vfs.MustPath("/data/a"), true, vfs.Times{Mtime: -5, Flags: vfs.SetMtime}))
}

func exported(t testing.TB, s *vfs.Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	ok(t, s.Export(&b))
	return b.Bytes()
}

func TestExportImport(t *testing.T) {
	template := exportTemplate(t)
	ns := template.New(vfs.Options{})
	varied(t, ns)
	h := openFile(t, ns, "/data/unnamed", rwc)
	must(h.WriteAt([]byte("no name"), 0))
	ok(t, ns.Unlink(nil, vfs.MustPath("/data/unnamed")))
	b := exported(t, ns.Snapshot())
	if len(b) > 5_000 {
		t.Errorf("holes are written: %d bytes", len(b))
	}

	again := exportTemplate(t) // as another process has it
	s, err := again.Import(bytes.NewReader(b), vfs.Options{})
	ok(t, err)
	if !bytes.Equal(exported(t, s), b) {
		t.Error("exporting again gives other bytes")
	}
	back := must(again.FromSnapshot(s, vfs.Options{}))
	ok(t, h.Close()) // and the file without a name, which nobody has open in the other one
	if back.Usage() != ns.Usage() {
		t.Errorf("usage %+v, was %+v", back.Usage(), ns.Usage())
	}
	for _, dir := range []string{"/", "/o"} {
		if d := diff(tree(t, must(back.FS(dir))), tree(t, must(ns.FS(dir)))); d != "" {
			t.Error(d)
		}
	}
	for _, name := range []string{"/", "/data", "/data/a", "/data/b", "/data/l", "/data/d/e", "/data/s", "/o/dir", "/o/hello.txt", "/o/dir/sub", "/o/made/b"} {
		if a, b := must(ns.Stat(nil, vfs.MustPath(name), false)), must(back.Stat(nil, vfs.MustPath(name), false)); a != b {
			t.Errorf("%s: %+v, was %+v", name, b, a)
		}
	}
	recount(t, back)
	runScript(t, back, "/data", "write a changed\ncat b changed\nunlink s\nrename d e\ncat e/e/f deep")
	recount(t, back)
}

func TestImportRefused(t *testing.T) {
	template := exportTemplate(t)
	ns := template.New(vfs.Options{})
	varied(t, ns)
	b := exported(t, ns.Snapshot())
	for n := 0; n < len(b); n += 1 + n/200 { // cut anywhere
		if _, err := template.Import(bytes.NewReader(b[:n]), vfs.Options{}); !errors.Is(err, vfs.ErrFormat) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	for i := 0; i < len(b); i += 1 + i/200 { // one bit anywhere
		c := bytes.Clone(b)
		c[i] ^= 1 << (i % 8)
		if _, err := template.Import(bytes.NewReader(c), vfs.Options{}); err == nil {
			t.Fatalf("changed at %d: no error", i)
		}
	}
	u := ns.Usage()
	for _, c := range []struct {
		o    vfs.Options
		want error
	}{{vfs.Options{Bytes: u.Bytes, Inodes: u.Inodes}, nil}, {vfs.Options{Bytes: u.Bytes - 1, Inodes: u.Inodes}, vfs.ErrNoSpace}, {vfs.Options{Bytes: u.Bytes, Inodes: u.Inodes - 1}, vfs.ErrQuotaInodes}} {
		if _, err := template.Import(bytes.NewReader(b), c.o); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.o, err, c.want)
		}
	}
	other := must(vfs.NewTemplate(vfs.Config{Layout: true}))
	if _, err := other.Import(bytes.NewReader(b), vfs.Options{}); !errors.Is(err, vfs.ErrFormat) {
		t.Errorf("another template: %v", err)
	}
	failing := io.MultiReader(bytes.NewReader(b[:100]), errReader{})
	if _, err := template.Import(failing, vfs.Options{}); !errors.Is(err, errRead) {
		t.Errorf("a reader that fails: %v", err)
	}
}

var errRead = errors.New("the disk is gone")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errRead }

// FuzzImport gives any bytes with the right checksum. What is taken must be sound.
func FuzzImport(f *testing.F) {
	template := exportTemplate(f)
	ns := template.New(vfs.Options{})
	f.Add(exported(f, ns.Snapshot()))
	runScript(f, ns, "/data", "write a x\nlink a b\nsymlink a l\nmkdir d\nwrite d/f x\nsparse d/f 200000 y")
	runScript(f, ns, "/o", "unlink empty\nappend hello.txt x")
	f.Add(exported(f, ns.Snapshot()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 4 {
			return
		}
		body := b[:len(b)-4]
		b = binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		o := vfs.Options{Bytes: 1 << 20, Inodes: 200}
		s, err := template.Import(bytes.NewReader(b), o)
		if err != nil {
			return
		}
		ns := must(template.FromSnapshot(s, o))
		if err := ns.Recount(); err != nil {
			t.Fatal(err)
		}
		before := exported(t, ns.Snapshot())
		again := must(template.FromSnapshot(must(template.Import(bytes.NewReader(before), o)), o))
		if !bytes.Equal(exported(t, again.Snapshot()), before) {
			t.Fatal("exporting twice gives other bytes")
		}
		for _, dir := range []string{"/", "/o"} {
			fsys, err := ns.FS(dir)
			if err != nil {
				continue
			}
			fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error { return nil })
		}
		ns.WriteFile("/data/x", []byte("x"))
		ns.WriteFile("/o/dir/a", []byte("x"))
		if err := ns.Recount(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCopyOut(t *testing.T) {
	ns := memory(t, 0, 0)
	varied2 := `
		write a hello
		mkdir d
		mkdir d/vacant
		write d/f deep
		symlink /etc/passwd out
		symlink a l
		symlink d dl
		write s x
		sparse s 3000000 end
	`
	runScript(t, ns, "/data", varied2)
	ok(t, ns.SetTimes(nil, vfs.MustPath("/data/a"), true, vfs.Times{Mtime: 1_000_000_000_000_000_000, Flags: vfs.SetMtime}))
	want := vfs.CopyStats{Files: 3, Folders: 2, Bytes: 5 + 4 + 3_000_003, Skipped: 3}
	base := t.TempDir()
	out := base + "/out"
	ok(t, os.Mkdir(out, 0o755))
	ok(t, os.WriteFile(base+"/outside", []byte(canary), 0o644))
	// What is in the way: a link out, a FIFO, a file where a folder goes.
	ok(t, os.Symlink("../outside", out+"/a"))
	ok(t, syscall.Mkfifo(out+"/s", 0o644))
	ok(t, os.WriteFile(out+"/d", nil, 0o644))
	root := must(os.OpenRoot(out))
	defer root.Close()
	st, err := ns.CopyOut(root, "/data", vfs.CopyLimits{})
	if err != nil || st != want {
		t.Fatalf("%+v, %v, want %+v", st, err, want)
	}
	fsys := must(ns.FS("/data"))
	expect := map[string]string{}
	for name, what := range tree(t, fsys) {
		if !strings.HasPrefix(what, "->") {
			expect[name] = what
		}
	}
	if d := diff(tree(t, os.DirFS(out)), expect); d != "" {
		t.Error(d)
	}
	if b := must(os.ReadFile(base + "/outside")); string(b) != canary {
		t.Errorf("the outside was written: %q", b)
	}
	fi := must(os.Lstat(out + "/a"))
	if !fi.Mode().IsRegular() || fi.ModTime().UnixNano() != 1_000_000_000_000_000_000 {
		t.Errorf("%v %v", fi.Mode(), fi.ModTime())
	}
	if st := must(os.Stat(out + "/s")).Sys().(*syscall.Stat_t); st.Blocks*512 > 1_000_000 {
		t.Errorf("the hole takes %d bytes", st.Blocks*512)
	}
	if left, _ := filepath.Glob(out + "/.cloche-*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}

	var tarball, zipped bytes.Buffer
	if st, err := ns.WriteTar(&tarball, "/data", vfs.CopyLimits{}); err != nil || st != want {
		t.Errorf("tar: %+v, %v", st, err)
	}
	if st, err := ns.WriteZip(&zipped, "/data", vfs.CopyLimits{}); err != nil || st != want {
		t.Errorf("zip: %+v, %v", st, err)
	}
	got := map[string]string{".": "dir"}
	for r := tar.NewReader(&tarball); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		ok(t, err)
		if h.Typeflag == tar.TypeDir {
			got[strings.TrimSuffix(h.Name, "/")] = "dir"
			continue
		}
		b := must(io.ReadAll(r))
		got[h.Name] = fmt.Sprintf("%d %x", len(b), sum(b))
	}
	if d := diff(got, expect); d != "" {
		t.Errorf("tar: %s", d)
	}
	z := must(zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len())))
	if d := diff(tree(t, z), expect); d != "" {
		t.Errorf("zip: %s", d)
	}
	// A file of this package's own making can be mounted.
	if _, err := newZip(zipped.Bytes(), vfs.ZipOptions{MaxRatio: 1 << 40}); err != nil {
		t.Error(err)
	}
}

func TestCopyLimits(t *testing.T) {
	ns := memory(t, 0, 0)
	runScript(t, ns, "/data", "write a hello\nwrite b hello\nmkdir c\nwrite huge x\ntruncate huge 4000000000000")
	for _, c := range []struct {
		l    vfs.CopyLimits
		want vfs.CopyStats
	}{
		{vfs.CopyLimits{}, vfs.CopyStats{Files: 2, Folders: 1, Bytes: 10}},
		{vfs.CopyLimits{Bytes: 9}, vfs.CopyStats{Files: 1, Bytes: 5}},
		{vfs.CopyLimits{Files: 1}, vfs.CopyStats{Files: 1, Bytes: 5}},
	} {
		root := must(os.OpenRoot(t.TempDir()))
		defer root.Close()
		for name, f := range map[string]func() (vfs.CopyStats, error){
			"folder": func() (vfs.CopyStats, error) { return ns.CopyOut(root, "/data", c.l) },
			"tar":    func() (vfs.CopyStats, error) { return ns.WriteTar(io.Discard, "/data", c.l) },
			"zip":    func() (vfs.CopyStats, error) { return ns.WriteZip(io.Discard, "/data", c.l) },
		} {
			if st, err := f(); !errors.Is(err, vfs.ErrCopyLimit) || st != c.want {
				t.Errorf("%s %+v: %+v, %v, want %+v", name, c.l, st, err, c.want)
			}
		}
	}
	if _, err := ns.ReadFile("/data/huge", 1<<20); err != vfs.ErrFileTooBig {
		t.Errorf("reading a huge file: %v", err)
	}
	if _, err := ns.ReadFile("/data/c", 1<<20); err != vfs.ErrIsDir {
		t.Errorf("reading a folder: %v", err)
	}
	for _, name := range []string{"relative", "", "/none"} {
		if _, err := ns.ReadFile(name, 1<<20); err == nil {
			t.Errorf("reading %q", name)
		}
		if _, err := ns.FS(name); err == nil {
			t.Errorf("a view of %q", name)
		}
	}
}

func TestCopyOddTimes(t *testing.T) {
	ns := memory(t, 0, 0)
	for i, ns2 := range []int64{-1 << 63, 1<<63 - 1, 0, -1, 4_000_000_000_000_000_000} {
		name := fmt.Sprintf("/data/%d", i)
		ok(t, ns.WriteFile(name, []byte("x")))
		ok(t, ns.SetTimes(nil, vfs.MustPath(name), true, vfs.Times{Mtime: ns2, Flags: vfs.SetMtime}))
	}
	root := must(os.OpenRoot(t.TempDir()))
	defer root.Close()
	if _, err := ns.CopyOut(root, "/data", vfs.CopyLimits{}); err != nil {
		t.Error(err)
	}
	if _, err := ns.WriteTar(io.Discard, "/data", vfs.CopyLimits{}); err != nil {
		t.Error(err)
	}
	if _, err := ns.WriteZip(io.Discard, "/data", vfs.CopyLimits{}); err != nil {
		t.Error(err)
	}
}

func TestCopyIn(t *testing.T) {
	ns := memory(t, 100_000, 20)
	src := filledMap()
	src["link"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("hello.txt")}
	st, err := ns.CopyFS("/data/in/here", src)
	if err != nil || st.Files != 7 || st.Folders != 3 || st.Skipped != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	want := tree(t, filledMap())
	if d := diff(tree(t, must(ns.FS("/data/in/here"))), want); d != "" {
		t.Error(d)
	}
	ok(t, ns.CopyIn("/data/r", strings.NewReader("read")))
	ok(t, ns.CopyIn("/data/r", strings.NewReader("r")))
	if b := must(ns.ReadFile("/data/r", 10)); string(b) != "r" {
		t.Errorf("%q", b)
	}
	if err := ns.CopyIn("/data/bad", errReader{}); err != errRead {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := ns.CopyIn("/data/r/x", strings.NewReader("x")); err != vfs.ErrNotDir {
		t.Errorf("below a file: %v", err)
	}
	if err := ns.CopyIn("/data/large", bytes.NewReader(make([]byte, 100_001))); err != vfs.ErrNoSpace {
		t.Errorf("too large: %v", err)
	}
	if err := ns.WriteFile("/data/large", make([]byte, 100_001)); err != vfs.ErrNoSpace {
		t.Errorf("too large: %v", err)
	}
	recount(t, ns)
	small := memory(t, 0, 5)
	if _, err := small.CopyFS("/data", src); !errors.Is(err, vfs.ErrQuotaInodes) {
		t.Errorf("too many: %v", err)
	}
}
