package vfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// BenchmarkNew is what a fresh sandbox pays for its files: a namespace with two mounts, and one file written.
func BenchmarkNew(b *testing.B) {
	z := filledZip(b, 8, vfs.ZipOptions{})
	template := must(vfs.NewTemplate(vfs.Config{Layout: true, Mounts: []vfs.Mount{
		{Path: "/usr/local/lib/python315.zip", FS: z}, {Path: "/usr/local/lib/python315.zip/matplotlib/mpl-data", FS: z}}}))
	b.Run("namespace", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			template.New(vfs.Options{})
		}
	})
	b.Run("with a file", func(b *testing.B) {
		b.ReportAllocs()
		text := []byte("hello")
		for b.Loop() {
			ns := template.New(vfs.Options{})
			h := must(ns.Open(nil, vfs.MustPath("/data/out.txt"), vfs.OpenWrite|vfs.OpenCreate))
			must(h.WriteAt(text, 0))
			if err := h.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mark and changes", func(b *testing.B) {
		b.ReportAllocs()
		ns := template.New(vfs.Options{})
		data := vfs.MustPath("/data")
		for b.Loop() {
			m := ns.Mark()
			if list, _ := ns.Changes(m, data); len(list) > 0 {
				b.Fatal(list)
			}
		}
	})
}

// benchFolders are the file systems that benchmarks compare, with a folder to write in.
func benchFolders(b *testing.B, f func(b *testing.B, ns *vfs.Namespace, dir string)) {
	o := vfs.Options{Bytes: 1 << 30}
	b.Run("memory", func(b *testing.B) { f(b, namespace(b, vfs.Config{Layout: true}, o), "/data") })
	b.Run("host", func(b *testing.B) {
		f(b, mounted(b, hostDir(b, b.TempDir(), true), vfs.ModeReadWrite), "/mnt/x")
	})
}

func BenchmarkOpenClose(b *testing.B) {
	benchFolders(b, func(b *testing.B, ns *vfs.Namespace, dir string) {
		for _, d := range []string{"/a", "/a/b"} {
			if err := ns.Mkdir(nil, vfs.MustPath(dir+d)); err != nil {
				b.Fatal(err)
			}
		}
		p := vfs.MustPath(dir + "/a/b/file")
		must(ns.Open(nil, p, vfs.OpenCreate|vfs.OpenWrite)).Close()
		b.ReportAllocs()
		for b.Loop() {
			must(ns.Open(nil, p, vfs.OpenRead)).Close()
		}
	})
	b.Run("os", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "a/b")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		must(os.Create(dir + "/file")).Close()
		for b.Loop() {
			must(os.Open(dir + "/file")).Close()
		}
	})
}

func BenchmarkStat(b *testing.B) {
	benchFolders(b, func(b *testing.B, ns *vfs.Namespace, dir string) {
		p := vfs.MustPath(dir + "/file")
		must(ns.Open(nil, p, vfs.OpenCreate|vfs.OpenWrite)).Close()
		b.ReportAllocs()
		for b.Loop() {
			must(ns.Stat(nil, p, true))
		}
	})
}

func BenchmarkSmallWrites(b *testing.B) {
	benchFolders(b, func(b *testing.B, ns *vfs.Namespace, dir string) {
		h := must(ns.Open(nil, vfs.MustPath(dir+"/file"), vfs.OpenCreate|vfs.OpenWrite|vfs.OpenRead))
		p := make([]byte, 100)
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			must(h.WriteAt(p, i%100_000*100))
		}
	})
}

func BenchmarkSmallReads(b *testing.B) {
	benchFolders(b, func(b *testing.B, ns *vfs.Namespace, dir string) {
		h := must(ns.Open(nil, vfs.MustPath(dir+"/file"), vfs.OpenCreate|vfs.OpenWrite|vfs.OpenRead))
		must(h.WriteAt(make([]byte, 1<<20), 0))
		p := make([]byte, 100)
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			must(h.ReadAt(p, i%10_000*100))
		}
	})
}

func BenchmarkBigFile(b *testing.B) {
	benchFolders(b, func(b *testing.B, ns *vfs.Namespace, dir string) {
		p := make([]byte, 1<<20)
		b.SetBytes(2 * 64 << 20)
		for b.Loop() {
			h := must(ns.Open(nil, vfs.MustPath(dir+"/file"), vfs.OpenCreate|vfs.OpenWrite|vfs.OpenRead|vfs.OpenTruncate))
			for i := range int64(64) {
				must(h.WriteAt(p, i<<20))
			}
			for i := range int64(64) {
				must(h.ReadAt(p, i<<20))
			}
			h.Close()
		}
	})
}

func BenchmarkList10k(b *testing.B) {
	benchFolders(b, func(b *testing.B, ns *vfs.Namespace, dir string) {
		for i := range 10_000 {
			must(ns.Open(nil, vfs.MustPath(fmt.Sprintf("%s/some-file-name-%d.txt", dir, i)), vfs.OpenCreate|vfs.OpenWrite)).Close()
		}
		h := must(ns.Open(nil, vfs.MustPath(dir), vfs.OpenDirectory))
		b.ReportAllocs()
		for b.Loop() {
			if n := len(must(h.Entries(true))); n != 10_002 {
				b.Fatal(n)
			}
		}
	})
}

func BenchmarkCreateMany(b *testing.B) {
	benchFolders(b, func(b *testing.B, ns *vfs.Namespace, dir string) {
		names := make([]vfs.Path, 10_000)
		for i := range names {
			names[i] = vfs.MustPath(fmt.Sprintf("%s/f%d", dir, i*7919%10_000))
		}
		for b.Loop() {
			for _, p := range names {
				must(ns.Open(nil, p, vfs.OpenCreate|vfs.OpenWrite)).Close()
			}
			for _, p := range names {
				if err := ns.Unlink(nil, p); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/file")
	})
}
