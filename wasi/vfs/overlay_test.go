package vfs_test

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// TestOverlay runs a script over the files of the suite and compares the lower folder afterwards.
func TestOverlay(t *testing.T) {
	dir := filledDir(t)
	before := tree(t, os.DirFS(dir))
	ns := mounted(t, hostDir(t, dir, false), vfs.ModeOverlay)
	runScript(t, ns, "/mnt/x", `
		list . big dir empty hello.txt vacant
		write empty new
		cat empty new
		unlink hello.txt
		stat hello.txt ! no such file or folder
		list . big dir empty vacant
		write hello.txt again
		cat hello.txt again
		unlink hello.txt
		stat hello.txt ! no such file or folder
		mkdir hello.txt
		list hello.txt
		rmdir hello.txt
		rmdir dir ! folder not empty
		unlink dir/a
		append dir/b more
		cat dir/b BBmore
		rename dir/b moved
		list dir sub
		cat moved BBmore
		rename dir other ! crosses a mount
		mkdir mine
		rename mine dir/mine
		rename dir/mine vacant
		list vacant
		rmdir vacant
		stat vacant ! no such file or folder
		mkdir vacant
		write vacant/x y
		unlink vacant/x
		list vacant
		symlink big link
		size link 80000
		truncate big 3
		cat link 012
		link big hard
		append hard !
		cat big 012!
		nlink big 2
	`)
	recount(t, ns)
	if d := diff(before, tree(t, os.DirFS(dir))); d != "" {
		t.Errorf("the lower layer changed: %s", d)
	}
}

// TestOverlayRemoved removes a whole tree of the lower layer and makes it anew.
func TestOverlayRemoved(t *testing.T) {
	ns := mounted(t, ioFS(t), vfs.ModeOverlay)
	at := openFile(t, ns, "/mnt/x/dir", vfs.OpenDirectory)
	snap := ns.Snapshot()
	base := ns.Usage()
	for _, name := range []string{"dir/a", "dir/b", "dir/sub/deep.txt", "dir/sub/ünïcode ✓"} {
		ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/"+name)))
	}
	ok(t, ns.Rmdir(nil, vfs.MustPath("/mnt/x/dir/sub")))
	ok(t, ns.Rmdir(nil, vfs.MustPath("/mnt/x/dir")))
	recount(t, ns)
	if u := ns.Usage(); u.Inodes != base.Inodes+1 {
		t.Errorf("one whiteout is left of it, but %+v, before %+v", u, base)
	}
	if _, err := ns.Stat(at, vfs.MustPath("a"), false); err != vfs.ErrNotExist {
		t.Errorf("by a removed folder: %v", err)
	}
	ok(t, ns.MkdirAll("/mnt/x/dir/sub"))
	if got := names(t, ns, "/mnt/x/dir"); got != "sub" {
		t.Errorf("made anew: %s", got)
	}
	if got := names(t, ns, "/mnt/x/dir/sub"); got != "" {
		t.Errorf("made anew: %s", got)
	}
	if _, err := ns.Stat(at, vfs.MustPath("sub"), false); err != vfs.ErrNotExist {
		t.Errorf("the old handle sees the new folder: %v", err)
	}
	ok(t, ns.Restore(snap))
	if got := names(t, ns, "/mnt/x/dir"); got != "a b sub" {
		t.Errorf("restored: %s", got)
	}
	if _, err := ns.Stat(at, vfs.MustPath("a"), false); err != nil {
		t.Errorf("by the handle after the restore: %v", err)
	}
	recount(t, ns)
}

