//go:build linux

package vfs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

func TestHostGrowth(t *testing.T) {
	dir := t.TempDir()
	h, err := vfs.OpenHostDir(dir, vfs.HostDirOptions{Write: true, GrowBytes: 10_000})
	ok(t, err)
	defer h.Close()
	ns := mounted(t, h, vfs.ModeReadWrite)
	f := openFile(t, ns, "/mnt/x/f", rwc)
	if n, err := f.WriteAt(make([]byte, 8_000), 0); n != 8_000 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := f.WriteAt(make([]byte, 8_000), 0); n != 8_000 || err != nil {
		t.Errorf("overwriting: %d, %v", n, err)
	}
	if n, _, err := f.Append(make([]byte, 8_000)); n != 2_000 || err != vfs.ErrNoSpace {
		t.Errorf("past the budget: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("x"), 20_000); n != 0 || err != vfs.ErrNoSpace {
		t.Errorf("past the budget: %d, %v", n, err)
	}
	for _, err := range []error{f.Truncate(10_001), f.Allocate(0, 10_001)} {
		if err != vfs.ErrNoSpace {
			t.Errorf("past the budget: %v", err)
		}
	}
	ok(t, f.Truncate(4_000))
	ok(t, f.Truncate(10_000))
	ok(t, f.Close())
	ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/f")))
	ok(t, ns.WriteFile("/mnt/x/g", make([]byte, 10_000)))
	ok(t, ns.Link(nil, vfs.MustPath("/mnt/x/g"), false, nil, vfs.MustPath("/mnt/x/g2")))
	ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/g2")))
	if err := ns.WriteFile("/mnt/x/h", []byte("x")); err != vfs.ErrNoSpace {
		t.Errorf("past the budget: %v", err)
	}
	ok(t, ns.Rename(nil, vfs.MustPath("/mnt/x/h"), nil, vfs.MustPath("/mnt/x/g")))
	ok(t, ns.WriteFile("/mnt/x/h", make([]byte, 10_000)))
	if st := must(os.Stat(dir + "/h")); st.Size() != 10_000 {
		t.Error(st.Size())
	}
}

// A file that has no name any more keeps what it has as long as a handle has it open.
func TestHostGrowthOfUnlinked(t *testing.T) {
	h, err := vfs.OpenHostDir(t.TempDir(), vfs.HostDirOptions{Write: true, GrowBytes: 10_000})
	ok(t, err)
	defer h.Close()
	ns := mounted(t, h, vfs.ModeReadWrite)
	full := func(when string, want bool) {
		t.Helper()
		err := ns.WriteFile("/mnt/x/probe", make([]byte, 1_000))
		if (err == vfs.ErrNoSpace) != want {
			t.Errorf("%s: %v", when, err)
		}
		ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/probe")))
	}
	f := openFile(t, ns, "/mnt/x/f", rwc)
	must(f.WriteAt(make([]byte, 9_500), 0))
	again := openFile(t, ns, "/mnt/x/f", vfs.OpenRead)
	ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/f")))
	full("unlinked while open", true)
	ok(t, f.Truncate(9_000))
	ok(t, f.Close())
	full("one handle left", false)
	must(0, ns.WriteFile("/mnt/x/rest", make([]byte, 500)))
	full("one handle left", true)
	ok(t, again.Close())
	full("closed", false)

	g := openFile(t, ns, "/mnt/x/g", rwc)
	must(g.WriteAt(make([]byte, 9_500), 0))
	ok(t, ns.Rename(nil, vfs.MustPath("/mnt/x/rest"), nil, vfs.MustPath("/mnt/x/g")))
	full("renamed over while open", true)
	ok(t, g.Close())
	full("closed", false)
}

// What was there before the mount is not the guest's to give: cutting or deleting it makes no room.
func TestHostGrowthOfOthersFiles(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.WriteFile(dir+"/f", make([]byte, 50_000), 0o644))
	ok(t, os.WriteFile(dir+"/g", make([]byte, 50_000), 0o644))
	h, err := vfs.OpenHostDir(dir, vfs.HostDirOptions{Write: true, GrowBytes: 10_000})
	ok(t, err)
	defer h.Close()
	ns := mounted(t, h, vfs.ModeReadWrite)
	f := openFile(t, ns, "/mnt/x/f", rwc)
	must(f.WriteAt(make([]byte, 2_000), 49_000))
	if u := h.Grown(); u.Bytes != 1_000 {
		t.Errorf("one byte in two was new: %d", u.Bytes)
	}
	ok(t, f.Truncate(50_500))
	if u := h.Grown(); u.Bytes != 500 {
		t.Errorf("half of that came back: %d", u.Bytes)
	}
	ok(t, f.Truncate(0))
	ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/g")))
	if n, err := f.WriteAt(make([]byte, 20_000), 0); n != 10_000 || err != vfs.ErrNoSpace {
		t.Errorf("in the place of what others wrote: %d, %v", n, err)
	}
}

