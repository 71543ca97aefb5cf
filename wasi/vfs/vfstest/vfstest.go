// Package vfstest is the conformance suite that every file system of package vfs runs, through a namespace in
// which it is mounted.
package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Files is what a file system that cannot be written must hold under [Config].Dir; one that can be written
// starts empty. Names ending in a slash are folders.
var Files = map[string]string{
	"hello.txt":         "hello, world\n",
	"empty":             "",
	"big":               strings.Repeat("0123456789abcdef", 5_000),
	"dir/":              "",
	"dir/a":             "A",
	"dir/b":             "BB",
	"dir/sub/":          "",
	"dir/sub/deep.txt":  "deep",
	"dir/sub/ünïcode ✓": "names",
	"vacant/":           "",
}

// Config describes a file system under test.
type Config struct {
	// New returns a fresh namespace with the file system mounted, writable if Writable.
	New func(t testing.TB) *vfs.Namespace
	// Dir is the folder of the guest to work in, such as "/mnt".
	Dir string
	// Writable says that it can be written and starts empty.
	Writable bool
	// NoEmptyFolders says that a read-only file system cannot have them.
	NoEmptyFolders bool
	// MergedFolders says that folders of Files cannot be renamed.
	MergedFolders bool
}

// Run runs the suite.
func Run(t *testing.T, c Config) {
	t.Run("read", func(t *testing.T) {
		ns := c.New(t)
		if c.Writable {
			Fill(t, ns, c.Dir)
		}
		testRead(t, ns, c)
	})
	if !c.Writable {
		t.Run("refuse", func(t *testing.T) { testRefuse(t, c) })
		return
	}
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) { Script(t, c.New(t), c.Dir, s.text) })
	}
	t.Run("handles", func(t *testing.T) { testHandles(t, c.New(t), c.Dir) })
	t.Run("listing", func(t *testing.T) { testListing(t, c.New(t), c.Dir) })
	t.Run("times", func(t *testing.T) { testTimes(t, c.New(t), c.Dir) })
	t.Run("contents", func(t *testing.T) { testContents(t, c.New(t), c.Dir) })
}

// Fill makes Files in a folder.
func Fill(t testing.TB, ns *vfs.Namespace, dir string) {
	t.Helper()
	r := runner{t, ns, open(t, ns, dir, vfs.OpenDirectory)}
	for _, name := range slices.Sorted(maps.Keys(Files)) {
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			check(t, ns.Mkdir(r.dir, path(t, folder)))
			continue
		}
		check(t, r.write(name, Files[name], vfs.OpenCreate|vfs.OpenExclusive))
	}
	check(t, r.dir.Close())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func path(t testing.TB, s string) vfs.Path {
	t.Helper()
	p, err := vfs.ParsePathString(s)
	check(t, err)
	return p
}

func open(t testing.TB, ns *vfs.Namespace, name string, flags vfs.OpenFlags) *vfs.Handle {
	t.Helper()
	h, err := ns.Open(nil, path(t, name), flags)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	return h
}

