package vfs_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

type member struct {
	name, text string
	mode       os.FileMode
	method     uint16
}

func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: m.method}
		if m.mode != 0 {
			h.SetMode(m.mode)
		}
		f := must(w.CreateHeader(h))
		if !strings.HasSuffix(m.name, "/") {
			must(io.WriteString(f, m.text))
		}
	}
	ok(t, w.Close())
	return b.Bytes()
}

func newZip(b []byte, o vfs.ZipOptions) (*vfs.ZipFS, error) {
	return vfs.NewZip(bytes.NewReader(b), int64(len(b)), o)
}

func TestZipRefused(t *testing.T) {
	good := member{name: "good.txt", text: "good"}
	many := make([]member, 300)
	for i := range many {
		many[i].name = fmt.Sprintf("a%d/b/c/d", i)
	}
	for _, c := range []struct {
		name    string
		members []member
		o       vfs.ZipOptions
		want    string
	}{
		{name: "dotdot", members: []member{good, {name: "../outside"}}, want: `zip: member "../outside": name is not clean`},
		{name: "dotdot inside", members: []member{good, {name: "a/../../b"}}, want: "name is not clean"},
		{name: "dot", members: []member{{name: "./a"}}, want: "name is not clean"},
		{name: "absolute", members: []member{{name: "/etc/passwd"}}, want: "name is not clean"},
		{name: "backslash", members: []member{{name: "back\\slash"}}, want: "name is not clean"},
		{name: "NUL", members: []member{{name: "a\x00b"}}, want: "name is not clean"},
		{name: "empty part", members: []member{{name: "a//b"}}, want: "name is not clean"},
		{name: "empty", members: []member{{name: ""}}, want: "name is not clean"},
		{name: "slash", members: []member{{name: "/"}}, want: "name is not clean"},
		{name: "not UTF-8", members: []member{{name: "a\xff"}}, want: "name is not clean"},
		{name: "long", members: []member{{name: strings.Repeat("n", 256)}}, want: "name is not clean"},
		{name: "deep", members: []member{{name: strings.Repeat("d/", 257) + "f"}}, want: "name is not clean"},
		{name: "twice", members: []member{good, good}, want: "name is there twice, or is both a file and a folder"},
		{name: "below a file", members: []member{good, {name: "good.txt/child"}}, want: "is both a file and a folder"},
		{name: "file over folder", members: []member{{name: "a/b"}, {name: "a"}}, want: "is both a file and a folder"},
		{name: "folder over file", members: []member{{name: "a"}, {name: "a/"}}, want: "is both a file and a folder"},
		{name: "folder twice", members: []member{{name: "a/"}, {name: "a/"}}, want: "name is there twice"},
		{name: "link", members: []member{{name: "l", text: "/etc/passwd", mode: os.ModeSymlink | 0o777}}, want: "neither a file nor a folder"},
		{name: "device", members: []member{{name: "d", mode: os.ModeDevice | 0o666}}, want: "neither a file nor a folder"},
		{name: "fifo", members: []member{{name: "d", mode: os.ModeNamedPipe | 0o666}}, want: "neither a file nor a folder"},
		{name: "many", members: many, o: vfs.ZipOptions{MaxEntries: 299}, want: "zip: too many entries"},
		{name: "many implied", members: many, o: vfs.ZipOptions{MaxEntries: 500}, want: "too many entries"},
		{name: "index", members: many, o: vfs.ZipOptions{MaxIndexBytes: 10_000}, want: "zip: central directory too large"},
		{name: "ratio", members: []member{{name: "bomb", text: strings.Repeat("\x00", 1_000_000), method: zip.Deflate}}, o: vfs.ZipOptions{MaxRatio: 100}, want: "size is not believable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newZip(archive(t, c.members...), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if z, err := newZip(archive(t, many...), vfs.ZipOptions{}); err != nil || z.Len() != 1200 {
		t.Errorf("many are not too many: %v", err)
	}
	if _, err := newZip([]byte("not a zip"), vfs.ZipOptions{}); err == nil {
		t.Error("took what is no archive")
	}
}

func readZip(t testing.TB, z *vfs.ZipFS, name string) ([]byte, error) {
	ns := mounted(t, z, vfs.ModeReadOnly)
	h, err := ns.Open(nil, vfs.MustPath("/mnt/x/"+name), vfs.OpenRead)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return io.ReadAll(io.NewSectionReader(h, 0, 1<<40))
}

// TestZipDamaged changes sizes, checksums and flags of members.
func TestZipDamaged(t *testing.T) {
	text := strings.Repeat("some text ", 1000)
	deflated := archive(t, member{name: "f", text: text, method: zip.Deflate})
	stored := archive(t, member{name: "f", text: text, method: zip.Store})
	central := func(b []byte) []byte { return b[bytes.Index(b, []byte("PK\x01\x02")):] }
	for _, cache := range []int64{0, -1} {
		for _, c := range []struct {
			name   string
			base   []byte
			change func(b []byte)
			open   bool // the archive is taken
			want   error
		}{
			{"whole", deflated, func(b []byte) {}, true, nil},
			{"whole, stored", stored, func(b []byte) {}, true, nil},
			{"checksum", deflated, func(b []byte) { central(b)[16]++ }, true, vfs.ErrIO},
			{"data", deflated, func(b []byte) { b[60] ^= 0x55 }, true, vfs.ErrIO},
			{"size too large", deflated, func(b []byte) { binary.LittleEndian.PutUint32(central(b)[24:], uint32(len(text)+1)) }, true, vfs.ErrIO},
			{"size too small", deflated, func(b []byte) { binary.LittleEndian.PutUint32(central(b)[24:], uint32(len(text)-1)) }, true, vfs.ErrIO},
			{"size a lie", deflated, func(b []byte) { binary.LittleEndian.PutUint32(central(b)[24:], 1<<31) }, false, nil},
			{"compressed size over the archive", deflated, func(b []byte) { binary.LittleEndian.PutUint32(central(b)[20:], 1<<30) }, false, nil},
			{"encrypted", deflated, func(b []byte) { central(b)[8] |= 1 }, true, vfs.ErrNotSupported},
			{"method", deflated, func(b []byte) { central(b)[10] = 12 }, true, vfs.ErrNotSupported},
			{"stored sizes differ", stored, func(b []byte) { binary.LittleEndian.PutUint32(central(b)[20:], 5) }, false, nil},
			{"no local header", stored, func(b []byte) { b[0] = 'X' }, false, nil},
			{"cut", deflated, func(b []byte) { copy(b[40:], make([]byte, 30)) }, true, vfs.ErrIO},
		} {
			t.Run(fmt.Sprint(c.name, cache), func(t *testing.T) {
				b := bytes.Clone(c.base)
				c.change(b)
				z, err := newZip(b, vfs.ZipOptions{CacheBytes: cache})
				if (err == nil) != c.open {
					t.Fatalf("opening the archive: %v", err)
				}
				if err != nil {
					return
				}
				got, err := readZip(t, z, "f")
				if err != c.want || err == nil && string(got) != text {
					t.Errorf("read %d bytes, %v, want %v", len(got), err, c.want)
				}
			})
		}
	}
}

// TestZipSteps skips far into a compressed member, with the namespace's Check called on the way.
func TestZipSteps(t *testing.T) {
	const size = 24 << 20
	b := archive(t, member{name: "zeros", text: string(make([]byte, size)), method: zip.Deflate})
	z := must(newZip(b, vfs.ZipOptions{}))
	calls, stop := 0, error(nil)
	ns := namespace(t, vfs.Config{Mounts: []vfs.Mount{{Path: "/z", FS: z}}}, vfs.Options{Check: func() error { calls++; return stop }})
	h := openFile(t, ns, "/z/zeros", vfs.OpenRead)
	p := make([]byte, 10)
	if n, err := h.ReadAt(p, size-5); n != 5 || err != io.EOF || calls < 5 {
		t.Errorf("%d, %v after %d checks", n, err, calls)
	}
	if n, err := h.ReadAt(p, 0); n != 10 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	stop = errors.New("deadline")
	if n, err := h.ReadAt(p, size-5); n != 0 || err != stop {
		t.Errorf("%d, %v", n, err)
	}
}

// TestZipShared reads one archive from many goroutines.
func TestZipShared(t *testing.T) {
	z := filledZip(t, zip.Deflate, vfs.ZipOptions{CacheBytes: 100_000})
	var wg sync.WaitGroup
	for range 8 {
		ns := mounted(t, z, vfs.ModeReadOnly)
		wg.Go(func() {
			for range 5 {
				if got := tree(t, must(ns.FS("/mnt/x"))); len(got) != len(filledMap())+1 {
					t.Errorf("%d files", len(got))
				}
			}
		})
	}
	wg.Wait()
}

func FuzzZip(f *testing.F) {
	f.Add(archive(f, member{name: "a/b", text: "x"}, member{name: "c", text: strings.Repeat("y", 1000), method: zip.Deflate}))
	f.Add(archive(f, member{name: "../x"}))
	f.Add(archive(f, member{name: "d/"}, member{name: "d/e", text: "z", method: zip.Store}))
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := newZip(b, vfs.ZipOptions{MaxEntries: 100, MaxIndexBytes: 1 << 16, CacheBytes: 1 << 20})
		if err != nil {
			return
		}
		ns := mounted(t, z, vfs.ModeReadOnly)
		seen := 0
		var visit func(dir string)
		visit = func(dir string) {
			h := openFile(t, ns, dir, vfs.OpenDirectory)
			defer h.Close()
			for _, e := range must(h.Entries(true))[2:] {
				seen++
				p, err := vfs.ParsePathString(dir + "/" + e.Name)
				if err != nil || strings.Contains(e.Name, "/") || e.Name == "" {
					t.Fatalf("name %q: %v", e.Name, err)
				}
				if e.Kind == vfs.KindDir {
					visit(p.String())
					continue
				}
				m, err := ns.Open(nil, p, vfs.OpenRead)
				if err != nil {
					continue
				}
				st := must(m.Stat())
				buf := make([]byte, 1<<16)
				for off := int64(0); off < min(st.Size, 1<<20); off += int64(len(buf)) {
					if _, err := m.ReadAt(buf, off); err != nil {
						break
					}
				}
				m.ReadAt(buf[:10], st.Size-1)
				m.Close()
			}
		}
		visit("/mnt/x")
		if seen != z.Len() {
			t.Fatalf("saw %d of %d", seen, z.Len())
		}
	})
}
