//go:build linux

package vfs_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

func TestQuotaBytes(t *testing.T) {
	const quota = 1 << 20
	ns := memory(t, quota, 100)
	fill := func(name string) (*vfs.Handle, int) {
		h := openFile(t, ns, name, rwc)
		p := bytes.Repeat([]byte("z"), 10_000)
		for total := 0; ; {
			n, end, err := h.Append(p)
			if total += n; end != int64(total) {
				t.Fatalf("end %d after %d bytes", end, total)
			}
			if err != nil {
				if err != vfs.ErrNoSpace {
					t.Fatal(err)
				}
				return h, total
			}
		}
	}
	h, n := fill("/tmp/a")
	if n > quota || n < quota-20_000 {
		t.Errorf("%d bytes fit into %d", n, quota)
	}
	if u := ns.Usage(); u.Bytes > quota || u.Bytes < int64(n) {
		t.Errorf("usage %+v of %d bytes", u, n)
	}
	recount(t, ns)
	if n, err := h.WriteAt([]byte("over what is there"), 5); n != 18 || err != nil {
		t.Errorf("overwriting in a full file system: %d, %v", n, err)
	}
	ok(t, ns.Unlink(nil, vfs.MustPath("/tmp/a")))
	c := openFile(t, ns, "/tmp/c", rwc)
	if n, err := c.WriteAt(make([]byte, 100_000), 0); n != 0 || err != vfs.ErrNoSpace {
		t.Errorf("an unlinked open file does not count: %d, %v", n, err)
	}
	if st := must(c.Stat()); st.Size != 0 {
		t.Errorf("size %d after a write that failed", st.Size)
	}
	ok(t, h.Close())
	recount(t, ns)
	if u := ns.Usage(); u.Bytes != 0 {
		t.Errorf("not all came back: %+v", u)
	}
	if u := ns.Peak(); u.Bytes < int64(n) || u.Bytes > quota || u.Inodes < 2 {
		t.Errorf("the most was %+v of %d bytes", u, n)
	}
	if n, err := c.WriteAt(make([]byte, 500_000), 0); n != 500_000 || err != nil {
		t.Errorf("what was freed cannot be used: %d, %v", n, err)
	}
	ok(t, c.Truncate(100))
	recount(t, ns)
	if u := ns.Usage(); u.Bytes > 200 {
		t.Errorf("after truncating: %+v", u)
	}
	d, n2 := fill("/data/d")
	if n2 < n-200 {
		t.Errorf("%d bytes fit, before %d", n2, n)
	}
	// Replacing by rename frees what was there.
	ok(t, ns.Unlink(nil, vfs.MustPath("/tmp/c")))
	ok(t, c.Close())
	ok(t, d.Close())
	ok(t, openFile(t, ns, "/data/e", rwc).Close())
	ok(t, ns.Rename(nil, vfs.MustPath("/data/e"), nil, vfs.MustPath("/data/d")))
	recount(t, ns)
	if u := ns.Usage(); u.Bytes != 0 {
		t.Errorf("after replacing: %+v", u)
	}
}

func TestQuotaInodes(t *testing.T) {
	ns := memory(t, 1<<20, 20)
	var made []string
	var err error
	for i := 0; err == nil; i++ {
		name := fmt.Sprintf("/data/%d", i)
		p := vfs.MustPath(name)
		switch i % 4 {
		case 0:
			var h *vfs.Handle
			if h, err = ns.Open(nil, p, rwc); err == nil {
				ok(t, h.Close())
			}
		case 1:
			err = ns.Mkdir(nil, p)
		case 2:
			err = ns.Symlink(must(vfs.ParseTarget([]byte("x"))), nil, p)
		case 3:
			err = ns.Link(nil, vfs.MustPath("/data/0"), false, nil, p)
		}
		if err == nil {
			made = append(made, name)
		}
		recount(t, ns)
	}
	if err != vfs.ErrQuotaInodes || len(made) != 20 {
		t.Errorf("%d names: %v", len(made), err)
	}
	for _, name := range made {
		if err := ns.Unlink(nil, vfs.MustPath(name)); err == vfs.ErrIsDir {
			ok(t, ns.Rmdir(nil, vfs.MustPath(name)))
		} else {
			ok(t, err)
		}
		recount(t, ns)
	}
	if u := ns.Usage(); u.Inodes != 0 || u.Bytes != 0 {
		t.Errorf("not all came back: %+v", u)
	}
}