func testRead(t *testing.T, ns *vfs.Namespace, c Config) {
	var names []string
	for name, text := range Files {
		if strings.HasSuffix(name, "/") {
			if name == "vacant/" && c.NoEmptyFolders {
				continue
			}
		} else {
			names = append(names, name)
			h := open(t, ns, c.Dir+"/"+name, vfs.OpenRead)
			got, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<40))
			if err != nil || string(got) != text {
				t.Errorf("%s: read %d bytes, %v, want %d", name, len(got), err, len(text))
			}
			testOffsets(t, name, h, text)
			st, err := h.Stat()
			byPath, err2 := ns.Stat(nil, path(t, c.Dir+"/"+name), true)
			if err != nil || err2 != nil || st != byPath || st.Size != int64(len(text)) || st.Kind != vfs.KindRegular {
				t.Errorf("%s: stat %+v, %v; by path %+v, %v", name, st, err, byPath, err2)
			}
			if _, err := h.Entries(true); err != vfs.ErrNotDir {
				t.Errorf("%s: listing a file: %v", name, err)
			}
			check(t, h.Close())
		}
	}
	fsys, err := ns.FS(c.Dir)
	check(t, err)
	if err := fstest.TestFS(fsys, names...); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]error{
		"none": vfs.ErrNotExist, "none/x": vfs.ErrNotExist, "empty/": vfs.ErrNotDir, "empty/x": vfs.ErrNotDir, "empty/.": vfs.ErrNotDir,
		"empty/..": vfs.ErrNotDir, "Hello.txt": vfs.ErrNotExist, "dir/../empty": nil, "dir/./../dir/sub/../a": nil, "dir//a": nil, "dir/a/": vfs.ErrNotDir,
	} {
		if _, err := ns.Stat(nil, path(t, c.Dir+"/"+name), true); err != want {
			t.Errorf("stat %s: %v, want %v", name, err, want)
		}
		h, err := ns.Open(nil, path(t, c.Dir+"/"+name), vfs.OpenRead)
		if err != want {
			t.Errorf("open %s: %v, want %v", name, err, want)
		}
		if h != nil {
			check(t, h.Close())
		}
	}
	d := open(t, ns, c.Dir+"/dir", vfs.OpenDirectory)
	for name, want := range map[string]error{"../empty": vfs.ErrNotCapable, "sub/../../empty": vfs.ErrNotCapable, "sub/../a": nil, "": vfs.ErrNotExist,
		"/": vfs.ErrNotCapable, c.Dir + "/dir/a": vfs.ErrNotCapable, ".": nil, "sub/..": nil} {
		if _, err := ns.Stat(d, path(t, name), true); err != want {
			t.Errorf("stat %q from a folder: %v, want %v", name, err, want)
		}
	}
	if _, err := d.ReadAt(make([]byte, 1), 0); err != vfs.ErrIsDir {
		t.Errorf("read of a folder: %v", err)
	}
	check(t, d.Close())
	if err := d.Close(); err != vfs.ErrBadHandle {
		t.Errorf("second close: %v", err)
	}
	if _, err := ns.Stat(d, path(t, "a"), true); err != vfs.ErrBadHandle {
		t.Errorf("walk from a closed folder: %v", err)
	}
}

// testOffsets reads at offsets in no order, with buffers of all sizes.
func testOffsets(t *testing.T, name string, h *vfs.Handle, text string) {
	t.Helper()
	for _, off := range []int{0, 5, len(text) / 2, len(text) - 1, 1, len(text), len(text) + 1, 70_000, 65_535, 0} {
		for _, n := range []int{0, 1, 7, 4096, 70_000, len(text) + 10} {
			if off < 0 {
				continue
			}
			want := text[min(off, len(text)):min(off+n, len(text))]
			p := bytes.Repeat([]byte("?"), n)
			got, err := h.ReadAt(p, int64(off))
			wantErr := error(nil)
			if len(want) < n {
				wantErr = io.EOF
			}
			if got != len(want) || string(p[:got]) != want || err != wantErr || strings.Trim(string(p[got:]), "?") != "" && len(strings.Trim(string(p[got:]), "?")) > 0 {
				t.Errorf("%s: ReadAt(%d bytes, %d) = %d, %v; want %d, %v", name, n, off, got, err, len(want), wantErr)
			}
		}
	}
	if _, err := h.ReadAt(make([]byte, 1), -1); err != vfs.ErrInvalid {
		t.Errorf("%s: read at -1: %v", name, err)
	}
}

