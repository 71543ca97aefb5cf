//go:build linux

package vfs_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

const canary = "CANARY-OF-THE-HOST"

// ground is a folder of the host with an inside, which is mounted, and an outside, which must never be seen.
func ground(t testing.TB) (inside, outside string) {
	t.Helper()
	base := t.TempDir()
	inside, outside = base+"/inside", base+"/outside"
	for _, err := range []error{
		os.Mkdir(inside, 0o755), os.Mkdir(outside, 0o755), os.Mkdir(outside+"/sub", 0o755),
		os.WriteFile(outside+"/secret.txt", []byte(canary), 0o644),
		os.WriteFile(outside+"/only-outside", nil, 0o644), os.WriteFile(inside+"/a.txt", []byte("a"), 0o644),
		os.Mkdir(inside+"/sub", 0o755), os.WriteFile(inside+"/sub/b.txt", []byte("b"), 0o644),
	} {
		ok(t, err)
	}
	before := tree(t, os.DirFS(outside))
	t.Cleanup(func() {
		if d := diff(before, tree(t, os.DirFS(outside))); d != "" {
			t.Errorf("the outside changed: %s", d)
		}
	})
	return inside, outside
}

// escapes tries to read and to change things by a path that leads out.
func escapes(t testing.TB, ns *vfs.Namespace, name string) {
	t.Helper()
	p := vfs.MustPath(name)
	for _, flags := range []vfs.OpenFlags{vfs.OpenRead, vfs.OpenWrite, vfs.OpenRead | vfs.OpenTruncate, rwc, rwc | vfs.OpenTruncate, rwc | vfs.OpenExclusive,
		vfs.OpenRead | vfs.OpenDirectory, vfs.OpenRead | vfs.OpenNoFollow} {
		h, err := ns.Open(nil, p, flags)
		if err != nil {
			continue
		}
		if h.Kind() == vfs.KindRegular {
			if b, _ := io.ReadAll(io.NewSectionReader(h, 0, 100)); strings.Contains(string(b), canary) {
				t.Errorf("%s, flags %b: read the canary", name, flags)
			}
			h.WriteAt([]byte("written by the guest"), 0)
		} else if list, err := h.Entries(true); err == nil {
			for _, e := range list {
				if e.Name == "only-outside" {
					t.Errorf("%s lists the outside", name)
				}
			}
		}
		h.Close()
	}
	ns.Mkdir(nil, p)
	ns.SetTimes(nil, p, true, vfs.Times{Flags: vfs.SetMtime | vfs.SetAtime, Mtime: 5, Atime: 5})
	ns.Link(nil, p, true, nil, vfs.MustPath("/mnt/x/stolen"))
	ns.Link(nil, vfs.MustPath("/mnt/x/a.txt"), true, nil, p)
	ns.Symlink(must(vfs.ParseTarget([]byte("x"))), nil, p)
	ns.Rename(nil, vfs.MustPath("/mnt/x/a.txt"), nil, p)
	ns.Rename(nil, p, nil, vfs.MustPath("/mnt/x/stolen2"))
	ns.Rmdir(nil, p)
	ns.Unlink(nil, p)
}

func TestHostEscapes(t *testing.T) {
	for _, mode := range []vfs.Mode{vfs.ModeReadOnly, vfs.ModeReadWrite, vfs.ModeOverlay} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			inside, outside := ground(t)
			for name, target := range map[string]string{"abs": outside + "/secret.txt", "rel": "../outside/secret.txt", "dir": "../outside", "absdir": outside,
				"root": "/", "up": "..", "dangling": "../outside/made.txt", "absdangling": outside + "/made2.txt", "sub/up": "../../outside", "chain": "dir/../outside/sub"} {
				ok(t, os.Symlink(target, filepath.Join(inside, name)))
			}
			ns := mounted(t, hostDir(t, inside, mode == vfs.ModeReadWrite), mode)
			for _, name := range []string{"abs", "rel", "dir/secret.txt", "dir", "dir/", "absdir/secret.txt", "absdir/", "root" + outside + "/secret.txt", "up/outside/secret.txt",
				"up/up/up/outside", "dangling", "absdangling", "sub/up/secret.txt", "chain/../secret.txt", "../outside/secret.txt", "../../../../../../../.." + outside + "/secret.txt",
				"a.txt/../../outside/secret.txt", "rel/", "root/../.." + outside + "/secret.txt", "dir/new", "dir/sub/new"} {
				escapes(t, ns, "/mnt/x/"+name)
			}
			if mode == vfs.ModeReadOnly {
				return
			}
			for name, target := range map[string]string{"g1": outside + "/secret.txt", "g2": "../outside/secret.txt", "g3": "../outside", "g4": "/", "g5": "..", "sub/g6": "../../outside/secret.txt"} {
				ns.Symlink(must(vfs.ParseTarget([]byte(target))), nil, vfs.MustPath("/mnt/x/"+name))
			}
			for _, name := range []string{"g1", "g2", "g3/secret.txt", "g3/", "g4" + outside + "/secret.txt", "g5/outside/secret.txt", "sub/g6"} {
				escapes(t, ns, "/mnt/x/"+name)
			}
		})
	}
}

