package vfs_test

import (
	"embed"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

//go:embed doc.go
var sources embed.FS

// A template is made once; each sandbox gets a namespace of its own from it.
func ExampleTemplate() {
	fsys, err := vfs.NewIOFS(sources)
	if err != nil {
		log.Fatal(err)
	}
	template, err := vfs.NewTemplate(vfs.Config{
		Layout: true,
		Mounts: []vfs.Mount{{Path: "/src", FS: fsys}},
	})
	if err != nil {
		log.Fatal(err)
	}
	ns := template.New(vfs.Options{Bytes: 1 << 20})
	defer ns.Close()

	mark := ns.Mark()
	if err := ns.WriteFile("/data/report.txt", []byte("done")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ns.WriteFile("/src/new.go", nil))
	changes, _ := ns.Changes(mark, vfs.MustPath("/data"))
	for _, c := range changes {
		fmt.Println(c.Op, c.Path, c.Size)
	}
	// Output:
	// read-only file system
	// created /data/report.txt 4
}

// A folder of the host is reached through names inside it only.
func ExampleHostDir() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink("/etc/passwd", dir+"/link"); err != nil {
		log.Fatal(err)
	}
	host, err := vfs.OpenHostDir(dir, vfs.HostDirOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	template, err := vfs.NewTemplate(vfs.Config{Mounts: []vfs.Mount{{Path: "/in", FS: host}}})
	if err != nil {
		log.Fatal(err)
	}
	ns := template.New(vfs.Options{})
	defer ns.Close()
	_, err = ns.Open(nil, vfs.MustPath("/in/link"), vfs.OpenRead)
	fmt.Println(err)
	// Output: no such file or folder
}

// A snapshot brings the files in memory back as they were.
func ExampleNamespace_Restore() {
	template, err := vfs.NewTemplate(vfs.Config{Layout: true})
	if err != nil {
		log.Fatal(err)
	}
	ns := template.New(vfs.Options{})
	defer ns.Close()
	write := func(text string) {
		if err := ns.CopyIn("/data/f", strings.NewReader(text)); err != nil {
			log.Fatal(err)
		}
	}
	write("before")
	snapshot := ns.Snapshot()
	write("after")
	if err := ns.Restore(snapshot); err != nil {
		log.Fatal(err)
	}
	h, err := ns.Open(nil, vfs.MustPath("/data/f"), vfs.OpenRead)
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(h, 0, 100))
	fmt.Println(string(text), err)
	// Output: before <nil>
}
