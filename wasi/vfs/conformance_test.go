package vfs_test

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cloche-dev/cloche/wasi/vfs"
	"github.com/cloche-dev/cloche/wasi/vfs/vfstest"
)

// namespace makes a namespace of its own for a test.
func namespace(t testing.TB, c vfs.Config, o vfs.Options) *vfs.Namespace {
	t.Helper()
	template, err := vfs.NewTemplate(c)
	if err != nil {
		t.Fatal(err)
	}
	ns := template.New(o)
	t.Cleanup(func() { ns.Close() })
	return ns
}

func mounted(t testing.TB, fs vfs.FS, mode vfs.Mode) *vfs.Namespace {
	t.Helper()
	return namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/mnt/x", FS: fs, Mode: mode}}}, vfs.Options{})
}

func hostDir(t testing.TB, dir string, write bool) *vfs.HostDir {
	t.Helper()
	h, err := vfs.OpenHostDir(dir, vfs.HostDirOptions{Write: write})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// filledDir is a folder of the host that holds vfstest.Files.
func filledDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(vfstest.Files)) {
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.Mkdir(filepath.Join(dir, name), 0o755)
		} else {
			err = os.WriteFile(filepath.Join(dir, name), []byte(vfstest.Files[name]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func filledMap() fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range vfstest.Files {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			m[dir] = &fstest.MapFile{Mode: os.ModeDir | 0o755}
		} else {
			m[name] = &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(1e9, 0)}
		}
	}
	return m
}

func filledZip(t testing.TB, method uint16, o vfs.ZipOptions) *vfs.ZipFS {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range vfstest.Files {
		h := &zip.FileHeader{Name: name, Method: method, Modified: time.Unix(1e9, 0)}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if _, err := f.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := vfs.NewZip(bytes.NewReader(b.Bytes()), int64(b.Len()), o)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func ioFS(t testing.TB) *vfs.IOFS {
	t.Helper()
	f, err := vfs.NewIOFS(filledMap())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConformance(t *testing.T) {
	configs := map[string]vfstest.Config{
		"memory": {Writable: true, Dir: "/data", New: func(t testing.TB) *vfs.Namespace {
			return namespace(t, vfs.Config{Layout: true}, vfs.Options{})
		}},
		"memory root": {Writable: true, Dir: "/", New: func(t testing.TB) *vfs.Namespace {
			return namespace(t, vfs.Config{}, vfs.Options{})
		}},
		"host folder": {Writable: true, Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, hostDir(t, t.TempDir(), true), vfs.ModeReadWrite)
		}},
		"host root": {Writable: true, Dir: "/", New: func(t testing.TB) *vfs.Namespace {
			return namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/", FS: hostDir(t, t.TempDir(), true), Mode: vfs.ModeReadWrite}}}, vfs.Options{})
		}},
		"shared": {Writable: true, Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, vfs.NewSharedDir(vfs.Options{}), vfs.ModeReadWrite)
		}},
		"host folder, read-only": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, hostDir(t, filledDir(t), false), vfs.ModeReadOnly)
		}},
		"host folder, mounted read-only": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace { return mounted(t, hostDir(t, filledDir(t), true), vfs.ModeReadOnly) }},
		"fs.FS":                          {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace { return mounted(t, ioFS(t), vfs.ModeReadOnly) }},
		"fs.FS, seeking": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, must(vfs.NewIOFS(plainFS{filledMap(), true})), vfs.ModeReadOnly)
		}},
		"fs.FS, streaming": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, must(vfs.NewIOFS(plainFS{filledMap(), false})), vfs.ModeReadOnly)
		}},
		"zip, stored": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, filledZip(t, zip.Store, vfs.ZipOptions{}), vfs.ModeReadOnly)
		}},
		"zip, deflated": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, filledZip(t, zip.Deflate, vfs.ZipOptions{}), vfs.ModeReadOnly)
		}},
		"zip, no cache": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, filledZip(t, zip.Deflate, vfs.ZipOptions{CacheBytes: -1}), vfs.ModeReadOnly)
		}},
		"zip, small cache": {Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, filledZip(t, zip.Deflate, vfs.ZipOptions{CacheBytes: 200_000}), vfs.ModeReadOnly)
		}},
		"overlay over nothing": {Writable: true, Dir: "/mnt/x", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, hostDir(t, t.TempDir(), false), vfs.ModeOverlay)
		}},
		"overlay below a folder": {Writable: true, Dir: "/mnt/x/vacant", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, hostDir(t, filledDir(t), false), vfs.ModeOverlay)
		}},
		"overlay over a zip": {Writable: true, Dir: "/mnt/x/vacant", New: func(t testing.TB) *vfs.Namespace {
			return mounted(t, filledZip(t, zip.Deflate, vfs.ZipOptions{}), vfs.ModeOverlay)
		}},
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		t.Run(name, func(t *testing.T) { vfstest.Run(t, configs[name]) })
	}
}
