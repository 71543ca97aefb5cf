package memimage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPageList marks pages at random, as faults do, and compares the list with the marks. Most faults are where the last ones
// were, so that the list is mostly made whole without looking at everything.
func TestPageList(t *testing.T) {
	const size = 40 * window
	r := rand.New(rand.NewPCG(1, 2))
	marked := make([]bool, size/hostPage)
	whole := 0 // looks at everything
	look := func(from, to uint64, do func(offset, length uint64) error) error {
		if to-from == size {
			whole++
		}
		for at := from / hostPage; at < to/hostPage; {
			end := at
			for end < to/hostPage && marked[end] {
				end++
			}
			if end > at {
				if err := do(at*hostPage, (end-at)*hostPage); err != nil {
					return err
				}
			}
			at = end + 1
		}
		return nil
	}
	var p pageList
	const rounds = 2000
	for round := range rounds {
		for range r.IntN(4) {
			first := 20*window/hostPage + uint64(r.IntN(6*window/int(hostPage)))
			n := uint64(1)
			switch r.IntN(40) {
			case 0: // elsewhere
				first = uint64(r.IntN(len(marked)))
			case 1: // a huge page, where there is none
				if at := first / 512 * 512; !slices.Contains(marked[at:at+512], true) {
					first, n = at, 512
				}
			case 2: // it was for reading
				n = 0
			}
			if n == 1 && marked[first] {
				continue // no fault
			}
			p.faults++
			for i := first; i < min(first+n, uint64(len(marked))); i++ {
				marked[i] = true
			}
		}
		if round%50 == 49 { // given back
			at := uint64(r.IntN(40)) * window
			clear(marked[at/hostPage:][:window/hostPage])
			p.set(slices.DeleteFunc(slices.Clone(p.list), func(s span) bool { return s.offset/window*window == at && p.known }))
			p.known = false
		}
		if err := p.update(size, look); err != nil {
			t.Fatal(err)
		}
		var want, got []span
		gather := func(to *[]span) func(uint64, uint64) error {
			return func(offset, length uint64) error { *to = append(*to, span{offset, length}); return nil }
		}
		_ = look(0, size, gather(&want))
		whole--
		_ = p.each(gather(&got))
		if !slices.Equal(got, want) {
			t.Fatalf("round %d: the list is %v, want %v", round, got, want)
		}
	}
	if whole > rounds/2 {
		t.Errorf("everything was looked at %d times in %d rounds", whole, rounds)
	}
}

func TestStretches(t *testing.T) {
	for _, tt := range []struct {
		was, now []span
		want     int64
	}{
		{nil, nil, 0},
		{nil, []span{{0, 3}, {5, 1}}, 2},
		{[]span{{1, 1}}, []span{{0, 3}}, 2},
		{[]span{{0, 1}, {2, 1}}, []span{{0, 4}}, 2},
		{[]span{{0, 3}, {5, 1}}, []span{{0, 3}, {5, 1}}, 0},
		{[]span{{0, 3}}, []span{{0, 4}, {6, 2}}, 2},
	} {
		t.Run(fmt.Sprint(tt.now), func(t *testing.T) {
			if got := stretches(tt.was, tt.now); got != tt.want {
				t.Errorf("stretches(%v, %v) = %d, want %d", tt.was, tt.now, got, tt.want)
			}
		})
	}
}

// A list that pages are added to and removed from has these pages, in order, in stretches that lie within one window each.
func TestPageListAddRemove(t *testing.T) {
	const size = 3*window + window/2
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p, marked := pageList{}, make([]bool, size/hostPage)
		for range 60 {
			at := r.Uint64N(size / hostPage)
			n := min(1+r.Uint64N(1<<r.Uint64N(10)), size/hostPage-at)
			s := span{at * hostPage, n * hostPage}
			add := r.IntN(2) == 0
			if add {
				p.add(s)
			} else {
				p.remove(s)
			}
			for i := at; i < at+n; i++ {
				marked[i] = add
			}
			got, end := make([]bool, size/hostPage), uint64(0)
			for _, s := range p.list {
				if s.length == 0 || s.offset < end || s.offset/window != (s.offset+s.length-1)/window {
					t.Fatalf("stretch %+v after %d: %+v", s, end, p.list)
				}
				end = s.offset + s.length
				for i := s.offset / hostPage; i < end/hostPage; i++ {
					got[i] = true
				}
			}
			if !slices.Equal(got, marked) {
				t.Fatalf("%+v added %v: %+v", s, add, p.list)
			}
		}
	}
}