// TestOverlayIdentity checks that a file keeps its number and an open file its contents when it is copied up.
func TestOverlayIdentity(t *testing.T) {
	ns := mounted(t, hostDir(t, filledDir(t), false), vfs.ModeOverlay)
	for _, name := range []string{"/mnt/x/hello.txt", "/mnt/x/dir", "/mnt/x/dir/sub/deep.txt"} {
		before := must(ns.Stat(nil, vfs.MustPath(name), false))
		ok(t, ns.SetTimes(nil, vfs.MustPath(name), false, vfs.Times{Mtime: 99, Flags: vfs.SetMtime}))
		after := must(ns.Stat(nil, vfs.MustPath(name), false))
		if before.Ino != after.Ino || before.Dev != after.Dev || after.Mtime != 99 || before.Atime != after.Atime || before.Size != after.Size && before.Kind != vfs.KindDir {
			t.Errorf("%s: %+v, before %+v", name, after, before)
		}
	}
	r := openFile(t, ns, "/mnt/x/dir/a", vfs.OpenRead)
	w := openFile(t, ns, "/mnt/x/dir/a", vfs.OpenRead|vfs.OpenWrite)
	must(w.WriteAt([]byte("changed"), 0))
	for h, want := range map[*vfs.Handle]string{r: "A", w: "changed"} {
		if b, err := io.ReadAll(io.NewSectionReader(h, 0, 100)); string(b) != want || err != nil {
			t.Errorf("%q, %v, want %q", b, err, want)
		}
	}
	if a, b := must(r.Stat()), must(w.Stat()); a.Ino != b.Ino || a.Dev != b.Dev {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestOverlayQuota(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.WriteFile(dir+"/large", make([]byte, 200_000), 0o644))
	for i := range 20 {
		ok(t, os.WriteFile(fmt.Sprintf("%s/%d", dir, i), nil, 0o644))
	}
	ns := namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/o", FS: hostDir(t, dir, false), Mode: vfs.ModeOverlay}}}, vfs.Options{Bytes: 100_000, Inodes: 10})
	if _, err := ns.Open(nil, vfs.MustPath("/o/large"), vfs.OpenWrite); err != vfs.ErrNoSpace {
		t.Errorf("copying up what does not fit: %v", err)
	}
	if u := ns.Usage(); u != (vfs.Usage{}) {
		t.Errorf("something is left of it: %+v", u)
	}
	h := openFile(t, ns, "/o/large", vfs.OpenWrite|vfs.OpenTruncate)
	ok(t, h.Close())
	var err error
	removed := 0
	for ; removed < 20 && err == nil; removed++ {
		err = ns.Unlink(nil, vfs.MustPath(fmt.Sprint("/o/", removed)))
		recount(t, ns)
	}
	if err != vfs.ErrQuotaInodes || removed != 10 {
		t.Errorf("removed %d: %v", removed, err)
	}
	if u := ns.Usage(); u.Inodes != 10 {
		t.Errorf("%+v", u)
	}
	if err := ns.Rename(nil, vfs.MustPath("/o/15"), nil, vfs.MustPath("/o/large")); err != vfs.ErrQuotaInodes {
		t.Errorf("rename: %v", err)
	}
	recount(t, ns)
	ok(t, ns.Unlink(nil, vfs.MustPath("/o/large"))) // its copy makes room for its whiteout
	recount(t, ns)
}

// TestTemplateShared makes and uses namespaces of one template in many goroutines.
func TestTemplateShared(t *testing.T) {
	h := hostDir(t, filledDir(t), false)
	template := must(vfs.NewTemplate(vfs.Config{Layout: true, Mounts: []vfs.Mount{{Path: "/h", FS: h}, {Path: "/o", FS: h, Mode: vfs.ModeOverlay},
		{Path: "/z", FS: filledZip(t, 8, vfs.ZipOptions{})}, {Path: "/i", FS: ioFS(t)}, {Path: "/i/dir/sub/oz", FS: filledZip(t, 8, vfs.ZipOptions{}), Mode: vfs.ModeOverlay}}}))
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 10 {
				ns := template.New(vfs.Options{})
				for _, dir := range []string{"/data", "/o", "/o/dir/sub", "/i/dir/sub/oz"} {
					if err := ns.WriteFile(dir+"/made", []byte(fmt.Sprint(g, i))); err != nil {
						t.Error(err)
					}
				}
				for name, want := range map[string]string{"/data/made": fmt.Sprint(g, i), "/o/dir/sub/made": fmt.Sprint(g, i), "/o/dir/a": "A", "/z/dir/a": "A", "/h/dir/b": "BB", "/i/dir/b": "BB", "/i/dir/sub/oz/dir/a": "A"} {
					if b, err := ns.ReadFile(name, 100); string(b) != want || err != nil {
						t.Errorf("%s: %q, %v", name, b, err)
					}
				}
				m := ns.Mark()
				clone, err := template.FromSnapshot(ns.Snapshot(), vfs.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := clone.Unlink(nil, vfs.MustPath("/o/dir/a")); err != nil {
					t.Error(err)
				}
				if list, _ := ns.Changes(m, vfs.MustPath("/data")); len(list) > 0 {
					t.Error(list)
				}
				clone.Close()
				ns.Close()
			}
		})
	}
	wg.Wait()
}
