package vfs_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

func mapFS(t testing.TB, names ...string) *vfs.IOFS {
	t.Helper()
	m := fstest.MapFS{}
	for _, name := range names {
		m[name] = &fstest.MapFile{Data: []byte(name)}
	}
	return must(vfs.NewIOFS(m))
}

func names(t testing.TB, ns *vfs.Namespace, dir string) string {
	t.Helper()
	h := openFile(t, ns, dir, vfs.OpenDirectory)
	defer h.Close()
	var list []string
	for _, e := range must(h.Entries(true))[2:] {
		list = append(list, e.Name)
		st, err := ns.Stat(h, vfs.MustPath(e.Name), false)
		if err != nil || st.Ino != e.Ino || st.Kind != e.Kind {
			t.Errorf("%s/%s: listed as %+v, is %+v, %v", dir, e.Name, e, st, err)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestLayout(t *testing.T) {
	ns := memory(t, 0, 0)
	if got := names(t, ns, "/"); got != "data mnt tmp" {
		t.Errorf("root: %s", got)
	}
	ok(t, ns.WriteFile("/mnt/data/x", []byte("by the link")))
	if b := must(ns.ReadFile("/data/x", 100)); string(b) != "by the link" {
		t.Errorf("%q", b)
	}
	for _, name := range []string{"/data", "/tmp", "/"} {
		if err := ns.Rmdir(nil, vfs.MustPath(name)); err != vfs.ErrBusy {
			t.Errorf("rmdir %s: %v", name, err)
		}
		if err := ns.Rename(nil, vfs.MustPath(name), nil, vfs.MustPath("/other")); err != vfs.ErrBusy {
			t.Errorf("rename %s: %v", name, err)
		}
	}
	ok(t, ns.Mkdir(nil, vfs.MustPath("/other")))
	if err := ns.Rename(nil, vfs.MustPath("/other"), nil, vfs.MustPath("/data")); err != vfs.ErrBusy {
		t.Errorf("rename over /data: %v", err)
	}
	// The memory parts are one file system.
	ok(t, ns.WriteFile("/tmp/made", []byte("x")))
	ok(t, ns.Rename(nil, vfs.MustPath("/tmp/made"), nil, vfs.MustPath("/data/made")))
	if _, err := vfs.NewTemplate(vfs.Config{Layout: true, Mounts: []vfs.Mount{{Path: "/", FS: mapFS(t, "x")}}}); err == nil {
		t.Error("layout over a mounted root")
	}
}

// TestMountBelowFile mounts a folder where the FS below has a file, and nothing.
func TestMountBelowFile(t *testing.T) {
	const zip = "/usr/local/lib/python315.zip"
	for _, lower := range []vfs.FS{vfs.NewFileFS(strings.NewReader("PK"), 2, time.Unix(0, 0)), mapFS(t, "os.pyc", "matplotlib/pyplot.pyc")} {
		ns := namespace(t, vfs.Config{Layout: true, Mounts: []vfs.Mount{{Path: zip + "/matplotlib/mpl-data", FS: mapFS(t, "fonts/a.ttf")}, {Path: zip, FS: lower}}}, vfs.Options{})
		if b := must(ns.ReadFile(zip+"/matplotlib/mpl-data/fonts/a.ttf", 100)); string(b) != "fonts/a.ttf" {
			t.Errorf("%q", b)
		}
		_, kind := lower.Root()
		switch kind {
		case vfs.KindRegular:
			if b := must(ns.ReadFile(zip, 100)); string(b) != "PK" {
				t.Errorf("%q", b)
			}
			if got := names(t, ns, zip+"/matplotlib"); got != "mpl-data" {
				t.Errorf("beside the mount: %s", got)
			}
			if _, err := ns.Stat(nil, vfs.MustPath(zip+"/none"), true); err != vfs.ErrNotDir {
				t.Errorf("below the file: %v", err)
			}
			if err := ns.WriteFile(zip+"/matplotlib/new", nil); err != vfs.ErrReadOnly {
				t.Errorf("in a folder of the mount table: %v", err)
			}
			if err := ns.Unlink(nil, vfs.MustPath(zip)); err != vfs.ErrBusy {
				t.Errorf("unlink of a mounted file: %v", err)
			}
			if err := ns.Rename(nil, vfs.MustPath(zip), nil, vfs.MustPath("/usr/local/lib/y")); err != vfs.ErrBusy {
				t.Errorf("rename of a mounted file: %v", err)
			}
			if err := ns.Link(nil, vfs.MustPath(zip), false, nil, vfs.MustPath("/data/y")); err != vfs.ErrCrossDevice {
				t.Errorf("link of a mounted file: %v", err)
			}
			h := openFile(t, ns, zip, vfs.OpenRead)
			if _, err := ns.Stat(h, vfs.MustPath("matplotlib"), true); err != vfs.ErrNotDir {
				t.Errorf("from the file: %v", err)
			}
		case vfs.KindDir:
			if got := names(t, ns, zip); got != "matplotlib os.pyc" {
				t.Errorf("the folder: %s", got)
			}
			if got := names(t, ns, zip+"/matplotlib"); got != "mpl-data pyplot.pyc" {
				t.Errorf("beside the mount: %s", got)
			}
		}
		h := openFile(t, ns, zip+"/matplotlib/mpl-data", vfs.OpenDirectory)
		if h.Path() != zip+"/matplotlib/mpl-data" {
			t.Error(h.Path())
		}
		st := must(ns.Stat(nil, vfs.MustPath(zip+"/matplotlib/mpl-data/../mpl-data/.."), true))
		if st.Kind != vfs.KindDir {
			t.Errorf("%+v", st)
		}
		if got := names(t, ns, "/usr/local/lib"); got != "python315.zip" {
			t.Errorf("lib: %s", got)
		}
	}
}

func TestMountErrors(t *testing.T) {
	w := hostDir(t, t.TempDir(), true)
	_, err := vfs.NewTemplate(vfs.Config{Layout: true, Mounts: []vfs.Mount{
		{Path: "relative", FS: mapFS(t, "x")}, {Path: "/a/../b", FS: mapFS(t, "x")}, {Path: "/nofs"}, {Path: "/x", FS: mapFS(t, "x"), Mode: vfs.ModeReadWrite},
		{Path: "/twice", FS: mapFS(t, "x")}, {Path: "/twice/", FS: mapFS(t, "x")}, {Path: "/\xff", FS: w}, {Path: "/mode", FS: w, Mode: 9},
		{Path: "/file", FS: vfs.NewFileFS(strings.NewReader(""), 0, time.Time{}), Mode: vfs.ModeOverlay},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"mount relative: the path must be absolute", "mount /a/../b: the path must not have .. in it", "mount /nofs: no file system given",
		"mount /x: this file system can only be read", "mount /twice/: mounted twice", "illegal name", "mount /mode: unknown mode", "mount /file: a single file can only be mounted read-only"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}

func TestMounts(t *testing.T) {
	a, b := hostDir(t, t.TempDir(), true), hostDir(t, t.TempDir(), true)
	template := must(vfs.NewTemplate(vfs.Config{Layout: true, Mounts: []vfs.Mount{{Path: "/work/in", FS: a, Mode: vfs.ModeReadWrite}}}))
	template = must(template.With(vfs.Mount{Path: "/work/in/deep/er/b", FS: b, Mode: vfs.ModeReadWrite}, vfs.Mount{Path: "/mnt/data/ref", FS: mapFS(t, "r")}))
	ns := template.New(vfs.Options{})
	defer ns.Close()
	if got := names(t, ns, "/work"); got != "in" {
		t.Errorf("work: %s", got)
	}
	if got := names(t, ns, "/data"); got != "ref" { // by way of the link /mnt/data
		t.Errorf("data: %s", got)
	}
	if b := must(ns.ReadFile("/mnt/data/ref/r", 10)); string(b) != "r" {
		t.Errorf("%q", b)
	}
	ok(t, ns.WriteFile("/work/beside", []byte("x")))
	ok(t, ns.WriteFile("/work/in/f", []byte("x")))
	ok(t, ns.WriteFile("/work/in/deep/er/b/g", []byte("x")))
	if got := names(t, ns, "/work/in"); got != "deep f" {
		t.Errorf("in: %s", got)
	}
	if err := ns.WriteFile("/work/in/deep/new", nil); err != vfs.ErrReadOnly {
		t.Errorf("in a folder of the mount table: %v", err)
	}
	// Once the FS below has the folder, it is that one.
	top, _ := a.Root()
	ok(t, a.Mkdir(top, "deep"))
	ok(t, ns.WriteFile("/work/in/deep/new", nil))
	if got := names(t, ns, "/work/in/deep"); got != "er new" {
		t.Errorf("deep: %s", got)
	}
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"/work/in/f", "/work/f", vfs.ErrCrossDevice}, {"/work/beside", "/work/in/x", vfs.ErrCrossDevice}, {"/work/in/f", "/work/in/deep/er/b/f", vfs.ErrCrossDevice},
		{"/work/in", "/work/x", vfs.ErrBusy}, {"/work", "/x", vfs.ErrBusy}, {"/work/in/deep", "/work/in/x", vfs.ErrBusy}, {"/work/in/deep/er", "/work/in/x", vfs.ErrBusy},
		{"/work/in/f", "/work/in/deep", vfs.ErrBusy}, {"/work/beside", "/work/in", vfs.ErrBusy}, {"/work/in/deep/er/b", "/work/in/deep/er/c", vfs.ErrBusy},
		{"/data/ref/r", "/data/r", vfs.ErrCrossDevice}, {"/data/ref/r", "/data/ref/s", vfs.ErrReadOnly},
	} {
		if err := ns.Rename(nil, vfs.MustPath(c.from), nil, vfs.MustPath(c.to)); err != c.want {
			t.Errorf("rename %s to %s: %v, want %v", c.from, c.to, err, c.want)
		}
	}
	for _, c := range []struct{ from, to string }{{"/work/in/f", "/work/f"}, {"/work/beside", "/work/in/x"}, {"/data/ref/r", "/data/r"}, {"/work/in/f", "/work/in/deep/er/b/f"}} {
		if err := ns.Link(nil, vfs.MustPath(c.from), false, nil, vfs.MustPath(c.to)); err != vfs.ErrCrossDevice {
			t.Errorf("link %s to %s: %v", c.from, c.to, err)
		}
	}
	for _, dir := range []string{"/work/in", "/work", "/work/in/deep", "/work/in/deep/er", "/work/in/deep/er/b"} {
		if err := ns.Rmdir(nil, vfs.MustPath(dir)); err != vfs.ErrBusy {
			t.Errorf("rmdir %s: %v", dir, err)
		}
	}
	devs := map[uint64]string{}
	for _, dir := range []string{"/data", "/work/in", "/work/in/deep/er", "/work/in/deep/er/b", "/data/ref"} {
		st := must(ns.Stat(nil, vfs.MustPath(dir), true))
		if other := devs[st.Dev]; other != "" {
			t.Errorf("%s and %s are on one device", dir, other)
		}
		devs[st.Dev] = dir
	}
	// From a handle inside a mount, the root is reached by an absolute link only.
	at := openFile(t, ns, "/work/in/deep", vfs.OpenDirectory)
	ok(t, ns.Symlink(must(vfs.ParseTarget([]byte("/data"))), at, vfs.MustPath("link")))
	ok(t, ns.Symlink(must(vfs.ParseTarget([]byte("../../.."))), at, vfs.MustPath("up")))
	for name, want := range map[string]error{"..": vfs.ErrNotCapable, "er/../..": vfs.ErrNotCapable, "link/ref": nil, "up/data": nil, "link/../data": vfs.ErrNotCapable, "er/..": nil} {
		if _, err := ns.Stat(at, vfs.MustPath(name), true); err != want {
			t.Errorf("%s from a handle: %v, want %v", name, err, want)
		}
	}
	ok(t, at.Close())
}

func TestStackBound(t *testing.T) {
	ns := memory(t, 0, 0)
	// Links that add folders at each hop cannot make a walk grow without bound.
	dir := "/data" + strings.Repeat("/d", 100)
	ok(t, ns.MkdirAll(dir))
	ok(t, ns.Symlink(must(vfs.ParseTarget([]byte(strings.Repeat("./", 2000)))), nil, vfs.MustPath(dir+"/dots")))
	if _, err := ns.Stat(nil, vfs.MustPath(dir+"/dots/dots/dots"), true); err != nil {
		t.Error(err)
	}
	ok(t, ns.Symlink(must(vfs.ParseTarget([]byte(strings.Repeat("x/../", 800)+"a"))), nil, vfs.MustPath("/data/wide")))
	if _, err := ns.Stat(nil, vfs.MustPath("/data/wide"), true); err != vfs.ErrTooDeep {
		t.Error(err)
	}
	ok(t, ns.Symlink(must(vfs.ParseTarget([]byte("."))), nil, vfs.MustPath("/data/dot")))
	for n, want := range map[int]error{40: nil, 41: vfs.ErrLoop, 255: vfs.ErrLoop} {
		if _, err := ns.Stat(nil, vfs.MustPath("/data"+strings.Repeat("/dot", n)), true); err != want {
			t.Errorf("%d links: %v", n, err)
		}
	}
}