func TestSparse(t *testing.T) {
	ns := memory(t, 1<<20, 100)
	for _, size := range []int64{1 << 33, 1 << 40, 1 << 42, 1 << 62, 1<<63 - 1} {
		h := openFile(t, ns, "/tmp/big", rwc|vfs.OpenTruncate)
		want := error(nil)
		if size > 1<<42 {
			want = vfs.ErrFileTooBig
		}
		if err := h.Truncate(size); err != want {
			t.Errorf("truncate to %d: %v", size, err)
		}
		n, err := h.WriteAt([]byte("x"), size-1)
		if err != want || err == nil && n != 1 {
			t.Errorf("write at %d: %d, %v", size-1, n, err)
		}
		if u := ns.Usage(); u.Bytes > 1<<18 {
			t.Errorf("one byte at %d takes %d", size-1, u.Bytes)
		}
		if want == nil {
			p := make([]byte, 2)
			if n, err := h.ReadAt(p, size-2); n != 2 || err != nil || string(p) != "\x00x" {
				t.Errorf("read at %d: %d, %v, %q", size-2, n, err, p)
			}
		}
		if err := h.Allocate(0, size); err != vfs.ErrNoSpace && err != vfs.ErrFileTooBig {
			t.Errorf("allocate %d: %v", size, err)
		}
		if err := h.Allocate(size, size); err != vfs.ErrNoSpace && err != vfs.ErrFileTooBig {
			t.Errorf("allocate %d at %d: %v", size, size, err)
		}
		recount(t, ns)
		ok(t, h.Close())
		ok(t, ns.Unlink(nil, vfs.MustPath("/tmp/big")))
		recount(t, ns)
	}
	if u := ns.Usage(); u.Bytes != 0 {
		t.Errorf("not all came back: %+v", u)
	}
	h := openFile(t, ns, "/tmp/edge", rwc)
	if n, err := h.WriteAt([]byte("abc"), 1<<42-2); n != 2 || err != vfs.ErrFileTooBig {
		t.Errorf("across the largest size: %d, %v", n, err)
	}
	recount(t, ns)
}

func TestAllocate(t *testing.T) {
	ns := memory(t, 1<<20, 100)
	h := openFile(t, ns, "/tmp/f", rwc)
	ok(t, h.Allocate(0, 300_000))
	u := ns.Usage().Bytes
	if u < 300_000 {
		t.Errorf("allocated 300,000 bytes, counted %d", u)
	}
	if n, err := h.WriteAt(make([]byte, 300_000), 0); n != 300_000 || err != nil || ns.Usage().Bytes != u {
		t.Errorf("writing what was allocated: %d, %v, %d bytes then %d", n, err, u, ns.Usage().Bytes)
	}
	before := ns.Usage()
	if err := h.Allocate(0, 1<<20+1); err != vfs.ErrNoSpace || ns.Usage() != before {
		t.Errorf("over the quota: %v, %+v then %+v", err, before, ns.Usage())
	}
	recount(t, ns)
}