// TestHostLinksInside follows links of the host that stay inside.
func TestHostLinksInside(t *testing.T) {
	inside, _ := ground(t)
	ok(t, os.Symlink("sub/b.txt", inside+"/good"))
	ok(t, os.Symlink("../a.txt", inside+"/sub/up"))
	ok(t, os.Symlink("/mnt/x/a.txt", inside+"/guest")) // absolute: in the guest's tree
	ns := mounted(t, hostDir(t, inside, false), vfs.ModeReadOnly)
	for name, want := range map[string]string{"good": "b", "sub/up": "a", "guest": "a", "sub/../sub/up": "a"} {
		if b, err := ns.ReadFile("/mnt/x/"+name, 10); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

func TestHostSpecialFiles(t *testing.T) {
	inside, _ := ground(t)
	ok(t, syscall.Mkfifo(inside+"/fifo", 0o644))
	l, err := net.Listen("unix", inside+"/socket")
	ok(t, err)
	defer l.Close()
	ok(t, os.Symlink("/dev/zero", inside+"/zero"))
	ok(t, os.Symlink("fifo", inside+"/link"))
	for _, mode := range []vfs.Mode{vfs.ModeReadOnly, vfs.ModeOverlay, vfs.ModeReadWrite} {
		ns := mounted(t, hostDir(t, inside, mode == vfs.ModeReadWrite), mode)
		done := make(chan bool)
		go func() {
			for name, want := range map[string]error{"fifo": vfs.ErrAccess, "socket": vfs.ErrAccess, "link": vfs.ErrAccess, "zero": vfs.ErrNotExist} {
				for _, flags := range []vfs.OpenFlags{vfs.OpenRead, vfs.OpenWrite, vfs.OpenRead | vfs.OpenWrite, 0} {
					if h, err := ns.Open(nil, vfs.MustPath("/mnt/x/"+name), flags); err != want {
						t.Errorf("mode %d: open %s, flags %b: %v, %v", mode, name, flags, h, err)
					}
				}
			}
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("opening a special file waits")
		}
		kinds := map[string]vfs.Kind{}
		for _, e := range must(openFile(t, ns, "/mnt/x", vfs.OpenDirectory).Entries(true)) {
			kinds[e.Name] = e.Kind
			if st, err := ns.Stat(nil, vfs.MustPath("/mnt/x/"+e.Name), false); err != nil || st.Kind != e.Kind {
				t.Errorf("%s: listed as %d, is %d, %v", e.Name, e.Kind, st.Kind, err)
			}
		}
		if kinds["fifo"] != vfs.KindUnknown || kinds["socket"] != vfs.KindSocket || kinds["zero"] != vfs.KindLink {
			t.Errorf("kinds: %v", kinds)
		}
	}
}

// TestHostReadOnlyUntouched reads everything and compares all that stat tells, access times included.
func TestHostReadOnlyUntouched(t *testing.T) {
	inside, _ := ground(t)
	ok(t, os.Symlink("a.txt", inside+"/link"))
	then := time.Now().Add(-48 * time.Hour) // so that reading would renew the access time
	names := []string{".", "a.txt", "sub", "sub/b.txt"}
	for _, name := range names {
		ok(t, os.Chtimes(filepath.Join(inside, name), then, then))
	}
	state := func() (all []syscall.Stat_t) {
		for _, name := range append(names, "link") {
			st := *must(os.Lstat(filepath.Join(inside, name))).Sys().(*syscall.Stat_t)
			if name == "link" { // the system has no way to read a link without changing this
				st.Atim = syscall.Timespec{}
			}
			all = append(all, st)
		}
		return all
	}
	before := state()
	ns := mounted(t, hostDir(t, inside, false), vfs.ModeReadOnly)
	tree(t, must(ns.FS("/mnt/x")))
	for _, name := range append(names, "link", "new") {
		escapes(t, ns, "/mnt/x/"+name)
	}
	for i, st := range state() {
		if st != before[i] {
			t.Errorf("%s: %+v, before %+v", append(names, "link")[i], st, before[i])
		}
	}
}

// TestHostRaces lets another program of the host flip names between kinds while a guest uses them.
func TestHostRaces(t *testing.T) {
	inside, outside := ground(t)
	ok(t, os.Mkdir(inside+"/work", 0o755))
	var stop atomic.Bool
	var wg sync.WaitGroup
	flip := func(name string, make ...func(path string) error) {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				temp := fmt.Sprintf("%s/.%s-%d", inside, filepath.Base(name), i%len(make))
				_ = make[i%len(make)](temp)
				os.Rename(inside+"/"+name, inside+"/.old-"+filepath.Base(name))
				os.Rename(temp, inside+"/"+name)
				os.RemoveAll(inside + "/.old-" + filepath.Base(name))
			}
		})
	}
	folder := func(path string) error {
		return os.Mkdir(path, 0o755)
	}
	link := func(target string) func(string) error {
		return func(path string) error { return os.Symlink(target, path) }
	}
	file := func(path string) error { return os.WriteFile(path, []byte("plain"), 0o644) }
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o644) }
	flip("flip", folder, link("../outside"), folder, link(outside))
	flip("work/f", file, link("../../outside/secret.txt"), fifo)
	flip("deep", folder, link("../outside/sub"))
	h := hostDir(t, inside, true)
	deadline := time.Now().Add(700 * time.Millisecond)
	var guests sync.WaitGroup
	for range 2 { // two sandboxes with the same folder
		ns := mounted(t, h, vfs.ModeReadWrite)
		guests.Go(func() {
			for time.Now().Before(deadline) {
				for _, name := range []string{"flip/secret.txt", "flip/new", "flip", "flip/sub/x", "work/f", "deep/../secret.txt", "deep/made", "deep"} {
					escapes(t, ns, "/mnt/x/"+name)
				}
				at, err := ns.Open(nil, vfs.MustPath("/mnt/x/flip"), vfs.OpenDirectory)
				if err != nil {
					continue
				}
				if _, err := ns.Stat(at, vfs.MustPath("only-outside"), false); err == nil {
					t.Errorf("by a folder that was open: the outside")
				}
				if f, err := ns.Open(at, vfs.MustPath("secret.txt"), vfs.OpenRead); err == nil { // a guest may have made it
					if b, _ := io.ReadAll(io.NewSectionReader(f, 0, 100)); strings.Contains(string(b), canary) {
						t.Errorf("by a folder that was open: read the canary")
					}
					f.Close()
				}
				at.Close()
			}
		})
	}
	guests.Wait()
	stop.Store(true)
	wg.Wait()
}

