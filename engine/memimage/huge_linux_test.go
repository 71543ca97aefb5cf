package memimage

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHugePages: a state that is saved is what the memory was, also if the system makes huge pages of pages that are there and
// others that are not. It does so in the background, after minutes; here it is asked to.
func TestHugePages(t *testing.T) {
	const imageSize, size = 2*window + 5*PageSize, 8 * window
	data := make([]byte, imageSize)
	rand.NewChaCha8([32]byte{1}).Read(data)
	im, err := FromBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	for _, m := range []Method{Scan, Pagemap} {
		if bestMethod() > m {
			continue
		}
		t.Run(m.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(m), 1))
			cfg := Config{Image: im, Capacity: size, Method: m}
			a, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Free()
			b, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Free()
			for turn := range 200 {
				mem := a.Reallocate(size)
				a.While(func() {
					if turn%20 == 1 { // it is mapped, once it is saved
						rand.NewChaCha8([32]byte{byte(turn)}).Read(mem[3*window : 6*window])
					}
					for range r.IntN(4) {
						mem[r.IntN(size)]++
					}
				})
				d, err := a.Save()
				if err != nil {
					t.Fatal(err)
				}
				if err := b.Load(d); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(b.bytes(), mem) {
					t.Fatalf("turn %d: what was loaded is not what was saved", turn)
				}
				if r.IntN(10) == 0 { // what it had mapped is given back
					if _, err := a.Reset(); err != nil {
						t.Fatal(err)
					}
					if turn%2 == 0 {
						if err := a.Load(d); err != nil {
							t.Fatal(err)
						}
					}
				}
				d.Release()
				if _, err := b.Reset(); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(b.bytes(), data) {
					t.Fatalf("turn %d: reset is not the image", turn)
				}
				at := r.Uint64N(size/window) * window
				_ = unix.Madvise(a.base[at:at+window], unix.MADV_COLLAPSE) // it fails where it must not be done
			}
		})
	}
}