// Writes inside of a file that others made cost nothing, though they are not asked about one by one; and what others cut away
// is not the guest's to write again.
func TestHostGrowthOverwriting(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"f", "g"} {
		ok(t, os.WriteFile(dir+"/"+name, make([]byte, 8_000), 0o644))
	}
	h, err := vfs.OpenHostDir(dir, vfs.HostDirOptions{Write: true, GrowBytes: 10_000})
	ok(t, err)
	defer h.Close()
	ns := mounted(t, h, vfs.ModeReadWrite)
	used := func(when string, want int64) {
		t.Helper()
		if u := h.Grown(); u.Bytes != want {
			t.Errorf("%s: %d bytes used, want %d", when, u.Bytes, want)
		}
	}
	f, g := openFile(t, ns, "/mnt/x/f", rwc), openFile(t, ns, "/mnt/x/g", rwc)
	overwrite := func(f *vfs.Handle) {
		for off := int64(0); off < 8_000; off += 100 {
			must(f.WriteAt(make([]byte, 100), off))
		}
	}
	overwrite(f)
	used("one file", 0)
	overwrite(f)
	overwrite(g)
	must(0, ns.WriteFile("/mnt/x/h", make([]byte, 10_000)))
	used("both, and a new file that takes all", 10_000)
	overwrite(f)
	overwrite(g)
	ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/h")))
	used("and removed", 0)

	must(f.WriteAt([]byte("x"), 100)) // now it is known how long it is
	ok(t, os.Truncate(dir+"/f", 0))
	must(f.WriteAt([]byte("x"), 200))
	used("cut by others", 201)
	overwrite(f)
	used("all again", 8_000)
	ok(t, os.Truncate(dir+"/g", 0))
	if n, err := g.WriteAt(make([]byte, 8_000), 0); n != 2_000 || err != vfs.ErrNoSpace {
		t.Errorf("in the place of what others wrote: %d, %v", n, err)
	}
	ok(t, g.Close())
	ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/g")))
	used("removed", 8_000)

	must(0, os.WriteFile(dir+"/i", make([]byte, 8_000), 0o644))
	i := openFile(t, ns, "/mnt/x/i", rwc)
	must(i.WriteAt([]byte("x"), 100))
	ok(t, os.Truncate(dir+"/i", 0))
	if n, err := i.WriteAt([]byte("x"), 1_999); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := i.WriteAt([]byte("xx"), 2_000); n != 0 || err != vfs.ErrNoSpace {
		t.Error(n, err)
	}
	ok(t, i.Close())
	used("closed", 10_000)
}

// growthModel is a folder with files of guests, who have bounds, and of the host, who has none.
type growthModel struct {
	t       testing.TB
	r       *rand.Rand
	dir     string
	mounts  []*vfs.HostDir
	spaces  []*vfs.Namespace
	handles []*vfs.Handle
	foreign map[uint64]int64 // by inode: how much of its size nobody with a bound made
}

const growthBound = 3_000

func newGrowthModel(t testing.TB, seed uint64, mounts int) *growthModel {
	m := &growthModel{t: t, r: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), foreign: map[uint64]int64{}}
	for range mounts {
		h, err := vfs.OpenHostDir(m.dir, vfs.HostDirOptions{Write: true, GrowBytes: growthBound})
		ok(t, err)
		t.Cleanup(func() { h.Close() })
		m.mounts = append(m.mounts, h)
		m.spaces = append(m.spaces, mounted(t, h, vfs.ModeReadWrite))
	}
	return m
}

func (m *growthModel) name() string      { return fmt.Sprintf("f%d", m.r.IntN(4)) }
func (m *growthModel) path() vfs.Path    { return vfs.MustPath("/mnt/x/" + m.name()) }
func (m *growthModel) length() int64     { return m.r.Int64N(1_500) }
func (m *growthModel) of(n int64) []byte { return make([]byte, n) }

// guest does something as a guest can. That it fails is as good as that it does not.
func (m *growthModel) guest() string {
	ns := m.spaces[m.r.IntN(len(m.spaces))]
	if op := m.r.IntN(10); op < 4 || len(m.handles) == 0 {
		p := m.path()
		switch {
		case op == 0:
			return fmt.Sprint("unlink ", p, ns.Unlink(nil, p))
		case op == 1:
			q := m.path()
			return fmt.Sprint("rename ", p, q, ns.Rename(nil, p, nil, q))
		case op == 2:
			q := m.path()
			return fmt.Sprint("link ", p, q, ns.Link(nil, p, false, nil, q))
		case len(m.handles) == 6:
			return m.closeOne()
		}
		flags := vfs.OpenRead | vfs.OpenWrite | []vfs.OpenFlags{0, vfs.OpenCreate, vfs.OpenCreate | vfs.OpenTruncate}[m.r.IntN(3)]
		h, err := ns.Open(nil, p, flags)
		if err == nil {
			m.handles = append(m.handles, h)
		}
		return fmt.Sprint("open ", p, flags, err)
	}
	h := m.handles[m.r.IntN(len(m.handles))]
	off, n := m.length(), m.length()
	switch m.r.IntN(5) {
	case 0:
		_, _, err := h.Append(m.of(n))
		return fmt.Sprint("append ", h.Path(), n, err)
	case 1:
		return fmt.Sprint("truncate ", h.Path(), off, h.Truncate(off))
	case 2:
		return fmt.Sprint("allocate ", h.Path(), off, n, h.Allocate(off, n))
	default:
		_, err := h.WriteAt(m.of(n), off)
		return fmt.Sprint("write ", h.Path(), off, n, err)
	}
}