// TestHostFolders uses more folders than are kept open.
func TestHostFolders(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		ok(t, os.MkdirAll(fmt.Sprintf("%s/d%d/e", dir, i), 0o755))
		ok(t, os.WriteFile(fmt.Sprintf("%s/d%d/e/f", dir, i), []byte(fmt.Sprint(i)), 0o644))
	}
	open := func() int { return len(must(os.ReadDir("/proc/self/fd"))) }
	before := open()
	h := hostDir(t, dir, true)
	ns := mounted(t, h, vfs.ModeReadWrite)
	first := openFile(t, ns, "/mnt/x/d0/e", vfs.OpenDirectory)
	for round := range 2 {
		for i := range 300 {
			if b, err := ns.ReadFile(fmt.Sprintf("/mnt/x/d%d/e/f", i), 10); string(b) != fmt.Sprint(i) || err != nil {
				t.Fatalf("round %d: %q, %v", round, b, err)
			}
		}
	}
	if n := open() - before; n > 70 {
		t.Errorf("%d descriptors are kept open", n)
	}
	// The host moves a folder that we hold, and puts another in its place.
	ok(t, os.Rename(dir+"/d0", dir+"/moved"))
	ok(t, os.MkdirAll(dir+"/d0/e", 0o755))
	if _, err := ns.Stat(first, vfs.MustPath("f"), false); err != nil {
		t.Errorf("by a folder that was moved: %v", err)
	}
	if _, err := ns.Stat(nil, vfs.MustPath("/mnt/x/d0/e/f"), false); err != vfs.ErrNotExist {
		t.Errorf("in the new folder: %v", err)
	}
	if _, err := ns.Stat(nil, vfs.MustPath("/mnt/x/moved/e/f"), false); err != nil {
		t.Errorf("in the moved folder: %v", err)
	}
	ok(t, first.Close())
	ok(t, h.Close())
	ok(t, h.Close())
	if n := open() - before; n > 0 {
		t.Errorf("%d descriptors are left", n)
	}
	if _, err := ns.Stat(nil, vfs.MustPath("/mnt/x/moved/e/f"), false); err != vfs.ErrStale {
		t.Errorf("after closing: %v", err)
	}
}