// testRefuse tries every change on a file system that cannot be written.
func testRefuse(t *testing.T, c Config) {
	ns := c.New(t)
	dir := open(t, ns, c.Dir, vfs.OpenDirectory)
	at := func(s string) vfs.Path { return path(t, s) }
	target, err := vfs.ParseTarget([]byte("hello.txt"))
	check(t, err)
	for name, try := range map[string]func() error{
		"mkdir":    func() error { return ns.Mkdir(dir, at("new")) },
		"rmdir":    func() error { return ns.Rmdir(dir, at("dir/sub")) },
		"unlink":   func() error { return ns.Unlink(dir, at("hello.txt")) },
		"rename":   func() error { return ns.Rename(dir, at("hello.txt"), dir, at("new")) },
		"replace":  func() error { return ns.Rename(dir, at("hello.txt"), dir, at("empty")) },
		"link":     func() error { return ns.Link(dir, at("hello.txt"), false, dir, at("new")) },
		"symlink":  func() error { return ns.Symlink(target, dir, at("new")) },
		"times":    func() error { return ns.SetTimes(dir, at("hello.txt"), true, vfs.Times{Flags: vfs.SetMtimeNow}) },
		"folder":   func() error { return ns.SetTimes(dir, at("dir"), true, vfs.Times{Flags: vfs.SetMtimeNow}) },
		"create":   func() error { _, err := ns.Open(dir, at("new"), vfs.OpenCreate|vfs.OpenWrite); return err },
		"write":    func() error { _, err := ns.Open(dir, at("hello.txt"), vfs.OpenWrite); return err },
		"truncate": func() error { _, err := ns.Open(dir, at("hello.txt"), vfs.OpenRead|vfs.OpenTruncate); return err },
		"handle": func() error {
			h, err := ns.Open(dir, at("hello.txt"), vfs.OpenRead)
			check(t, err)
			defer h.Close()
			if !h.ReadOnly() {
				t.Error("handle says that the mount can be written")
			}
			for _, err := range []error{h.Truncate(0), h.Allocate(0, 1), second(h.WriteAt([]byte("x"), 0))} {
				if err != vfs.ErrBadHandle {
					t.Errorf("writing by a handle for reading: %v", err)
				}
			}
			return h.SetTimes(vfs.Times{Flags: vfs.SetMtimeNow})
		},
	} {
		if err := try(); err != vfs.ErrReadOnly {
			t.Errorf("%s: %v, want %v", name, err, vfs.ErrReadOnly)
		}
	}
	h, err := ns.Open(dir, at("hello.txt"), vfs.OpenCreate|vfs.OpenRead)
	if err != nil {
		t.Errorf("opening what is there with OpenCreate: %v", err)
	} else {
		check(t, h.Close())
	}
	check(t, dir.Close())
}

func second[T any](_ T, err error) error { return err }

