package engine

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// A file that the key vouches for may still be the work of a program that knows the format and has stolen the key, or
// damaged before it was signed: opening it must end in an error or a state, with memory bounded by the file.
func FuzzSnapshotBody(f *testing.F) {
	page := os.Getpagesize()
	image, err := memimage.FromBytes(make([]byte, 2*memimage.PageSize))
	if err != nil {
		f.Fatal(err)
	}
	template, err := vfs.NewTemplate(vfs.Config{Layout: true})
	if err != nil {
		f.Fatal(err)
	}
	b, err := memimage.NewBuilder(image, 3*memimage.PageSize)
	if err != nil {
		f.Fatal(err)
	}
	for _, at := range []int{0, 1, 5, 40} {
		if err := b.Add(uint64(at*page), bytes.Repeat([]byte{7}, page)); err != nil {
			f.Fatal(err)
		}
	}
	st := &state{vm: vm.Checkpoint{Memory: b.Delta()}, files: template.New(vfs.Options{}).Snapshot()}
	defer st.release()
	var good bytes.Buffer
	if err := writeBody(&good, st, nil); err != nil {
		f.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	plain, err := z.DecodeAll(good.Bytes(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes(), true, uint64(3*memimage.PageSize))
	f.Add(plain, false, uint64(3*memimage.PageSize))
	record := func(at, n uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, at), n)
	}
	f.Add(record(1<<31, 1<<31), false, uint64(memimage.MaxBytes))
	f.Add(append(record(0, 1), make([]byte, page)...), false, uint64(0))
	e, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, compressed bool, size uint64) {
		if !compressed {
			body = e.EncodeAll(body, nil)
		}
		s := &snapFile{snapHeader: snapHeader{Page: page, MemoryBytes: size}, body: pieces{body}}
		st := &state{}
		if err := s.openBody(image, st); err != nil {
			return
		}
		defer st.release()
		if st.vm.Memory.Size() != size {
			t.Errorf("a memory of %d bytes, not %d", st.vm.Memory.Size(), size)
		}
		if files, err := template.Import(bytes.NewReader(st.exported), vfs.Options{}); err == nil {
			_, err = template.FromSnapshot(files, vfs.Options{})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// Of a file that was not made with the key nothing is believed.
func FuzzReadSnapshot(f *testing.F) {
	key := []byte("the key")
	header, err := json.Marshal(snapHeader{Image: "x"})
	if err != nil {
		f.Fatal(err)
	}
	image, err := memimage.FromBytes(make([]byte, memimage.PageSize))
	if err != nil {
		f.Fatal(err)
	}
	b, err := memimage.NewBuilder(image, memimage.PageSize)
	if err != nil {
		f.Fatal(err)
	}
	st := &state{vm: vm.Checkpoint{Memory: b.Delta()}}
	defer st.release()
	var good bytes.Buffer
	if _, err := writeSnapshot(&good, key, "x", Options{}, st); err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(40), byte(1), uint32(0), header)
	f.Add(uint32(10), byte(0), uint32(1), []byte{})
	f.Fuzz(func(t *testing.T, at uint32, flip byte, cut uint32, more []byte) {
		file := bytes.Clone(good.Bytes())
		file[at%uint32(len(file))] ^= flip
		file = append(file[:uint32(len(file))-cut%uint32(len(file))], more...)
		_, err := readSnapshot(bytes.NewReader(file), key)
		if (err == nil) != bytes.Equal(file, good.Bytes()) {
			t.Errorf("changed %v: %v", !bytes.Equal(file, good.Bytes()), err)
		}
		if err != nil && !errors.Is(err, ErrSnapshot) {
			t.Errorf("error %v is not one of snapshots", err)
		}
		if _, err := readSnapshot(bytes.NewReader(more), key); !errors.Is(err, ErrSnapshot) {
			t.Errorf("what nobody signed: %v", err)
		}
	})
}

// A state is written as it is read from memory, and read into what its file has and what it has: neither holds it again and again.
func TestSnapshotsAreNotHeld(t *testing.T) {
	const size = 64 << 20
	key := []byte("the key")
	image, err := memimage.FromBytes(make([]byte, memimage.PageSize))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	b, err := memimage.NewBuilder(image, size)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 1<<20)
	for at := uint64(0); at < size; at += uint64(len(part)) {
		_, _ = rand.Read(part) // nothing can be made small of it
		if err := b.Add(at, part); err != nil {
			t.Fatal(err)
		}
	}
	template, err := vfs.NewTemplate(vfs.Config{Layout: true})
	if err != nil {
		t.Fatal(err)
	}
	st := &state{vm: vm.Checkpoint{Memory: b.Delta()}, files: template.New(vfs.Options{}).Snapshot()}
	defer st.release()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	var before, written, read runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := writeSnapshot(file, key, "x", Options{}, st); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&written)
	if got := written.TotalAlloc - before.TotalAlloc; got > size/2 {
		t.Errorf("%d MiB were taken to write %d", got>>20, size>>20)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	f, err := readSnapshot(file, key)
	if err != nil {
		t.Fatal(err)
	}
	again := &state{}
	if err := f.openBody(image, again); err != nil {
		t.Fatal(err)
	}
	defer again.release()
	runtime.ReadMemStats(&read)
	if got := read.TotalAlloc - written.TotalAlloc; got > size*3/2 {
		t.Errorf("%d MiB were taken to read %d", got>>20, size>>20)
	}
	if len(f.body) > 0 || again.vm.Memory.Bytes() != size {
		t.Errorf("%d pieces are still held, and %d MiB of memory were read", len(f.body), again.vm.Memory.Bytes()>>20)
	}
}