func TestHostNoSymlinks(t *testing.T) {
	inside, _ := ground(t)
	ok(t, os.Symlink("a.txt", inside+"/old"))
	ns := namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/mnt/x", FS: hostDir(t, inside, true), Mode: vfs.ModeReadWrite, NoSymlinks: true}}}, vfs.Options{})
	if err := ns.Symlink(must(vfs.ParseTarget([]byte("a.txt"))), nil, vfs.MustPath("/mnt/x/new")); err != vfs.ErrPerm {
		t.Errorf("symlink: %v", err)
	}
	if err := ns.Link(nil, vfs.MustPath("/mnt/x/old"), false, nil, vfs.MustPath("/mnt/x/new")); err != vfs.ErrPerm {
		t.Errorf("link to a link: %v", err)
	}
	ok(t, ns.Link(nil, vfs.MustPath("/mnt/x/a.txt"), false, nil, vfs.MustPath("/mnt/x/new")))
	ok(t, ns.Symlink(must(vfs.ParseTarget([]byte("a.txt"))), nil, vfs.MustPath("/in-memory")))
}

func TestHostOddNames(t *testing.T) {
	inside, _ := ground(t)
	for _, name := range []string{"not-utf8-\xff", "back\\slash", "new\nline", " ", "ünïcode", "con", "a:b"} {
		ok(t, os.WriteFile(inside+"/"+name, []byte("x"), 0o644))
	}
	ns := mounted(t, hostDir(t, inside, false), vfs.ModeReadOnly)
	seen := map[string]bool{}
	for _, e := range must(openFile(t, ns, "/mnt/x", 0).Entries(true))[2:] {
		seen[e.Name] = true
		if p, err := vfs.ParsePathString(e.Name); err != nil {
			t.Errorf("%q is listed, but: %v", e.Name, err)
		} else if _, err := ns.Stat(openFile(t, ns, "/mnt/x", 0), p, false); err != nil {
			t.Errorf("%q is listed, but: %v", e.Name, err)
		}
	}
	for _, name := range []string{"back\\slash", "new\nline", " ", "ünïcode", "con", "a:b"} {
		if !seen[name] {
			t.Errorf("%q is not listed", name)
		}
	}
}

func TestHostNames(t *testing.T) {
	h, err := vfs.OpenHostDir(t.TempDir(), vfs.HostDirOptions{Write: true, GrowNames: 4})
	ok(t, err)
	defer h.Close()
	ns := mounted(t, h, vfs.ModeReadWrite)
	p := func(name string) vfs.Path { return vfs.MustPath("/mnt/x/" + name) }
	add := map[string]func(name string) error{
		"file":   func(name string) error { return ns.WriteFile("/mnt/x/"+name, nil) },
		"folder": func(name string) error { return ns.Mkdir(nil, p(name)) },
		"link":   func(name string) error { return ns.Symlink(must(vfs.ParseTarget([]byte("x"))), nil, p(name)) },
		"name":   func(name string) error { return ns.Link(nil, p("file"), false, nil, p(name)) },
	}
	for _, kind := range []string{"file", "folder", "link", "name"} {
		ok(t, add[kind](kind))
	}
	for kind, f := range add {
		if err := f("more"); err != vfs.ErrQuotaInodes {
			t.Errorf("one %s more: %v", kind, err)
		}
	}
	if err := add["folder"]("file"); err == nil {
		t.Error("a folder in the place of a file")
	}
	ok(t, ns.Rename(nil, p("name"), nil, p("file"))) // two names of one file: both stay
	if err := add["file"]("more"); err != vfs.ErrQuotaInodes {
		t.Errorf("after a rename that did nothing: %v", err)
	}
	ok(t, ns.Rename(nil, p("link"), nil, p("name"))) // one name less
	ok(t, add["file"]("more"))
	ok(t, ns.Rmdir(nil, p("folder")))
	ok(t, ns.Unlink(nil, p("more")))
	ok(t, add["folder"]("a"))
	ok(t, add["folder"]("b"))
	if err := add["folder"]("c"); err != vfs.ErrQuotaInodes {
		t.Errorf("at the end: %v", err)
	}
}

// TestHostSync waits for the disk with the deadline in view.
func TestHostSync(t *testing.T) {
	ns := namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/mnt/x", FS: hostDir(t, t.TempDir(), true), Mode: vfs.ModeReadWrite}}},
		vfs.Options{Check: func() error { return nil }})
	h := openFile(t, ns, "/mnt/x/f", rwc)
	must(h.WriteAt(make([]byte, 1<<20), 0))
	for _, dataOnly := range []bool{true, false} {
		ok(t, h.Sync(dataOnly))
	}
	d := openFile(t, ns, "/mnt/x", vfs.OpenDirectory)
	ok(t, d.Sync(false))
	ok(t, h.Close())
	if err := h.Sync(false); err != vfs.ErrBadHandle {
		t.Error(err)
	}
}