// scripts are run in an empty folder. See [Script].
var scripts = []struct{ name, text string }{
	{"create", `
		write f hello
		cat f hello
		create f ! name exists
		create g
		cat g
		write f bye
		cat f bye
		write none/x y ! no such file or folder
		write f/x y ! not a folder
		write new/ y ! is a folder
		open f/ ! not a folder
		append f -bye
		cat f bye-bye
		stat f file 7 1
		list . f g
	`},
	{"folders", `
		mkdir d
		mkdir d ! name exists
		mkdir d/ ! name exists
		mkdir e/
		mkdir d/e/f ! no such file or folder
		mkdir d/e
		mkdir . ! name exists
		mkdir d/.. ! name exists
		stat d dir
		stat d/ dir
		nlink d 3
		write d/f x
		rmdir d ! folder not empty
		rmdir d/f ! not a folder
		rmdir d/f/ ! not a folder
		rmdir none ! no such file or folder
		rmdir . ! invalid argument
		rmdir d/. ! invalid argument
		rmdir d/e/.. ! folder not empty
		unlink d ! is a folder
		unlink d/ ! is a folder
		unlink d/f/ ! not a folder
		unlink d/f
		rmdir d/e/
		nlink d 2
		rmdir d
		stat d ! no such file or folder
		open d/ ! no such file or folder
		write e x ! is a folder
		truncate e 0 ! is a folder
	`},
	{"rename files", `
		write a 1
		write b 22
		rename a c
		cat c 1
		stat a ! no such file or folder
		rename c b
		cat b 1
		list . b
		rename b b
		cat b 1
		rename none x ! no such file or folder
		rename b none/x ! no such file or folder
		rename b x/ ! not a folder
		rename b/ x ! not a folder
		mkdir d
		rename b d ! is a folder
		rename b d/ ! not a folder
		rename b d/b
		cat d/b 1
		rename d/b ./b
		list . b d
		rename . x ! mount point is busy
		rename b . ! mount point is busy
		rename b d/.. ! mount point is busy
	`},
	{"rename folders", `
		mkdir d
		write d/f x
		rename d e
		cat e/f x
		rename e/ f/
		cat f/f x
		mkdir g
		rename f g
		cat g/f x
		mkdir h
		rename h g ! folder not empty
		rename g h
		cat h/f x
		rename h h/x ! invalid argument
		mkdir h/i
		rename h h/i/j ! invalid argument
		write file y
		rename h file ! not a folder
		rename file h ! is a folder
		mkdir k
		rename h/i k/i
		nlink h 2
		nlink k 3
		list h f
		list k i
		stat h/i ! no such file or folder
		list k/i/.. i
	`},
	{"hard links", `
		write a one
		link a b
		nlink a 2
		same a b
		append b two
		cat a onetwo
		link a b ! name exists
		link none c ! no such file or folder
		link a/ c ! not a folder
		link a c/ ! no such file or folder
		mkdir d
		link d e ! operation not permitted
		link a d ! name exists
		link a d/a
		nlink a 3
		unlink a
		cat d/a onetwo
		nlink b 2
		rename b d/a
		cat b onetwo
		cat d/a onetwo
		unlink d/a
		nlink b 1
	`},
	{"symbolic links", `
		symlink f l
		readlink l f
		stat l ! no such file or folder
		lstat l link 1
		open l ! no such file or folder
		create l ! name exists
		symlink x l ! name exists
		symlink x m/ ! no such file or folder
		write l through
		cat f through
		lstat l link 1
		open l nofollow ! too many links
		readlink f ! invalid argument
		mkdir d
		symlink ../f d/up
		cat d/up through
		symlink d dl
		cat dl/up through
		cat dl/../f through
		lstat dl link 1
		lstat dl/ dir
		open dl/ nofollow
		write dl/new y
		cat d/new y
		list dl new up
		rmdir dl ! not a folder
		rmdir dl/ ! not a folder
		mkdir dl/ ! name exists
		unlink dl/ ! not a folder
		rename dl/ x ! not a folder
		rename l l2
		readlink l2 f
		link l2 l3
		readlink l3 f
		unlink dl
		list d new up
		symlink self self
		open self ! too many links
		stat self/x ! too many links
		lstat self link 4
		symlink pong ping
		symlink ping pong
		stat ping ! too many links
		symlink f/ slash
		stat slash ! not a folder
		symlink none/x deep
		write deep y ! no such file or folder
		symlink d/made far
		write far z
		cat d/made z
		symlink / root
		stat root/ dir
		symlink . dot
		cat dot/dot/dot/f through
		symlink f x/y ! no such file or folder
		symlink f d ! name exists
		symlink f d/ ! name exists
	`},
	{"links by the dozen", `
		write end ok
		symlink end l0
		chain l 45
		cat l10 ok
		cat l39 ok
		stat l40 ! too many links
		lstat l40 link 3
	`},
	{"sizes", `
		write f 0123456789
		truncate f 4
		cat f 0123
		truncate f 6
		stat f file 6 1
		append f x
		size f 7
		sparse f 200000 y
		size f 200001
		truncate f 3
		cat f 012
		truncate f 0
		cat f
		truncate f -1 ! invalid argument
		allocate f 0 100
		size f 100
		allocate f 10 10
		size f 100
		allocate f 90 20
		size f 110
		allocate f 0 0 ! invalid argument
	`},
	{"names", `
		write ünïcode✓ x
		list . ünïcode✓
		write ` + strings.Repeat("n", 255) + ` x
		size ` + strings.Repeat("n", 255) + ` 1
		mkdir con
		write a:b x
		write .hidden y
		cat .hidden y
		write ... z
		cat ... z
		stat FILE ! no such file or folder
		write a\b x
		cat a\b x
	`},
}

// Script runs a script of lines "op arguments... [! error]" below a folder; see the switch for the ops. A line
// that fails stops the test, and so does one whose error is another one.
func Script(t testing.TB, ns *vfs.Namespace, dir, text string) {
	t.Helper()
	r := runner{t, ns, open(t, ns, dir, vfs.OpenDirectory)}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		cmd, want, _ := strings.Cut(line, " ! ")
		err := r.step(strings.Fields(cmd))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Fatalf("line %d: %s: got %q, want %q", i+1, line, got, want)
		}
	}
	check(t, r.dir.Close())
}