func (m *growthModel) closeOne() string {
	i := m.r.IntN(len(m.handles))
	h := m.handles[i]
	m.handles = append(m.handles[:i], m.handles[i+1:]...)
	return fmt.Sprint("close ", h.Path(), h.Close())
}

// host does something as another program on the host.
func (m *growthModel) host() string {
	name := m.dir + "/" + m.name()
	switch m.r.IntN(4) {
	case 0:
		return fmt.Sprint("host removes ", name, os.Remove(name))
	case 1:
		to := m.dir + "/" + m.name()
		return fmt.Sprint("host renames ", name, to, os.Rename(name, to))
	}
	f := must(os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644))
	defer f.Close()
	fi := must(f.Stat())
	size := m.length()
	if more := size - fi.Size(); more > 0 {
		m.counted() // else it might hide that the file was cut before
		m.foreign[fi.Sys().(*syscall.Stat_t).Ino] += more
	}
	return fmt.Sprint("host truncates ", name, size, f.Truncate(size))
}

// sizes is the size of each file that is there, with a name or only open.
func (m *growthModel) sizes() map[uint64]int64 {
	out := map[uint64]int64{}
	for _, e := range must(os.ReadDir(m.dir)) {
		fi := must(e.Info())
		out[fi.Sys().(*syscall.Stat_t).Ino] = fi.Size()
	}
	for _, h := range m.handles {
		st := must(h.Stat())
		out[st.Ino] = st.Size
	}
	return out
}

// check returns how much is on the disk, how much of that nobody with a bound made, and how much the mounts counted.
func (m *growthModel) check() (size, foreign, paid int64) {
	size, foreign = m.onDisk()
	return size, foreign, m.counted()
}

func (m *growthModel) onDisk() (size, foreign int64) {
	sizes := m.sizes()
	for ino, n := range sizes {
		size += n
		m.foreign[ino] = min(m.foreign[ino], n)
		foreign += m.foreign[ino]
	}
	for ino := range m.foreign {
		if _, there := sizes[ino]; !there {
			delete(m.foreign, ino)
		}
	}
	return size, foreign
}

// counted ends all loans.
func (m *growthModel) counted() (paid int64) {
	for _, h := range m.mounts {
		used := h.Grown().Bytes
		if used > growthBound {
			m.t.Errorf("%d of %d bytes used", used, growthBound)
		}
		paid += used
	}
	return paid
}

// TestHostGrowthModel: whatever guests and the host do to the same files, what is on the disk is at most what the host
// made and what the mounts counted; and when one mount is alone, it counts neither more nor less.
func TestHostGrowthModel(t *testing.T) {
	for name, c := range map[string]struct {
		mounts int
		host   bool
	}{"alone": {1, false}, "two mounts": {2, false}, "with the host": {1, true}, "two mounts and the host": {2, true}} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				m := newGrowthModel(t, seed, c.mounts)
				var log []string
				for range 500 {
					what := ""
					if c.host && m.r.IntN(5) == 0 {
						what = m.host()
					} else {
						what = m.guest()
					}
					log = append(log, what)
					size, foreign := m.onDisk()
					if m.r.IntN(3) > 0 {
						continue
					}
					paid := m.counted()
					if size > foreign+paid || c.mounts == 1 && !c.host && size != paid {
						t.Fatalf("seed %d: %d bytes on disk, %d of the host, %d counted, after %d steps: %q", seed, size, foreign, paid, len(log), log[max(0, len(log)-30):])
					}
				}
				for len(m.handles) > 0 {
					m.closeOne()
				}
			}
		})
	}
}

// TestHostGrowthTogether: one guest cuts a file and has that given back, while another one, through a mount of its own, writes
// where the file was and would have nothing to pay.
func TestHostGrowthTogether(t *testing.T) {
	m := newGrowthModel(t, 0, 2)
	for round := range 2_000 {
		a := openFile(t, m.spaces[0], "/mnt/x/f", rwc)
		ok(t, a.Truncate(2_000))
		b := openFile(t, m.spaces[1], "/mnt/x/f", rwc)
		var wg sync.WaitGroup
		wg.Go(func() { a.Truncate(0) })
		wg.Go(func() { b.WriteAt([]byte("x"), 1_000) })
		wg.Wait()
		if size, _, paid := m.check(); size > paid {
			t.Fatalf("round %d: %d bytes on disk, %d counted", round, size, paid)
		}
		ok(t, b.Truncate(0))
		ok(t, a.Close())
		ok(t, b.Close())
	}
}
