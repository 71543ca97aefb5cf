//go:build linux

package vfs_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// describe writes changes on one line each: op, path, former path, size, whether renamed files were modified.
func describe(list []vfs.Change) string {
	var lines []string
	for _, c := range list {
		s := fmt.Sprintf("%s %s", c.Op, c.Path)
		if c.From != "" {
			s += " from " + c.From
		}
		if c.Kind != vfs.KindDir && c.Op != vfs.OpDeleted {
			s += fmt.Sprintf(" %d", c.Size)
		}
		if c.Op == vfs.OpRenamed && c.Modified {
			s += " modified"
		}
		if c.Kind == vfs.KindDir {
			s += "/"
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "; ")
}

// TestChanges runs scripts and compares what is reported, in memory and in a folder of the host. The folder starts
// with keep, old, gone, d/x and d/y.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name, script, want string
		host, overlay      string // where the report differs; "?" where it cannot be done
	}{
		{name: "nothing"},
		{name: "create", script: "write new abc", want: "created new 3"},
		{name: "create empty", script: "create new", want: "created new 0"},
		{name: "modify", script: "write old xyz", want: "modified old 3"},
		{name: "append", script: "append old xyz", want: "modified old 6"},
		{name: "truncate", script: "truncate old 1", want: "modified old 1"},
		{name: "grow", script: "truncate old 10", want: "modified old 10"},
		{name: "delete", script: "unlink gone", want: "deleted gone"},
		{name: "create and delete", script: "write new abc\nunlink new"},
		{name: "rename", script: "rename old new", want: "renamed new from old 3"},
		{name: "rename and modify", script: "rename old new\nappend new x", want: "renamed new from old 4 modified"},
		{name: "modify and rename", script: "append old x\nrename old new", want: "renamed new from old 4 modified"},
		{name: "there and back", script: "rename old new\nrename new old"},
		{name: "twice", script: "rename old new\nrename new newer", want: "renamed newer from old 3"},
		{name: "write and move over", script: "write tmp abcde\nrename tmp old", want: "modified old 5"},
		{name: "move over", script: "rename keep old", want: "deleted keep; modified old 3"},
		{name: "delete and make", script: "unlink old\nwrite old abcd", want: "modified old 4"},
		{name: "move away and make", script: "rename old new\nwrite old abcd", want: "created new 3; modified old 4", host: "created new 3; modified old 4"},
		{name: "folders", script: "mkdir e\nwrite e/f abc\nmkdir e/g", want: "created e/; created e/f 3; created e/g/"},
		{name: "remove a folder", script: "unlink d/x\nunlink d/y\nrmdir d", want: "deleted d/; deleted d/x; deleted d/y", host: "deleted d; deleted d/x; deleted d/y"},
		{name: "rename a folder", script: "rename d e", want: "renamed e from d/; renamed e/x from d/x 1; renamed e/y from d/y 1", host: "renamed e from d/", overlay: "?"},
		{name: "rename a folder and modify in it", script: "append d/x !\nrename d e\nappend e/y !\nwrite e/z abc",
			want: "renamed e from d/; renamed e/x from d/x 2 modified; renamed e/y from d/y 2 modified; created e/z 3",
			host: "renamed e from d/; renamed e/x from d/x 2 modified; modified e/y 2; created e/z 3", overlay: "?"},
		{name: "links", script: "symlink old l\nlink old h", want: "created h 3; created l 3"},
		{name: "times", script: "", want: ""},
	} {
		for _, kind := range []string{"memory", "host", "overlay"} {
			want := c.want
			if kind == "host" && c.host != "" {
				want = c.host
			}
			if kind == "overlay" && c.overlay != "" {
				want = c.overlay
			}
			if want == "?" {
				continue
			}
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				var ns *vfs.Namespace
				dir := "/mnt/x"
				lower := t.TempDir()
				fill := func(ns *vfs.Namespace, dir string) {
					for name, text := range map[string]string{"keep": "abc", "old": "abc", "gone": "abc", "d/x": "x", "d/y": "y"} {
						ok(t, ns.WriteFile(dir+"/"+name, []byte(text)))
					}
				}
				switch kind {
				case "memory":
					ns, dir = memory(t, 0, 0), "/data"
					fill(ns, dir)
				case "host":
					ns = mounted(t, hostDir(t, lower, true), vfs.ModeReadWrite)
					fill(ns, dir)
				case "overlay":
					fill(mounted(t, hostDir(t, lower, true), vfs.ModeReadWrite), dir)
					ns = mounted(t, hostDir(t, lower, false), vfs.ModeOverlay)
				}
				m := ns.Mark()
				ok(t, ns.SetTimes(nil, vfs.MustPath(dir+"/d"), true, vfs.Times{Flags: vfs.SetMtimeNow}))
				runScript(t, ns, dir, c.script)
				list, complete := ns.Changes(m, vfs.MustPath("/data"))
				got := strings.ReplaceAll(describe(list), dir+"/", "")
				if got != want || !complete {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				if list, _ := ns.Changes(ns.Mark(), vfs.MustPath("/data")); len(list) > 0 {
					t.Errorf("changes since now: %v", list)
				}
			})
		}
	}
}

