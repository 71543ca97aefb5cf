package memimage_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/cloche-dev/cloche/engine/memimage"
)

// methods are all that this system can be made to use. Linux before 6.7 lacks the first one, and so does an emulator.
func methods(t testing.TB) []memimage.Method {
	if runtime.GOOS != "linux" {
		return []memimage.Method{memimage.Auto, memimage.Copy}
	}
	all := []memimage.Method{memimage.Scan, memimage.Pagemap, memimage.Remap, memimage.Copy}
	best := newLinear(t, memimage.Config{}).Method()
	return append([]memimage.Method{memimage.Auto}, all[slices.Index(all, best):]...)
}

func pattern(pages int, seed uint64) []byte {
	b := make([]byte, pages*memimage.PageSize)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func newImage(t testing.TB, data []byte) *memimage.Image {
	t.Helper()
	im, err := memimage.FromBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
	return im
}

func newLinear(t testing.TB, c memimage.Config) *memimage.Linear {
	t.Helper()
	l, err := memimage.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Free)
	return l
}

// A reset memory must equal the image, byte for byte, and read as zero past it when grown again to the cap.
func TestResetEqualsImage(t *testing.T) {
	data := pattern(9, 7)
	im := newImage(t, data)
	const capacity = 64 * memimage.PageSize
	for _, m := range methods(t) {
		for _, keep := range []int{1, 8, 0} {
			t.Run(fmt.Sprintf("%v/keep=%d", m, keep), func(t *testing.T) {
				l := newLinear(t, memimage.Config{Image: im, Capacity: capacity, Method: m, KeepPages: keep})
				other := newLinear(t, memimage.Config{Image: im, Capacity: capacity, Method: m})
				r := rand.New(rand.NewPCG(uint64(m), uint64(keep)))
				for round := range 30 {
					mem := l.Reallocate(0)
					if !bytes.Equal(mem, data) {
						t.Fatalf("round %d: memory differs from the image", round)
					}
					grown := round%3 == 1
					if grown {
						to := uint64(r.IntN(55)+10) * memimage.PageSize
						mem = l.Reallocate(to)
						if uint64(len(mem)) != to || uint64(cap(mem)) != to {
							t.Fatalf("round %d: len %d cap %d, want %d", round, len(mem), cap(mem), to)
						}
						if i := bytes.IndexFunc(mem[len(data):], func(r rune) bool { return r != 0 }); i >= 0 {
							t.Fatalf("round %d: byte %d past the image is not zero", round, i)
						}
					}
					l.While(func() {
						for range r.IntN(200) {
							mem[r.IntN(len(mem))]++
						}
						if grown {
							mem[len(mem)-1] = 1
						}
					})
					st, err := l.Reset()
					if err != nil {
						t.Fatal(err)
					}
					if st.Shrunk != grown {
						t.Errorf("round %d: Shrunk %v, want %v", round, st.Shrunk, grown)
					}
				}
				if !bytes.Equal(other.Reallocate(0), data) {
					t.Error("a second memory of the image saw writes of the first")
				}
			})
		}
	}
	if !bytes.Equal(im.Bytes(), data) {
		t.Error("the image itself was written")
	}
}

// PrivateBytes must count each page that was written, whether the page tables had to be asked again or not.
func TestPrivateBytes(t *testing.T) {
	data := pattern(9, 2)
	page := os.Getpagesize()
	l := newLinear(t, memimage.Config{Image: newImage(t, data), Capacity: 16 * memimage.PageSize})
	if l.Method() != memimage.Scan && l.Method() != memimage.Pagemap {
		t.Skipf("the system does not tell private pages: %v", l.Method())
	}
	seen := 0
	touch := func(do func(mem []byte), wantPages int) {
		t.Helper()
		l.While(func() { do(l.Reallocate(0)) })
		if got, err := l.PrivateBytes(); err != nil || got != uint64(wantPages*page) {
			t.Errorf("%d private bytes, want %d pages: %v", got, wantPages, err)
		}
	}
	write := func(at ...int) func([]byte) {
		return func(mem []byte) {
			for _, i := range at {
				mem[i*page]++
			}
		}
	}
	touch(func([]byte) {}, 0)
	touch(write(3, 4), 2)
	touch(write(3, 4), 2) // nothing new
	touch(func(mem []byte) { seen += int(mem[90*page]) }, 2)
	touch(write(0, 4, 100), 4)
	if l.Reallocate(12*memimage.PageSize) == nil {
		t.Fatal("the memory does not grow")
	}
	touch(func([]byte) {}, 4)
	touch(write(150, 191), 6)
	for range 2 {
		st, err := l.Reset()
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(6 * page); st.Shrunk && st.PrivateBytes != want {
			t.Errorf("the reset found %d private bytes, want %d", st.PrivateBytes, want)
		}
		if !bytes.Equal(l.Reallocate(0), data) {
			t.Error("the memory differs from the image")
		}
		touch(func([]byte) {}, 4) // they stay resident
		touch(write(3), 4)
	}
}