type runner struct {
	t   testing.TB
	ns  *vfs.Namespace
	dir *vfs.Handle
}

var kindNames = map[vfs.Kind]string{vfs.KindRegular: "file", vfs.KindDir: "dir", vfs.KindLink: "link"}

func (r runner) step(f []string) error {
	arg := func(i int) string {
		if i < len(f) {
			return f[i]
		}
		return ""
	}
	num := func(i int) int64 {
		n, err := strconv.ParseInt(arg(i), 10, 64)
		check(r.t, err)
		return n
	}
	p := path(r.t, arg(1))
	switch f[0] {
	case "create": // a file that must not exist
		return r.write(f[1], "", vfs.OpenCreate|vfs.OpenExclusive)
	case "write": // replace the contents, or make the file
		return r.write(f[1], arg(2), vfs.OpenCreate|vfs.OpenTruncate)
	case "append":
		return r.with(f[1], vfs.OpenWrite, func(h *vfs.Handle) error {
			n, end, err := h.Append([]byte(f[2]))
			if st, err2 := h.Stat(); err == nil && (err2 != nil || n != len(f[2]) || end != st.Size) {
				return fmt.Errorf("append wrote %d, end %d, size %d", n, end, st.Size)
			}
			return err
		})
	case "sparse": // one text at an offset
		return r.with(f[1], vfs.OpenWrite, func(h *vfs.Handle) error { return second(h.WriteAt([]byte(f[3]), num(2))) })
	case "truncate":
		return r.with(f[1], vfs.OpenWrite, func(h *vfs.Handle) error { return h.Truncate(num(2)) })
	case "allocate":
		return r.with(f[1], vfs.OpenWrite, func(h *vfs.Handle) error { return h.Allocate(num(2), num(3)) })
	case "open":
		flags := vfs.OpenRead
		if arg(2) == "nofollow" {
			flags |= vfs.OpenNoFollow
		}
		return r.with(f[1], flags, func(*vfs.Handle) error { return nil })
	case "cat":
		return r.with(f[1], vfs.OpenRead, func(h *vfs.Handle) error {
			got, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<40))
			if err == nil && string(got) != arg(2) {
				return fmt.Errorf("it holds %q", got)
			}
			return err
		})
	case "mkdir":
		return r.ns.Mkdir(r.dir, p)
	case "rmdir":
		return r.ns.Rmdir(r.dir, p)
	case "unlink":
		return r.ns.Unlink(r.dir, p)
	case "rename":
		return r.ns.Rename(r.dir, p, r.dir, path(r.t, f[2]))
	case "link":
		return r.ns.Link(r.dir, p, false, r.dir, path(r.t, f[2]))
	case "symlink":
		target, err := vfs.ParseTarget([]byte(f[1]))
		check(r.t, err)
		return r.ns.Symlink(target, r.dir, path(r.t, f[2]))
	case "chain": // links NAME1 -> NAME0 and so on
		for i := range num(2) {
			from, to := fmt.Sprint(f[1], i), fmt.Sprint(f[1], i+1)
			if err := r.step([]string{"symlink", from, to}); err != nil {
				return err
			}
		}
		return nil
	case "readlink":
		got, err := r.ns.Readlink(r.dir, p)
		if err == nil && got != f[2] {
			return fmt.Errorf("it is %q", got)
		}
		return err
	case "stat", "lstat", "size", "nlink": // path [kind [size [nlink]]], path size, path nlink
		st, err := r.ns.Stat(r.dir, p, f[0] != "lstat")
		if err != nil {
			return err
		}
		all := []string{kindNames[st.Kind], fmt.Sprint(st.Size), fmt.Sprint(st.Nlink)}
		switch f[0] {
		case "size":
			all = all[1:2]
		case "nlink":
			all = all[2:]
		}
		if got := all[:len(f)-2]; !slices.Equal(got, f[2:]) {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	case "same":
		a, err := r.ns.Stat(r.dir, p, false)
		b, err2 := r.ns.Stat(r.dir, path(r.t, f[2]), false)
		if err == nil && err2 == nil && (a.Ino != b.Ino || a.Dev != b.Dev) {
			return errors.New("they are not")
		}
		return errors.Join(err, err2)
	case "list":
		got, err := r.list(f[1])
		if err == nil && !slices.Equal(got, f[2:]) {
			return fmt.Errorf("it has %q", got)
		}
		return err
	}
	return fmt.Errorf("no such op: %s", f[0])
}

