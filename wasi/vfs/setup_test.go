package vfs_test

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
	"github.com/cloche-dev/cloche/wasi/vfs/vfstest"
)

func memory(t testing.TB, bytes, inodes int64) *vfs.Namespace {
	return namespace(t, vfs.Config{Layout: true}, vfs.Options{Bytes: bytes, Inodes: inodes})
}

func openFile(t testing.TB, ns *vfs.Namespace, name string, flags vfs.OpenFlags) *vfs.Handle {
	t.Helper()
	h, err := ns.Open(nil, vfs.MustPath(name), flags)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	return h
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func recount(t testing.TB, ns *vfs.Namespace) {
	t.Helper()
	if err := ns.Recount(); err != nil {
		t.Fatal(err)
	}
}

const rwc = vfs.OpenRead | vfs.OpenWrite | vfs.OpenCreate

func sum(b []byte) (h uint32) {
	for _, c := range b {
		h = h*31 + uint32(c)
	}
	return h
}

// tree describes all files below a folder.
func tree(t testing.TB, fsys fs.FS) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Type()&fs.ModeSymlink != 0:
			text, err := fs.ReadLink(fsys, name)
			m[name] = "-> " + text
			return err
		case e.IsDir():
			m[name] = "dir"
			return nil
		}
		b, err := fs.ReadFile(fsys, name)
		m[name] = fmt.Sprintf("%d %x", len(b), sum(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func diff(a, b map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s: %q, other %q", k, a[k], b[k]))
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, "only other: "+k)
		}
	}
	return strings.Join(out, "\n")
}

func runScript(t testing.TB, ns *vfs.Namespace, dir, text string) {
	t.Helper()
	vfstest.Script(t, ns, dir, text)
}