// What a large program wrote must not cost the small ones after it: pages that a run left alone are given back, but for
// a few, and these too in time.
func TestResetGivesBack(t *testing.T) {
	data := pattern(32, 4)
	page := os.Getpagesize()
	l := newLinear(t, memimage.Config{Image: newImage(t, data), Method: memimage.Auto})
	if l.Method() != memimage.Scan && l.Method() != memimage.Pagemap {
		t.Skipf("the system does not tell private pages: %v", l.Method())
	}
	// run writes n pages, each step after the last, and gives the number that stay private after the reset.
	run := func(n, step int) int {
		t.Helper()
		mem := l.Reallocate(0)
		l.While(func() {
			for i := range n {
				mem[i*step*page]++
			}
		})
		if _, err := l.Reset(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(l.Reallocate(0), data) {
			t.Fatal("the memory differs from the image")
		}
		kept, err := l.PrivateBytes()
		if err != nil {
			t.Fatal(err)
		}
		return int(kept) / page
	}
	for _, tt := range []struct{ write, step, kept int }{{500, 1, 500}, {3, 1, 131}, {3, 1, 131}, {0, 1, 128}, {100, 3, 185}} {
		if got := run(tt.write, tt.step); got != tt.kept {
			t.Errorf("%d pages written: %d stay private, want %d", tt.write, got, tt.kept)
		}
	}
	least := 500
	for range 200 {
		least = min(least, run(3, 1))
	}
	if least != 3 {
		t.Errorf("after 200 runs that wrote 3 pages, %d were still private", least)
	}
}

// While the same programs run, giving back what one of them left alone is for nothing: it is tried ever more seldom. It
// is tried again as soon as there is more of it.
func TestResetSeldomGivesBackInVain(t *testing.T) {
	data := pattern(32, 4)
	page := os.Getpagesize()
	l := newLinear(t, memimage.Config{Image: newImage(t, data)})
	if l.Method() != memimage.Scan && l.Method() != memimage.Pagemap {
		t.Skipf("the system does not tell private pages: %v", l.Method())
	}
	// run writes n pages with what they hold, and says whether the reset gave them back.
	run := func(n int) (gone bool) {
		t.Helper()
		mem := l.Reallocate(0)
		l.While(func() {
			for i := range n {
				mem[i*page] = data[i*page]
			}
		})
		if _, err := l.Reset(); err != nil {
			t.Fatal(err)
		}
		kept, err := l.PrivateBytes()
		if err != nil {
			t.Fatal(err)
		}
		return kept == 0
	}
	times := 0
	for range 5000 {
		if run(20) {
			times++
		}
	}
	if times == 0 || times > 7 {
		t.Errorf("given back %d times in 5000 runs that wrote the same pages, want 1 to 7", times)
	}
	gone := run(100)
	for i := 0; i < 130 && !gone; i++ {
		gone = run(1)
	}
	if !gone {
		t.Error("130 runs after another program, its pages are still there")
	}
}

func TestLimit(t *testing.T) {
	data := pattern(2, 3)
	im := newImage(t, data)
	for _, m := range methods(t) {
		t.Run(m.String(), func(t *testing.T) {
			l := newLinear(t, memimage.Config{Image: im, Capacity: 8 * memimage.PageSize, Method: m})
			for _, tt := range []struct {
				limit, size uint64
				want        int // length of the answer in pages, -1 for refused
			}{
				{0, 1, 2}, {0, 2, 2}, {0, 3, -1}, {3, 3, 3}, {3, 4, -1}, {8, 8, 8}, {100, 9, -1},
			} {
				l.SetLimit(tt.limit * memimage.PageSize)
				got := l.Reallocate(tt.size * memimage.PageSize)
				if refused := got == nil; refused != (tt.want < 0) || refused != l.Denied() {
					t.Errorf("limit %d size %d: refused %v, Denied %v", tt.limit, tt.size, refused, l.Denied())
				} else if !refused && len(got) != tt.want*memimage.PageSize {
					t.Errorf("limit %d size %d: %d bytes", tt.limit, tt.size, len(got))
				}
			}
			if _, err := l.Reset(); err != nil {
				t.Fatal(err)
			}
			l.Rewind()
			if got := l.Reallocate(memimage.MaxBytes); len(got) != len(data) {
				t.Errorf("after Rewind: %d bytes, want %d", len(got), len(data))
			}
			if l.Reallocate(memimage.MaxBytes) != nil {
				t.Error("Rewind held for more than one call")
			}
		})
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct{ path, want string }{
		{write("empty", 0), "it is empty"},
		{write("odd", memimage.PageSize+1), "65537 bytes is not a whole number of 64 KiB pages"},
		{filepath.Join(dir, "none"), "no such file"},
	} {
		if _, err := memimage.Open(tt.path); err == nil || !bytes.Contains([]byte(err.Error()), []byte(tt.want)) {
			t.Errorf("Open(%s): %v, want %q", filepath.Base(tt.path), err, tt.want)
		}
	}
	data := pattern(40, 3) // more than a stretch of Write, and no whole number of them
	good := filepath.Join(dir, "good")
	if err := memimage.Write(good, data); err != nil {
		t.Fatal(err)
	}
	if err := memimage.Write(good, data); !errors.Is(err, os.ErrExist) {
		t.Errorf("Write over a file: %v", err)
	}
	if err := memimage.Write(filepath.Join(dir, "odd2"), data[1:]); err == nil {
		t.Error("Write takes what Open would not")
	}
	im, err := memimage.Open(good)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(im.Bytes(), data) {
		t.Error("the image is not what was written")
	}
	if err := im.Close(); err != nil {
		t.Error(err)
	}
	if err := im.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := memimage.New(memimage.Config{Capacity: memimage.MaxBytes + 1}); err == nil {
		t.Error("a memory of 4 GiB was accepted")
	}
}

// BenchmarkReset writes one byte in each of 129 host pages, as `x = 2` in Python does, and resets.
func BenchmarkReset(b *testing.B) {
	im := newImage(b, pattern(1000, 1))
	for _, m := range methods(b)[1:] {
		b.Run(m.String(), func(b *testing.B) {
			l := newLinear(b, memimage.Config{Image: im, Capacity: 2000 * memimage.PageSize, Method: m})
			for b.Loop() {
				mem := l.Reallocate(0)
				l.While(func() {
					for i := range 129 {
						mem[i*100*4096]++
					}
				})
				if _, err := l.Reset(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