func TestChangesElsewhere(t *testing.T) {
	ns := memory(t, 0, 0)
	ok(t, ns.WriteFile("/tmp/moved", []byte("abc")))
	m := ns.Mark()
	ok(t, ns.WriteFile("/tmp/x", []byte("x")))
	ok(t, ns.MkdirAll("/home/user"))
	ok(t, ns.Rename(nil, vfs.MustPath("/tmp/moved"), nil, vfs.MustPath("/data/moved")))
	list, _ := ns.Changes(m, vfs.MustPath("/data"))
	if got := describe(list); got != "created /data/moved 3" {
		t.Error(got)
	}
	list, _ = ns.Changes(m, vfs.MustPath("/tmp"), vfs.MustPath("/home/"), vfs.MustPath("/none"))
	if got := describe(list); got != "created /home/user/; deleted /tmp/moved; created /tmp/x 1" {
		t.Error(got)
	}
	// A mark outlives a restore.
	snap := ns.Snapshot()
	ok(t, ns.Unlink(nil, vfs.MustPath("/data/moved")))
	ok(t, ns.Restore(snap))
	list, _ = ns.Changes(m, vfs.MustPath("/data"))
	if got := describe(list); got != "created /data/moved 3" {
		t.Error(got)
	}
}

// TestChangesApply checks reports of random programs: the files before, with the changes made to them, are the
// files after.
func TestChangesApply(t *testing.T) {
	for _, kind := range []string{"memory", "host", "overlay"} {
		for seed := range uint64(12) {
			a, _ := pair(t, kind)
			files := func() map[string]string {
				m := tree(t, must(a.ns.FS(workDir)))
				maps.DeleteFunc(m, func(_, what string) bool { return what == "dir" || strings.HasPrefix(what, "->") })
				return m
			}
			r := rand.New(rand.NewPCG(seed, 11))
			step := func(n int) {
				p := &program{data: randomProgram(r.Uint64(), n)}
				var open [4]file
				for len(p.data) > 0 {
					op, args := p.next(20), [6]int{}
					name, name2, text := p.name(), p.name(), p.text()
					for k := range args {
						args[k] = p.next(256)
					}
					if op == 7 { // links would lead changes to other paths
						op = 0
					}
					p.step(a, &open, op, args, name, name2, text)
				}
				for _, f := range open {
					if f != nil {
						f.Close()
					}
				}
			}
			step(60)
			before, m := files(), a.ns.Mark()
			step(40)
			after := files()
			list, _ := a.ns.Changes(m, vfs.MustPath("/p"))
			got := maps.Clone(before)
			for _, c := range list { // a renamed folder first, with all below it
				from, isBelow := strings.CutPrefix(c.From, workDir+"/")
				if c.Op == vfs.OpRenamed && c.Kind == vfs.KindDir && isBelow && kind == "host" {
					for name, what := range before {
						if rest, ok := strings.CutPrefix(name, from+"/"); ok {
							delete(got, name)
							got[strings.TrimPrefix(c.Path, workDir+"/")+"/"+rest] = what
						}
					}
				}
			}
			for _, c := range list {
				name := strings.TrimPrefix(c.Path, workDir+"/")
				switch c.Op {
				case vfs.OpDeleted:
					delete(got, name)
				case vfs.OpRenamed:
					if c.Kind == vfs.KindRegular {
						delete(got, strings.TrimPrefix(c.From, workDir+"/"))
					}
				}
			}
			for _, c := range list {
				if name := strings.TrimPrefix(c.Path, workDir+"/"); c.Op != vfs.OpDeleted && c.Kind == vfs.KindRegular {
					got[name] = after[name]
					if c.Op == vfs.OpRenamed && !c.Modified && after[name] != before[strings.TrimPrefix(c.From, workDir+"/")] {
						t.Fatalf("%s seed %d: %+v, but its contents differ", kind, seed, c)
					}
				}
			}
			if kind == "host" { // folders may have been renamed over each other: the report names what changed, not every file in them
				continue
			}
			if d := diff(got, after); d != "" {
				t.Fatalf("%s seed %d: the changes do not lead from before to after:\n%s\nbefore %v\n%s", kind, seed, d, slices.Sorted(maps.Keys(before)), describe(list))
			}
		}
	}
}

// TestChangesAreBounded: each file that changed has a path of its own, and all of them may lie below folders of long names that were moved
// deeper than a path can reach. Only some are listed then.
func TestChangesAreBounded(t *testing.T) {
	for dir, ns := range map[string]*vfs.Namespace{
		"/data": memory(t, 0, 0), "/mnt/x": mounted(t, hostDir(t, t.TempDir(), false), vfs.ModeOverlay),
	} {
		m := ns.Mark()
		a, b := dir+"/a", dir+"/b"
		ok(t, ns.MkdirAll(a))
		for i := range 9_000 {
			ok(t, ns.WriteFile(fmt.Sprint(a, "/", i), nil))
		}
		for range 200 {
			ok(t, ns.MkdirAll(b))
			ok(t, ns.Rename(nil, vfs.MustPath(a), nil, vfs.MustPath(b+"/"+strings.Repeat("\x01", 200))))
			ok(t, ns.Rename(nil, vfs.MustPath(b), nil, vfs.MustPath(a)))
		}
		list, complete := ns.Changes(m, vfs.MustPath("/data"))
		size := 0
		for _, c := range list {
			size += len(c.Path) + 5*strings.Count(c.Path, "\x01") // as JSON
		}
		if complete || len(list) == 0 || size > 16<<20 {
			t.Errorf("below %s: %d changes, %d bytes, complete: %v", dir, len(list), size, complete)
		}
		if list, complete = ns.Changes(ns.Mark(), vfs.MustPath("/data")); len(list) != 0 || !complete {
			t.Errorf("below %s, of nothing: %d changes, complete: %v", dir, len(list), complete)
		}
	}
}
