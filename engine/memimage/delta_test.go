package memimage_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cloche-dev/cloche/engine/memimage"
)

// What was saved and loaded elsewhere must be the same memory, whatever happened in between.
func TestSaveLoad(t *testing.T) {
	data := pattern(6, 11)
	im := newImage(t, data)
	for _, m := range methods(t) {
		t.Run(m.String(), func(t *testing.T) {
			cfg := memimage.Config{Image: im, Capacity: 32 * memimage.PageSize, Method: m}
			r := rand.New(rand.NewPCG(5, uint64(m)))
			for round := range 10 {
				a, b := newLinear(t, cfg), newLinear(t, cfg)
				mem := a.Reallocate(0)
				if round%2 == 1 {
					mem = a.Reallocate(uint64(7+r.IntN(20)) * memimage.PageSize)
				}
				a.While(func() {
					for range round * 40 {
						mem[r.IntN(len(mem))]++
					}
				})
				want := bytes.Clone(mem)
				d, err := a.Save()
				if err != nil {
					t.Fatal(err)
				}
				if round == 0 && d.Bytes() != 0 {
					t.Errorf("an untouched memory has a delta of %d bytes", d.Bytes())
				}
				a.While(func() {
					for range 300 {
						mem[r.IntN(len(mem))]++ // the delta must not follow
					}
				})
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
				d.Release()
			}
		})
	}
}