func TestFolderDepth(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testFolderDepth(t, memory(t, 0, 0)) })
	t.Run("folder", func(t *testing.T) {
		dir := t.TempDir()
		ok(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
		ok(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
		h, err := vfs.OpenHostDir(dir, vfs.HostDirOptions{Write: true})
		ok(t, err)
		defer h.Close()
		testFolderDepth(t, namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/", FS: h, Mode: vfs.ModeReadWrite}}}, vfs.Options{}))
	})
}

func testFolderDepth(t *testing.T, ns *vfs.Namespace) {
	at := openFile(t, ns, "/data", vfs.OpenDirectory)
	depth := 1
	for ; depth < 1000; depth++ {
		if err := ns.Mkdir(at, vfs.MustPath("d")); err != nil {
			if err != vfs.ErrTooDeep {
				t.Fatal(err)
			}
			break
		}
		next, err := ns.Open(at, vfs.MustPath("d"), vfs.OpenDirectory)
		ok(t, err)
		ok(t, at.Close())
		at = next
	}
	if depth != vfs.MaxDepth {
		t.Errorf("%d folders in each other, want %d", depth, vfs.MaxDepth)
	}
	// A tree may not be moved below where it would be too deep.
	ok(t, ns.MkdirAll("/tmp/x/y"))
	if err := ns.Rename(nil, vfs.MustPath("/data/d"), nil, vfs.MustPath("/tmp/x/y/d")); err != vfs.ErrTooDeep {
		t.Errorf("moving a tree too deep: %v", err)
	}
	ok(t, ns.Rename(nil, vfs.MustPath("/data/d"), nil, vfs.MustPath("/tmp/d")))
	ok(t, at.Close())

	// Nor do open folders that were moved hide how deep they lie.
	bottom := vfs.MustPath("/tmp/d" + strings.Repeat("/d", vfs.MaxDepth-4))
	ok(t, ns.MkdirAll("/data/open/below"))
	if err := ns.Rename(nil, vfs.MustPath("/data/open"), nil, bottom); err != vfs.ErrNotEmpty {
		t.Errorf("over a folder: %v", err)
	}
	at = openFile(t, ns, "/data/open", vfs.OpenDirectory)
	below := openFile(t, ns, "/data/open/below", vfs.OpenDirectory)
	ok(t, ns.Rename(nil, vfs.MustPath("/data/open"), nil, vfs.MustPath(bottom.String()+"/o")))
	for name, at := range map[string]*vfs.Handle{"open": at, "below": below} {
		if err := ns.Mkdir(at, vfs.MustPath("new")); name == "below" && err != vfs.ErrTooDeep || name == "open" && err != nil {
			t.Errorf("in %s: %v", name, err)
		}
		ok(t, at.Close())
	}
}

// TestMovedFolder has a folder open while it is moved: what lies above it is what lies above it then, also after a snapshot
// has brought the old place back.
func TestMovedFolder(t *testing.T) {
	dir := t.TempDir()
	h, err := vfs.OpenHostDir(dir, vfs.HostDirOptions{Write: true})
	ok(t, err)
	defer h.Close()
	lower, err := vfs.OpenHostDir(t.TempDir(), vfs.HostDirOptions{})
	ok(t, err)
	defer lower.Close()
	ns := namespace(t, vfs.Config{Layout: true, Mounts: []vfs.Mount{
		{Path: "/mnt/host", FS: h, Mode: vfs.ModeReadWrite}, {Path: "/mnt/over", FS: lower, Mode: vfs.ModeOverlay},
	}}, vfs.Options{})
	for _, top := range []string{"/data", "/mnt/host", "/mnt/over"} {
		runScript(t, ns, top, `
			mkdir a
			mkdir a/b
			mkdir c
			write a/file old
			write c/file new
			symlink ../file a/b/up
		`)
		at := openFile(t, ns, top+"/a/b", vfs.OpenDirectory)
		look := func(want string) {
			t.Helper()
			h, err := ns.Open(at, vfs.MustPath("up"), vfs.OpenRead)
			ok(t, err)
			defer h.Close()
			b := make([]byte, 10)
			if n, _ := h.ReadAt(b, 0); string(b[:n]) != want {
				t.Errorf("%s: %q, want %q", h.Path(), b[:n], want)
			}
		}
		look("old")
		sn := ns.Snapshot()
		ok(t, ns.Rename(nil, vfs.MustPath(top+"/a/b"), nil, vfs.MustPath(top+"/c/b")))
		look("new")
		ok(t, ns.Rename(nil, vfs.MustPath(top+"/c"), nil, vfs.MustPath(top+"/d")))
		look("new")
		if want := top + "/d/b"; at.Path() != want {
			t.Errorf("it is %s, want %s", at.Path(), want)
		}
		if top != "/mnt/host" {
			ok(t, ns.Restore(sn))
			look("old")
			if want := top + "/a/b"; at.Path() != want {
				t.Errorf("it is %s again, want %s", at.Path(), want)
			}
		}
		ok(t, at.Close())
	}
}

// TestQuotaRandom runs random programs in little space and counts after each step, also across snapshots.
func TestQuotaRandom(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		template := must(vfs.NewTemplate(vfs.Config{Mounts: []vfs.Mount{{Path: "/o", FS: ioFS(t), Mode: vfs.ModeOverlay}}}))
		ns := template.New(vfs.Options{Bytes: 300_000, Inodes: 30})
		ok(t, ns.MkdirAll(workDir))
		p := &program{data: randomProgram(seed+500, 400)}
		var snaps []*vfs.Snapshot
		var files [4]file
		for len(p.data) > 10 {
			op, args := p.next(20), [6]int{}
			name, name2, text := p.name(), p.name(), p.text()
			for k := range args {
				args[k] = p.next(256)
			}
			if op == 0 && r.IntN(3) == 0 { // something in the overlay
				name, name2 = "../../../../../../../../../../../o/dir/"+name, "../../../../../../../../../../../o/"+name2
			}
			p.step(ours{ns}, &files, op, args, name, name2, text)
			switch r.IntN(40) {
			case 0:
				snaps = append(snaps, ns.Snapshot())
			case 1:
				if len(snaps) > 0 {
					ok(t, ns.Restore(snaps[r.IntN(len(snaps))]))
				}
			case 2:
				clone := must(template.FromSnapshot(ns.Snapshot(), vfs.Options{Bytes: 300_000, Inodes: 30}))
				if err := clone.Recount(); err != nil {
					t.Fatalf("clone: %v", err)
				}
				for i := range files {
					if files[i] != nil {
						files[i].Close()
						files[i] = nil
					}
				}
				ns = clone
			}
			if err := ns.Recount(); err != nil {
				t.Fatalf("seed %d: op %d %s %s: %v", seed, op, name, name2, err)
			}
			if u := ns.Usage(); u.Bytes > 300_000 || u.Inodes > 30+1 {
				t.Fatalf("seed %d: over the quota: %+v", seed, u)
			}
		}
	}
}

// TestSnapshot takes snapshots during random programs and checks that each comes back as it was.
func TestSnapshot(t *testing.T) {
	for seed := range uint64(16) {
		a, _ := pair(t, []string{"memory", "overlay"}[seed%2])
		type saved struct {
			s    *vfs.Snapshot
			tree map[string]string
			use  vfs.Usage
		}
		var all []saved
		r := rand.New(rand.NewPCG(seed, 9))
		for range 12 {
			p := &program{data: randomProgram(r.Uint64(), 60)}
			var files [4]file
			for len(p.data) > 0 {
				op, args := p.next(20), [6]int{}
				name, name2, text := p.name(), p.name(), p.text()
				for k := range args {
					args[k] = p.next(256)
				}
				p.step(a, &files, op, args, name, name2, text)
			}
			for _, f := range files {
				if f != nil {
					f.Close()
				}
			}
			all = append(all, saved{a.ns.Snapshot(), tree(t, must(a.ns.FS("/"))), a.ns.Usage()})
			if back := all[r.IntN(len(all))]; r.IntN(3) == 0 {
				ok(t, a.ns.Restore(back.s))
				if d := diff(tree(t, must(a.ns.FS("/"))), back.tree); d != "" {
					t.Fatalf("restored differently: %s", d)
				}
			}
			recount(t, a.ns)
		}
		var wg sync.WaitGroup
		for _, s := range all {
			wg.Go(func() { // copies are independent, also of those in other goroutines
				clone, err := ours.template(a).FromSnapshot(s.s, vfs.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if d := diff(tree(t, must(clone.FS("/"))), s.tree); d != "" || clone.Usage() != s.use || s.s.Usage() != s.use {
					t.Errorf("copied differently: %s, %+v, %+v", d, clone.Usage(), s.use)
				}
				for name, what := range s.tree {
					if what[0] >= '0' && what[0] <= '9' {
						if err := clone.WriteFile("/"+name, []byte("new")); err != nil {
							t.Error(err)
						}
					}
				}
				if err := clone.Recount(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		last := all[len(all)-1]
		ok(t, a.ns.Restore(last.s))
		if d := diff(tree(t, must(a.ns.FS("/"))), last.tree); d != "" {
			t.Fatalf("changed by a copy: %s", d)
		}
	}
}

func (o ours) template() *vfs.Template { return o.ns.Template() }

// TestRestoreHandles is what Handle promises about restores.
func TestRestoreHandles(t *testing.T) {
	ns := memory(t, 0, 0)
	text := func(h *vfs.Handle) string {
		t.Helper()
		b, err := io.ReadAll(io.NewSectionReader(h, 0, 1000))
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	kept := openFile(t, ns, "/data/kept", rwc)
	must(kept.WriteAt([]byte("before"), 0))
	gone := openFile(t, ns, "/data/gone", rwc)
	must(gone.WriteAt([]byte("unlinked before"), 0))
	gone2 := openFile(t, ns, "/data/gone", vfs.OpenRead)
	ok(t, ns.Unlink(nil, vfs.MustPath("/data/gone")))
	dir := openFile(t, ns, "/data", vfs.OpenDirectory)
	dir2 := openFile(t, ns, "/data", vfs.OpenDirectory)
	snap := ns.Snapshot()

	must(kept.WriteAt([]byte("after the snapshot"), 0))
	ok(t, ns.Unlink(nil, vfs.MustPath("/data/kept")))
	ok(t, gone.Close())
	ok(t, dir.Close())
	late := openFile(t, ns, "/data/late", rwc)
	must(late.WriteAt([]byte("late"), 0))
	ok(t, ns.Mkdir(nil, vfs.MustPath("/data/latedir")))
	lateDir := openFile(t, ns, "/data/latedir", vfs.OpenDirectory)

	ok(t, ns.Restore(snap))
	recount(t, ns)
	if got := text(kept); got != "before" {
		t.Errorf("kept reads %q", got)
	}
	if st := must(kept.Stat()); st.Nlink != 1 || st.Size != 6 {
		t.Errorf("kept: %+v", st)
	}
	if got := text(gone2); got != "unlinked before" {
		t.Errorf("a file without a name reads %q", got)
	}
	if got := text(late); got != vfs.ErrStale.Error() {
		t.Errorf("a later file reads %q", got)
	}
	if _, err := late.WriteAt([]byte("x"), 0); err != vfs.ErrStale {
		t.Errorf("writing a later file: %v", err)
	}
	if _, err := lateDir.Entries(true); err != vfs.ErrStale && err != vfs.ErrNotExist {
		t.Errorf("listing a later folder: %v", err)
	}
	if _, err := ns.Open(lateDir, vfs.MustPath("x"), rwc); err != vfs.ErrNotExist {
		t.Errorf("creating in a later folder: %v", err)
	}
	// A number is never given out again, so that the handle of a file that never was stays stale.
	for i := range 10 {
		ok(t, ns.WriteFile(fmt.Sprintf("/data/new%d", i), []byte("new")))
	}
	if got := text(late); got != vfs.ErrStale.Error() {
		t.Errorf("a later file reads %q", got)
	}
	if list := must(dir2.Entries(true)); len(list) != 2+11 {
		t.Errorf("a folder lists %v", list)
	}
	for _, h := range []*vfs.Handle{kept, gone2, late, dir2, lateDir} {
		ok(t, h.Close())
	}
	recount(t, ns)

	// Without a handle the file without a name goes.
	ok(t, ns.Restore(snap))
	recount(t, ns)
	other := namespace(t, vfs.Config{Layout: true}, vfs.Options{})
	if err := other.Restore(snap); err == nil {
		t.Error("restored in a namespace of another template")
	}
}

// TestFromSnapshot changes a namespace and its fork, and looks that neither changes the other.
func TestFromSnapshot(t *testing.T) {
	template := must(vfs.NewTemplate(vfs.Config{Layout: true, Mounts: []vfs.Mount{
		{Path: "/o", FS: hostDir(t, filledDir(t), false), Mode: vfs.ModeOverlay}}}))
	ns := template.New(vfs.Options{})
	defer ns.Close()
	ok(t, ns.WriteFile("/data/f", []byte("memory")))
	ok(t, ns.WriteFile("/o/empty", []byte("copied up")))
	named := ns.Usage()
	unnamed := openFile(t, ns, "/data/unnamed", rwc)
	must(unnamed.WriteAt([]byte("no name"), 0))
	ok(t, ns.Unlink(nil, vfs.MustPath("/data/unnamed")))

	fork := must(template.FromSnapshot(ns.Snapshot(), vfs.Options{}))
	defer fork.Close()
	recount(t, fork)
	if u := fork.Usage(); u != named {
		t.Errorf("the fork holds %+v, want %+v: nothing leads to the file without a name", u, named)
	}
	if u := fork.Peak(); u != named {
		t.Errorf("the fork held %+v at most, want %+v", u, named)
	}
	ok(t, fork.WriteFile("/data/f", []byte("changed in the fork")))
	ok(t, ns.WriteFile("/o/empty", []byte("changed later")))
	for _, c := range []struct {
		ns         *vfs.Namespace
		path, want string
	}{{ns, "/data/f", "memory"}, {fork, "/data/f", "changed in the fork"}, {ns, "/o/empty", "changed later"}, {fork, "/o/empty", "copied up"}} {
		if b := must(c.ns.ReadFile(c.path, 100)); string(b) != c.want {
			t.Errorf("%s: %q, want %q", c.path, b, c.want)
		}
	}
	if b, err := io.ReadAll(io.NewSectionReader(unnamed, 0, 100)); string(b) != "no name" || err != nil {
		t.Errorf("the file without a name: %q, %v", b, err)
	}
	ok(t, unnamed.Close())
	recount(t, ns)
}

// TestListingMemory opens many folders and lists them all.
func TestListingMemory(t *testing.T) {
	ns := memory(t, 0, 0)
	const files = 20_000
	for i := range files {
		ok(t, openFile(t, ns, fmt.Sprintf("/data/%d", i), rwc).Close())
	}
	var handles []*vfs.Handle
	for range 40 {
		h := openFile(t, ns, "/data", vfs.OpenDirectory)
		if n := len(must(h.Entries(true))); n != files+2 {
			t.Fatalf("%d entries", n)
		}
		handles = append(handles, h)
		if held := ns.Listed(); held > 1<<18+files {
			t.Fatalf("%d entries are kept", held)
		}
	}
	for _, h := range handles { // one that was dropped is taken again
		if n := len(must(h.Entries(false))); n != files+2 {
			t.Fatalf("%d entries", n)
		}
		ok(t, h.Close())
	}
	if held := ns.Listed(); held != 0 {
		t.Errorf("%d entries are kept by no one", held)
	}
}

// TestLargeFolder makes, finds and removes many names in several orders.
func TestLargeFolder(t *testing.T) {
	const n = 3000
	orders := map[string]func(i int) int{
		"rising": func(i int) int { return i }, "falling": func(i int) int { return n - i }, "mixed": func(i int) int { return i * 7919 % 3001 }}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			ns := memory(t, 0, 0)
			for i := range n {
				ok(t, openFile(t, ns, fmt.Sprintf("/data/f%05d", order(i)), rwc|vfs.OpenExclusive).Close())
			}
			snap := ns.Snapshot()
			list := must(must(ns.Open(nil, vfs.MustPath("/data"), 0)).Entries(true))
			if len(list) != n+2 {
				t.Fatalf("%d entries", len(list))
			}
			for i := range n {
				p := vfs.MustPath(fmt.Sprintf("/data/f%05d", order((i*13)%n)))
				ok(t, ns.Unlink(nil, p))
				if _, err := ns.Stat(nil, p, false); err != vfs.ErrNotExist {
					t.Fatal(err)
				}
			}
			recount(t, ns)
			ok(t, ns.Restore(snap))
			recount(t, ns)
			if again := must(must(ns.Open(nil, vfs.MustPath("/data"), 0)).Entries(true)); len(again) != n+2 {
				t.Fatalf("%d entries", len(again))
			}
		})
	}
}

func TestClock(t *testing.T) {
	now := int64(1_000)
	template := must(vfs.NewTemplate(vfs.Config{Layout: true}))
	ns := template.New(vfs.Options{Now: func() int64 { return now }})
	for _, name := range []string{"/", "/data", "/tmp", "/mnt"} {
		if st := must(ns.Stat(nil, vfs.MustPath(name), true)); st.Mtime != 1_000 || st.Ctime != 1_000 || st.Atime != 1_000 {
			t.Errorf("%s: %+v", name, st)
		}
	}
	now = 2_000
	ok(t, ns.WriteFile("/data/f", []byte("x")))
	if st := must(ns.Stat(nil, vfs.MustPath("/data/f"), true)); st.Mtime != 2_000 {
		t.Errorf("%+v", st)
	}
	if st := must(ns.Stat(nil, vfs.MustPath("/data"), true)); st.Mtime != 2_000 || st.Atime != 1_000 {
		t.Errorf("%+v", st)
	}
	ok(t, ns.SetTimes(nil, vfs.MustPath("/data"), true, vfs.Times{Mtime: 0, Flags: vfs.SetMtime}))
	if st := must(ns.Stat(nil, vfs.MustPath("/data"), true)); st.Mtime != 0 || st.Ctime != 2_000 {
		t.Errorf("%+v", st)
	}
}
