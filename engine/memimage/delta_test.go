package memimage_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cloche-dev/cloche/engine/memimage"
)

// What was saved and loaded elsewhere must be the same memory, whatever happened in between.
func TestSaveLoad(t *testing.T) {
	data := pattern(6, 11)
	im := newImage(t, data)
	for _, m := range methods() {
		t.Run(m.String(), func(t *testing.T) {
			cfg := memimage.Config{Image: im, Capacity: 32 * memimage.PageSize, Method: m}
			r := rand.New(rand.NewPCG(5, uint64(m)))
			for round := range 10 {
				a, b := newLinear(t, cfg), newLinear(t, cfg)
				mem := a.Reallocate(0)
				if round%2 == 1 {
					mem = a.Reallocate(uint64(7+r.IntN(20)) * memimage.PageSize)
				}
				for range round * 40 {
					mem[r.IntN(len(mem))]++
				}
				want := bytes.Clone(mem)
				d, err := a.Save()
				if err != nil {
					t.Fatal(err)
				}
				if round == 0 && d.Bytes() != 0 {
					t.Errorf("an untouched memory has a delta of %d bytes", d.Bytes())
				}
				for range 300 {
					mem[r.IntN(len(mem))]++ // the delta must not follow
				}
				if err := b.Load(d); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(b.Reallocate(0), want) {
					t.Fatalf("round %d: the loaded memory differs", round)
				}
				if _, err := a.Reset(); err != nil {
					t.Fatal(err)
				}
				if err := a.Load(d); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Reallocate(0), want) {
					t.Fatalf("round %d: the memory rolled back differs", round)
				}
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	a := newLinear(t, memimage.Config{Image: newImage(t, pattern(2, 1)), Capacity: 8 * memimage.PageSize})
	b := newLinear(t, memimage.Config{Image: newImage(t, pattern(2, 1)), Capacity: 8 * memimage.PageSize})
	a.Reallocate(4 * memimage.PageSize)
	d, err := a.Save()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Load(d); err == nil || err.Error() != "load linear memory: it was saved over another image" {
		t.Errorf("another image: %v", err)
	}
	if _, err := a.Reset(); err != nil {
		t.Fatal(err)
	}
	a.SetLimit(3 * memimage.PageSize)
	if err := a.Load(d); err == nil || err.Error() != "load linear memory: 262144 bytes are more than its limit of 196608" {
		t.Errorf("over the limit: %v", err)
	}
}
