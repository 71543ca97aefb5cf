package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

func sharedBy(t testing.TB, d *vfs.SharedDir) *vfs.Namespace {
	return mounted(t, d, vfs.ModeReadWrite)
}

func TestSharedDir(t *testing.T) {
	d := vfs.NewSharedDir(vfs.Options{Bytes: 10_000, Inodes: 20})
	a, b := sharedBy(t, d), sharedBy(t, d)
	state := a.Snapshot()
	ok(t, a.WriteFile("/mnt/x/f", []byte("from a")))
	if text := must(b.ReadFile("/mnt/x/f", 1<<20)); string(text) != "from a" {
		t.Errorf("b reads %q", text)
	}
	ok(t, a.Restore(state)) // takes back what is a's alone
	h := openFile(t, a, "/mnt/x/f", vfs.OpenRead)
	ok(t, b.WriteFile("/mnt/x/big", make([]byte, 9_000)))
	if err := a.WriteFile("/mnt/x/more", make([]byte, 9_000)); err != vfs.ErrNoSpace {
		t.Errorf("past what all may have: %v", err)
	}
	ok(t, b.Unlink(nil, vfs.MustPath("/mnt/x/f")))
	if text, err := io.ReadAll(io.NewSectionReader(h, 0, 100)); string(text) != "from a" {
		t.Errorf("an open file that another one has removed: %q, %v", text, err)
	}
	ok(t, h.Close())
	if _, err := a.Stat(nil, vfs.MustPath("/mnt/x/f"), true); err != vfs.ErrNotExist {
		t.Error(err)
	}
	ok(t, a.Unlink(nil, vfs.MustPath("/mnt/x/big")))
	ok(t, a.Unlink(nil, vfs.MustPath("/mnt/x/more")))
	if u := d.Used(); u != (vfs.Usage{}) {
		t.Errorf("%+v is left of nothing", u)
	}
}

func TestSharedDirAppendOnly(t *testing.T) {
	d := vfs.NewSharedDir(vfs.Options{})
	owner, ns := sharedBy(t, d), sharedBy(t, d.AppendOnly())
	p := func(name string) vfs.Path { return vfs.MustPath("/mnt/x/" + name) }
	ok(t, owner.WriteFile("/mnt/x/old", []byte("old")))
	h := openFile(t, ns, "/mnt/x/new", rwc|vfs.OpenTruncate)
	must(h.WriteAt([]byte("one"), 0))
	must(h.WriteAt([]byte("two"), 3))
	ok(t, ns.Mkdir(nil, p("folder")))
	ok(t, ns.WriteFile("/mnt/x/folder/f", []byte("f")))
	appended := openFile(t, ns, "/mnt/x/old", vfs.OpenWrite)
	_, _, err := appended.Append([]byte(" and new"))
	ok(t, err)
	truncated := func(name string) error {
		_, err := ns.Open(nil, p(name), vfs.OpenWrite|vfs.OpenTruncate)
		return err
	}
	over := func(off int64) error {
		n, err := h.WriteAt([]byte("x"), off)
		if n != 0 {
			t.Errorf("%d bytes written at %d", n, off)
		}
		return err
	}
	for what, err := range map[string]error{
		"overwrite": over(0), "overwrite the last byte": over(5), "leave a gap": over(7), "truncate": h.Truncate(0), "grow": h.Truncate(10), "allocate": h.Allocate(0, 100),
		"open to cut": truncated("old"), "unlink": ns.Unlink(nil, p("old")), "rmdir": ns.Rmdir(nil, p("folder")), "rename": ns.Rename(nil, p("old"), nil, p("older")),
		"rename over": ns.Rename(nil, p("new"), nil, p("old")), "link": ns.Link(nil, p("old"), false, nil, p("second")),
		"times": ns.SetTimes(nil, p("old"), true, vfs.Times{Flags: vfs.SetMtimeNow}), "times of a handle": h.SetTimes(vfs.Times{Flags: vfs.SetMtimeNow}),
	} {
		if err != vfs.ErrPerm {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := ns.Open(nil, p("old"), rwc|vfs.OpenExclusive); err != vfs.ErrExist {
		t.Errorf("exclusive: %v", err)
	}
	for name, want := range map[string]string{"old": "old and new", "new": "onetwo", "folder/f": "f"} {
		if text := must(owner.ReadFile("/mnt/x/"+name, 1<<20)); string(text) != want {
			t.Errorf("%s is %q, want %q", name, text, want)
		}
	}
}

// TestSharedDirTogether: many at once append lines to one file, take a lock by making a file, and make and remove files and folders under
// each other's feet.
func TestSharedDirTogether(t *testing.T) {
	const people, rounds = 6, 300
	d := vfs.NewSharedDir(vfs.Options{})
	inside, counted := 0, 0
	var wg sync.WaitGroup
	for i := range people {
		ns := sharedBy(t, d)
		wg.Go(func() {
			log := openFile(t, ns, "/mnt/x/log", rwc)
			defer log.Close()
			for range rounds {
				if _, _, err := log.Append(fmt.Appendf(nil, "%c%s\n", 'a'+i, bytes.Repeat([]byte{'a' + byte(i)}, 40*i))); err != nil {
					t.Error(err)
				}
				lock, err := ns.Open(nil, vfs.MustPath("/mnt/x/lock"), rwc|vfs.OpenExclusive)
				if err == nil {
					if inside++; inside != 1 { // the race detector looks, too
						t.Error("two have the lock")
					}
					counted++
					inside--
					ok(t, lock.Close())
					ok(t, ns.Unlink(nil, vfs.MustPath("/mnt/x/lock")))
				} else if err != vfs.ErrExist {
					t.Error(err)
				}
				_ = ns.Mkdir(nil, vfs.MustPath("/mnt/x/sub"))
				_ = ns.WriteFile("/mnt/x/sub/f", []byte("x"))
				if h, err := ns.Open(nil, vfs.MustPath("/mnt/x/sub"), vfs.OpenDirectory); err == nil {
					_, _ = h.Entries(true)
					_ = h.Close()
				}
				_ = ns.Rename(nil, vfs.MustPath("/mnt/x/sub/f"), nil, vfs.MustPath("/mnt/x/g"))
				_ = ns.Unlink(nil, vfs.MustPath("/mnt/x/g"))
				if err := ns.Rmdir(nil, vfs.MustPath("/mnt/x/sub")); err != nil && !errors.Is(err, vfs.ErrNotEmpty) && !errors.Is(err, vfs.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if counted == 0 {
		t.Error("nobody had the lock")
	}
	ns := sharedBy(t, d)
	lines := bytes.Split(bytes.TrimSuffix(must(ns.ReadFile("/mnt/x/log", 1<<20)), []byte("\n")), []byte("\n"))
	if len(lines) != people*rounds {
		t.Errorf("%d lines, want %d", len(lines), people*rounds)
	}
	for _, line := range lines {
		if len(line) != 1+40*int(line[0]-'a') || len(bytes.Trim(line, string(line[:1]))) != 0 {
			t.Fatalf("a line is mixed: %q", line)
		}
	}
	for _, name := range []string{"sub/f", "g", "log"} {
		_ = ns.Unlink(nil, vfs.MustPath("/mnt/x/"+name))
	}
	_ = ns.Rmdir(nil, vfs.MustPath("/mnt/x/sub"))
	if u := d.Used(); u != (vfs.Usage{}) {
		t.Errorf("%+v is left of nothing", u)
	}
}