func (r runner) with(name string, flags vfs.OpenFlags, f func(*vfs.Handle) error) error {
	h, err := r.ns.Open(r.dir, path(r.t, name), flags)
	if err != nil {
		return err
	}
	return errors.Join(f(h), h.Close())
}

func (r runner) write(name, text string, flags vfs.OpenFlags) error {
	return r.with(name, flags|vfs.OpenWrite, func(h *vfs.Handle) error { return second(h.WriteAt([]byte(text), 0)) })
}

// list returns the sorted names of a folder, and checks what goes with them.
func (r runner) list(name string) ([]string, error) {
	var names []string
	err := r.with(name, vfs.OpenDirectory, func(h *vfs.Handle) error {
		list, err := h.Entries(true)
		if err != nil {
			return err
		}
		for i, e := range list {
			if i < 2 {
				if want := [...]string{".", ".."}[i]; e.Name != want || e.Kind != vfs.KindDir {
					return fmt.Errorf("entry %d is %+v", i, e)
				}
				continue
			}
			st, err := r.ns.Stat(h, path(r.t, e.Name), false)
			if err != nil {
				return err
			}
			if st.Ino != e.Ino || st.Kind != e.Kind {
				return fmt.Errorf("entry %+v is %+v", e, st)
			}
			names = append(names, e.Name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// testHandles checks what open files see of changes to names.
func testHandles(t *testing.T, ns *vfs.Namespace, dir string) {
	r := runner{t, ns, open(t, ns, dir, vfs.OpenDirectory)}
	check(t, r.write("f", "first", vfs.OpenCreate))
	h, err := ns.Open(r.dir, path(t, "f"), vfs.OpenRead|vfs.OpenWrite)
	check(t, err)
	if h.Path() != strings.TrimSuffix(dir, "/")+"/f" || h.Kind() != vfs.KindRegular || h.Flags() != vfs.OpenRead|vfs.OpenWrite {
		t.Errorf("handle: %s %d %d", h.Path(), h.Kind(), h.Flags())
	}
	check(t, ns.Unlink(r.dir, path(t, "f")))
	check(t, r.write("f", "second", vfs.OpenCreate|vfs.OpenExclusive))
	text := func(h *vfs.Handle) string {
		b, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<20))
		check(t, err)
		return string(b)
	}
	if got := text(h); got != "first" {
		t.Errorf("an unlinked file reads %q", got)
	}
	_, _, err = h.Append([]byte(" more"))
	check(t, err)
	if st, err := h.Stat(); err != nil || st.Nlink != 0 || st.Size != 10 {
		t.Errorf("an unlinked file: %+v, %v", st, err)
	}
	if got := text(h); got != "first more" {
		t.Errorf("an unlinked file that grew reads %q", got)
	}
	check(t, h.Close())
	if _, err := h.ReadAt(make([]byte, 1), 0); err != vfs.ErrBadHandle {
		t.Errorf("reading a closed handle: %v", err)
	}

	// An open file and an open folder go along when they are renamed.
	check(t, ns.Mkdir(r.dir, path(t, "d")))
	check(t, r.write("d/x", "in d", vfs.OpenCreate))
	d, err := ns.Open(r.dir, path(t, "d"), vfs.OpenDirectory)
	check(t, err)
	x, err := ns.Open(d, path(t, "x"), vfs.OpenRead)
	check(t, err)
	check(t, ns.Rename(r.dir, path(t, "d"), r.dir, path(t, "moved")))
	if d.Path() != strings.TrimSuffix(dir, "/")+"/moved" || x.Path() != d.Path()+"/x" || text(x) != "in d" {
		t.Errorf("after a rename: %s, %s", d.Path(), x.Path())
	}
	if st, err := ns.Stat(d, path(t, "x"), false); err != nil || st.Size != 4 {
		t.Errorf("by a renamed folder: %+v, %v", st, err)
	}
	check(t, r.write("moved/y", "made", vfs.OpenCreate))
	if st, err := ns.Stat(d, path(t, "y"), false); err != nil || st.Size != 4 {
		t.Errorf("by a renamed folder: %+v, %v", st, err)
	}
	check(t, ns.Unlink(d, path(t, "x")))
	check(t, ns.Unlink(d, path(t, "y")))
	check(t, ns.Rmdir(r.dir, path(t, "moved")))
	if _, err := ns.Stat(d, path(t, "x"), false); err != vfs.ErrNotExist {
		t.Errorf("by a removed folder: %v", err)
	}
	if _, err := ns.Open(d, path(t, "new"), vfs.OpenCreate|vfs.OpenWrite); err != vfs.ErrNotExist {
		t.Errorf("creating in a removed folder: %v", err)
	}
	check(t, x.Close())
	check(t, d.Close())

	// Access is by how it was opened.
	w, err := ns.Open(r.dir, path(t, "f"), vfs.OpenWrite)
	check(t, err)
	if _, err := w.ReadAt(make([]byte, 1), 0); err != vfs.ErrBadHandle {
		t.Errorf("reading a handle for writing: %v", err)
	}
	check(t, w.Sync(false))
	check(t, w.Sync(true))
	check(t, w.Close())
	e, err := ns.Open(r.dir, path(t, "f"), 0)
	check(t, err)
	if _, err := e.Stat(); err != nil {
		t.Errorf("stat of a handle without access: %v", err)
	}
	check(t, e.Close())
	tr, err := ns.Open(r.dir, path(t, "f"), vfs.OpenTruncate)
	check(t, err)
	if st, err := tr.Stat(); err != nil || st.Size != 0 {
		t.Errorf("after OpenTruncate: %+v, %v", st, err)
	}
	check(t, tr.Close())
	check(t, r.dir.Close())
	check(t, ns.Close())
	check(t, ns.Close())
	if _, err := ns.Stat(nil, path(t, dir), true); err != vfs.ErrBadHandle {
		t.Errorf("walk in a closed namespace: %v", err)
	}
}

// testListing checks that a listing stays while the folder changes, until it is taken anew.
func testListing(t *testing.T, ns *vfs.Namespace, dir string) {
	r := runner{t, ns, open(t, ns, dir, vfs.OpenDirectory)}
	const n = 300
	for i := range n {
		check(t, r.write(fmt.Sprintf("f%03d", i), "", vfs.OpenCreate))
	}
	first, err := r.dir.Entries(true)
	check(t, err)
	if len(first) != n+2 {
		t.Fatalf("%d entries", len(first))
	}
	seen := map[string]int{}
	for i := 0; ; i++ {
		list, err := r.dir.Entries(false)
		check(t, err)
		if i >= len(list) {
			break
		}
		seen[list[i].Name]++
		if name := list[i].Name; i >= 2 && i%2 == 0 { // remove and make files under the walk
			check(t, ns.Unlink(r.dir, path(t, name)))
			check(t, r.write("new"+name, "", vfs.OpenCreate))
		}
	}
	for name, times := range seen {
		if times != 1 || strings.HasPrefix(name, "new") {
			t.Errorf("%s was seen %d times", name, times)
		}
	}
	if len(seen) != n+2 {
		t.Errorf("saw %d names", len(seen))
	}
	again, err := r.dir.Entries(true)
	check(t, err)
	if len(again) != n+2 || slices.EqualFunc(first, again, func(a, b vfs.DirEntry) bool { return a == b }) {
		t.Errorf("after rewinding: %d entries", len(again))
	}
	check(t, r.dir.Close())
}

func testTimes(t *testing.T, ns *vfs.Namespace, dir string) {
	r := runner{t, ns, open(t, ns, dir, vfs.OpenDirectory)}
	check(t, r.write("f", "x", vfs.OpenCreate))
	check(t, ns.Mkdir(r.dir, path(t, "d")))
	target, err := vfs.ParseTarget([]byte("f"))
	check(t, err)
	check(t, ns.Symlink(target, r.dir, path(t, "l")))
	const then = 1_234_567_890_123_456_789
	for i, name := range []string{"f", "d", "l"} {
		before, err := ns.Stat(r.dir, path(t, name), false)
		check(t, err)
		want := int64(then + i*1000)
		check(t, ns.SetTimes(r.dir, path(t, name), false, vfs.Times{Mtime: want, Flags: vfs.SetMtime}))
		st, err := ns.Stat(r.dir, path(t, name), false)
		check(t, err)
		if st.Mtime != want || st.Atime != before.Atime {
			t.Errorf("%s: %+v, before %+v", name, st, before)
		}
		check(t, ns.SetTimes(r.dir, path(t, name), false, vfs.Times{Atime: want - 1, Flags: vfs.SetAtime}))
		if st, err = ns.Stat(r.dir, path(t, name), false); err != nil || st.Atime != want-1 || st.Mtime != want {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
	check(t, ns.SetTimes(r.dir, path(t, "l"), true, vfs.Times{Mtime: 5, Flags: vfs.SetMtime}))
	if st, err := ns.Stat(r.dir, path(t, "f"), false); err != nil || st.Mtime != 5 {
		t.Errorf("through a link: %+v, %v", st, err)
	}
	for _, flags := range []vfs.TimeFlags{vfs.SetMtime | vfs.SetMtimeNow, vfs.SetAtime | vfs.SetAtimeNow, 1 << 7} {
		if err := ns.SetTimes(r.dir, path(t, "f"), true, vfs.Times{Flags: flags}); err != vfs.ErrInvalid {
			t.Errorf("flags %b: %v", flags, err)
		}
	}
	h, err := ns.Open(r.dir, path(t, "f"), vfs.OpenRead)
	check(t, err)
	check(t, h.SetTimes(vfs.Times{Atime: 7_000_000_001, Mtime: 8_000_000_002, Flags: vfs.SetAtime | vfs.SetMtime}))
	if st, err := h.Stat(); err != nil || st.Atime != 7_000_000_001 || st.Mtime != 8_000_000_002 {
		t.Errorf("by a handle: %+v, %v", st, err)
	}
	check(t, h.SetTimes(vfs.Times{Flags: vfs.SetAtimeNow | vfs.SetMtimeNow}))
	if st, err := h.Stat(); err != nil || st.Mtime < then {
		t.Errorf("now: %+v, %v", st, err)
	}
	check(t, h.Close())
	check(t, r.dir.Close())
}

// testContents writes a file in pieces of all sizes at all places and compares with a slice.
func testContents(t *testing.T, ns *vfs.Namespace, dir string) {
	h := open(t, ns, dir+"/file", vfs.OpenRead|vfs.OpenWrite|vfs.OpenCreate)
	var want []byte
	seed := uint32(1)
	next := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	for i := range 400 {
		switch next(8) {
		case 0:
			size := next(200_000)
			check(t, h.Truncate(int64(size)))
			want = append(want, make([]byte, max(0, size-len(want)))...)[:size]
		default:
			off, n := next(200_000), next(1<<uint(1+next(16)))
			p := bytes.Repeat([]byte{byte(i + 1)}, n)
			got, err := h.WriteAt(p, int64(off))
			if err != nil || got != n {
				t.Fatalf("WriteAt: %d, %v", got, err)
			}
			if n > 0 {
				want = append(want, make([]byte, max(0, off+n-len(want)))...)
				copy(want[off:], p)
			}
		}
		got := make([]byte, len(want))
		if n, err := h.ReadAt(got, 0); err != nil && len(want) > 0 || n != len(want) || !bytes.Equal(got, want) {
			t.Fatalf("step %d: read %d of %d bytes, %v, equal: %v", i, n, len(want), err, bytes.Equal(got, want))
		}
		if st, err := h.Stat(); err != nil || st.Size != int64(len(want)) {
			t.Fatalf("step %d: size %d, %v, want %d", i, st.Size, err, len(want))
		}
	}
	check(t, h.Close())
}
