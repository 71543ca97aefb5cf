package memimage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// hostPage is the size of a page of the machine in bytes.
var hostPage = uint64(os.Getpagesize())

// arena holds the frozen pages of all deltas of the process, outside of Go's heap, so that what is given up is free at
// once. A page is known by its slot, its number in the arena, and lives as long as somebody counts on it.
//
//	0                     small                                   slots
//	|  single pages       |  runs of many pages, first fit        |
//
// Where the system allows it the arena is a file in memory, from which a Linear maps runs copy-on-write instead of
// copying them. Slots that are free keep their memory up to keepFree pages; the rest is given back.
type arena struct {
	store     // the memory; platform files
	small int // slots of single pages

	// mu guards all below. The contents of a page are written before its slot is given to anybody.
	mu     sync.Mutex
	counts []uint32 // owners by slot of a single page
	free   []uint32 // single pages that have memory
	cold   []uint32 // single pages that have none
	large  []uint32 // owners of a page of a run, by slot - small
	holes  []run    // below the end of large, sorted, apart from one another
	used   uint64   // pages with an owner
}

// run is a stretch of slots or pages.
type run struct{ at, n uint32 }

// store is the memory of an arena.
type store struct {
	mem      []byte
	file     *os.File // nil: nothing can be mapped from it
	mappable bool
}

const (
	arenaBytes = 64 << 30 // of address space
	keepFree   = 4096
)

var errArenaFull = errors.New("no room for frozen pages is left in the process")

var theArena = sync.OnceValues(func() (*arena, error) {
	a := &arena{}
	if err := a.store.reserve(arenaBytes); err != nil {
		return nil, fmt.Errorf("reserve memory for checkpoints: %w", err)
	}
	a.small = int(uint64(len(a.mem)) / hostPage / 4)
	return a, nil
})

// Ready opens what the package keeps open for as long as the process lives, for programs that give up the right to later.
// What cannot be had is done without.
func Ready() {
	_, _ = theArena()
	watcher()
}

// FrozenBytes is what the frozen pages of this process hold now, in bytes.
func FrozenBytes() uint64 {
	a, err := theArena()
	if err != nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used * hostPage
}

// page is the contents of n slots from at on.
func (a *arena) page(at, n uint32) []byte {
	return a.mem[uint64(at)*hostPage:][:uint64(n)*hostPage]
}

// put copies data, whole pages, into slots, and gives the runs in order. Each page has one owner: the caller.
func (a *arena) put(data []byte, to func(run)) error {
	n := uint32(uint64(len(data)) / hostPage)
	if n >= largeRun {
		a.mu.Lock()
		r, err := a.takeRun(n)
		a.mu.Unlock()
		if err != nil {
			return err
		}
		if err := a.write(r, data); err != nil {
			a.drop(r)
			return err
		}
		to(r)
		return nil
	}
	// A page after the other, which come side by side when the arena has them so.
	var last run
	for at := range n {
		a.mu.Lock()
		slot, err := a.takePage()
		a.mu.Unlock()
		if err != nil {
			if last.n > 0 {
				to(last)
			}
			return err
		}
		copy(a.page(slot, 1), data[uint64(at)*hostPage:])
		if last.n > 0 && slot == last.at+last.n {
			last.n++
			continue
		}
		if last.n > 0 {
			to(last)
		}
		last = run{slot, 1}
	}
	if last.n > 0 {
		to(last)
	}
	return nil
}

// takePage finds a slot for one page. Preconditions: mu is held.
func (a *arena) takePage() (uint32, error) {
	var slot uint32
	switch {
	case len(a.free) > 0:
		slot = a.free[len(a.free)-1]
		a.free = a.free[:len(a.free)-1]
	case len(a.cold) > 0:
		slot = a.cold[len(a.cold)-1]
		a.cold = a.cold[:len(a.cold)-1]
	case len(a.counts) < a.small:
		slot = uint32(len(a.counts))
		a.counts = append(a.counts, 0)
	default:
		return 0, errArenaFull
	}
	a.counts[slot] = 1
	a.used++
	return slot, nil
}

// takeRun finds slots for n pages side by side. Preconditions: mu is held.
func (a *arena) takeRun(n uint32) (run, error) {
	for i := range a.holes {
		h := &a.holes[i]
		if h.n < n {
			continue
		}
		r := run{h.at, n}
		h.at, h.n = h.at+n, h.n-n
		if h.n == 0 {
			a.holes = slices.Delete(a.holes, i, i+1)
		}
		a.own(r)
		return r, nil
	}
	if (uint64(a.small)+uint64(len(a.large))+uint64(n))*hostPage > uint64(len(a.mem)) {
		return run{}, errArenaFull
	}
	r := run{uint32(a.small) + uint32(len(a.large)), n}
	a.large = append(a.large, make([]uint32, n)...)
	a.own(r)
	return r, nil
}

func (a *arena) own(r run) {
	a.used += uint64(r.n)
	counts := a.owners(r)
	for i := range counts {
		counts[i] = 1
	}
}

// owners are the counts of a run, which lies on one side of small.
func (a *arena) owners(r run) []uint32 {
	if r.at >= uint32(a.small) {
		return a.large[r.at-uint32(a.small):][:r.n]
	}
	return a.counts[r.at:][:r.n]
}

// share adds an owner to every page of the extents.
func (a *arena) share(extents []extent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range extents {
		counts := a.owners(run{e.slot, e.n})
		for i := range counts {
			counts[i]++
		}
	}
}

// release takes an owner from every page of the extents, and frees those that have no other.
func (a *arena) release(extents []extent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range extents {
		a.dropLocked(run{e.slot, e.n})
	}
}

func (a *arena) drop(r run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropLocked(r)
}

func (a *arena) dropLocked(r run) {
	counts := a.owners(r)
	var gone run // of pages of a run without an owner
	for i := range counts {
		slot := r.at + uint32(i)
		if counts[i]--; counts[i] > 0 {
			continue
		}
		a.used--
		if r.at < uint32(a.small) {
			a.freePage(slot)
			continue
		}
		if gone.n > 0 && slot == gone.at+gone.n {
			gone.n++
			continue
		}
		a.freeRun(gone)
		gone = run{slot, 1}
	}
	a.freeRun(gone)
}

func (a *arena) freePage(slot uint32) {
	if len(a.free) < keepFree {
		a.free = append(a.free, slot)
		return
	}
	a.forget(run{slot, 1})
	a.cold = append(a.cold, slot)
}

// freeRun gives the memory of a run back and remembers the hole.
func (a *arena) freeRun(r run) {
	if r.n == 0 {
		return
	}
	a.forget(r)
	i, _ := slices.BinarySearchFunc(a.holes, r, func(h, r run) int { return int(int64(h.at) - int64(r.at)) })
	a.holes = slices.Insert(a.holes, i, r)
	if i+1 < len(a.holes) && r.at+r.n == a.holes[i+1].at {
		a.holes[i].n += a.holes[i+1].n
		a.holes = slices.Delete(a.holes, i+1, i+2)
	}
	if i > 0 && a.holes[i-1].at+a.holes[i-1].n == r.at {
		a.holes[i-1].n += a.holes[i].n
		a.holes = slices.Delete(a.holes, i, i+1)
	}
	if last := a.holes[len(a.holes)-1]; last.at+last.n == uint32(a.small+len(a.large)) {
		a.large = a.large[:last.at-uint32(a.small)]
		a.holes = a.holes[:len(a.holes)-1]
	}
}