// Linux tells of 512 stretches at a time, and may tell of some twice.
func TestSaveManyStretches(t *testing.T) {
	const stretches, apart = 900, 2 * 4096
	size := (stretches*apart/memimage.PageSize + 1) * memimage.PageSize
	im := newImage(t, make([]byte, size))
	for _, m := range methods(t) {
		t.Run(m.String(), func(t *testing.T) {
			l := newLinear(t, memimage.Config{Image: im, Capacity: uint64(size), Method: m})
			mem := l.Reallocate(0)
			for i := range stretches {
				mem[i*apart] = 1
			}
			d, err := l.Save()
			if err != nil {
				t.Fatal(err)
			}
			defer d.Release()
			seen, next := 0, uint64(0)
			if err := d.Each(func(offset uint64, data []byte) error {
				if offset < next {
					t.Fatalf("a page at %d comes after %d", offset, next)
				}
				next = offset + uint64(len(data))
				seen += bytes.Count(data, []byte{1})
				return nil
			}); err != nil || seen != stretches {
				t.Errorf("the delta has %d of %d pages: %v", seen, stretches, err)
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
	defer d.Release()
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

// A memory that is saved again and again, with stretches of every length written in between: each delta must hold what
// the memory was, whatever came later, and cost nothing when all of them are gone.
func TestSaveAgain(t *testing.T) {
	const page = 4096
	im := newImage(t, pattern(40, 11))
	for _, m := range methods(t) {
		t.Run(m.String(), func(t *testing.T) {
			before := memimage.FrozenBytes()
			cfg := memimage.Config{Image: im, Capacity: 400 * memimage.PageSize, Method: m}
			r := rand.New(rand.NewPCG(9, uint64(m)))
			a, b := newLinear(t, cfg), newLinear(t, cfg)
			a.Begin().Release()
			type state struct {
				d    *memimage.Delta
				want []byte
			}
			var states []state
			for round := range 25 {
				mem := a.Reallocate(0)
				if r.IntN(4) == 0 && len(mem) < 300*memimage.PageSize {
					mem = a.Reallocate(uint64(len(mem) + r.IntN(60)*memimage.PageSize))
				}
				if r.IntN(2) == 0 { // what is known of private pages must follow
					if _, err := a.PrivateBytes(); err != nil {
						t.Fatal(err)
					}
				}
				write := func() {
					for range r.IntN(5) {
						length := 1 << r.IntN(21)
						at := r.IntN(max(len(mem)-length, 1))
						stretch := mem[at:min(at+length, len(mem))]
						switch r.IntN(4) {
						case 0: // back to what it was in the beginning
							n := copy(stretch, im.Bytes()[min(at, im.Size()):])
							clear(stretch[n:])
						default:
							for i := 0; i < len(stretch); i += 1 + r.IntN(2*page) {
								stretch[i] += byte(1 + round)
							}
						}
					}
				}
				a.While(write)
				want := bytes.Clone(mem)
				d, err := a.Save()
				if err != nil {
					t.Fatal(err)
				}
				states = append(states, state{d, want})
				if !bytes.Equal(mem, want) {
					t.Fatalf("round %d: saving changed the memory", round)
				}
				if r.IntN(3) == 0 { // into another memory, which goes on by itself
					s := states[r.IntN(len(states))]
					if _, err := b.Reset(); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(b.Reallocate(0), im.Bytes()) {
						t.Fatalf("round %d: reset is not the image", round)
					}
					if err := b.Load(s.d); err != nil {
						t.Fatal(err)
					}
					other := b.Reallocate(0)
					if !bytes.Equal(other, s.want) {
						t.Fatalf("round %d: loaded is not what was saved", round)
					}
					if r.IntN(2) == 0 {
						if _, err := b.PrivateBytes(); err != nil {
							t.Fatal(err)
						}
					}
					for range r.IntN(3) { // also so little that the list of private pages is not made anew
						step := page << r.IntN(12)
						b.While(func() {
							for i := r.IntN(step); i < len(other); i += 1 + r.IntN(step) {
								other[i]++
							}
						})
						want := bytes.Clone(other)
						d, err := b.Save()
						if err != nil {
							t.Fatal(err)
						}
						states = append(states, state{d, want})
					}
				}
				if r.IntN(10) == 0 { // back to an earlier state
					s := states[r.IntN(len(states))]
					if _, err := a.Reset(); err != nil {
						t.Fatal(err)
					}
					if err := a.Load(s.d); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i, s := range states {
				if _, err := b.Reset(); err != nil {
					t.Fatal(err)
				}
				if err := b.Load(s.d); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(b.Reallocate(0), s.want) {
					t.Fatalf("state %d is not what was saved", i)
				}
				s.d.Release()
			}
			a.Free()
			b.Free()
			if after := memimage.FrozenBytes(); after != before {
				t.Errorf("%d frozen bytes are left, there were %d", after, before)
			}
		})
	}
}

// Frozen memory is there once: of a stretch that was saved and loaded twice, nothing is private until it is written.
func TestFrozenIsShared(t *testing.T) {
	im := newImage(t, pattern(4, 3))
	a := newLinear(t, memimage.Config{Image: im, Capacity: 300 * memimage.PageSize})
	if a.Method() != memimage.Scan && a.Method() != memimage.Pagemap {
		t.Skip("this system does not tell private pages")
	}
	mem := a.Reallocate(260 * memimage.PageSize)
	a.While(func() {
		for i := range mem[10*memimage.PageSize:] {
			mem[10*memimage.PageSize+i] = byte(i)
		}
	})
	d, err := a.Save()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if d.Bytes() != 250*memimage.PageSize {
		t.Errorf("delta of %d bytes", d.Bytes())
	}
	linears := []*memimage.Linear{a}
	for range 3 {
		l := newLinear(t, memimage.Config{Image: im, Capacity: 300 * memimage.PageSize})
		if err := l.Load(d); err != nil {
			t.Fatal(err)
		}
		linears = append(linears, l)
	}
	for _, l := range linears {
		if n, err := l.PrivateBytes(); err != nil || n != 0 {
			t.Errorf("%d private bytes, %v", n, err)
		}
	}
	a.While(func() { mem[20*memimage.PageSize]++ })
	if n, _ := a.PrivateBytes(); n != 4096 {
		t.Errorf("%d private bytes after a write", n)
	}
	again, err := a.Save()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	if n := again.NewSince(d); n != 4096 {
		t.Errorf("a page was written, and the new delta costs %d bytes", n)
	}
}

func TestBuilder(t *testing.T) {
	im := newImage(t, pattern(2, 5))
	for _, size := range []uint64{0, 1, memimage.PageSize, 2*memimage.PageSize + 1, 1 << 33} {
		if _, err := memimage.NewBuilder(im, size); err == nil {
			t.Errorf("size %d was taken", size)
		}
	}
	b, err := memimage.NewBuilder(im, 3*memimage.PageSize)
	if err != nil {
		t.Fatal(err)
	}
	page := bytes.Repeat([]byte{7}, 4096)
	for _, tt := range []struct {
		offset uint64
		data   []byte
		ok     bool
	}{
		{4096, page, true}, {4096, page, false}, {0, page, false}, {8193, page, false}, {8192, page[:100], false},
		{3*memimage.PageSize - 4096, page, true}, {3 * memimage.PageSize, page, false}, {1 << 63, page, false},
	} {
		if err := b.Add(tt.offset, tt.data); (err == nil) != tt.ok {
			t.Errorf("add %d bytes at %d: %v", len(tt.data), tt.offset, err)
		}
	}
	d := b.Delta()
	defer d.Release()
	var got []uint64
	_ = d.Each(func(offset uint64, data []byte) error { got = append(got, offset, uint64(len(data))); return nil })
	if want := []uint64{4096, 4096, 3*memimage.PageSize - 4096, 4096}; !slices.Equal(got, want) {
		t.Errorf("it holds %v, want %v", got, want)
	}
}

func TestMerge(t *testing.T) {
	im := newImage(t, pattern(4, 3))
	a := newLinear(t, memimage.Config{Image: im, Capacity: 300 * memimage.PageSize})
	mem := a.Reallocate(200 * memimage.PageSize)
	r := rand.New(rand.NewPCG(1, 2))
	var deltas []*memimage.Delta
	for range 6 {
		at := r.IntN(len(mem) - 1<<20)
		a.While(func() {
			for i := range mem[at : at+1<<r.IntN(20)] {
				mem[at+i] = byte(r.IntN(256))
			}
		})
		d, err := a.Save()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Release()
		deltas = append(deltas, d)
	}
	last := deltas[len(deltas)-1]
	for i, older := range deltas {
		b, err := memimage.NewBuilder(im, last.Size())
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		if err := last.EachSince(older, func(offset uint64, data []byte) error { n += uint64(len(data)); return b.Add(offset, data) }); err != nil {
			t.Fatal(err)
		}
		if n != last.NewSince(older) {
			t.Errorf("%d: %d bytes came, %d were announced", i, n, last.NewSince(older))
		}
		part := b.Delta()
		whole, err := memimage.Merge(older, part)
		if err != nil {
			t.Fatal(err)
		}
		part.Release()
		l := newLinear(t, memimage.Config{Image: im, Capacity: 300 * memimage.PageSize})
		if err := l.Load(whole); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(l.Reallocate(0), mem) {
			t.Errorf("%d: what was divided and merged is not the same", i)
		}
		whole.Release()
	}
}
