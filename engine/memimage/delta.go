package memimage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// A Delta is what a memory holds beyond its image: the pages that differ, and the size. It is immutable
// and may be loaded into any number of Linears of the same image, from several goroutines.
//
// Its pages lie outside of Go's heap and are shared with the deltas that came before and after. Each owner calls
// Release once.
type Delta struct {
	image   *Image
	size    uint64 // bytes
	extents []extent
	pages   uint64
	owners  atomic.Int32
}

// extent is n host pages of memory from page at on, which lie in the arena from slot on. Extents are sorted and
// do not overlap; a run of the arena and a single page never make one extent.
type extent struct{ at, n, slot uint32 }

// span is where the pages are in memory.
func (e extent) span() span { return span{uint64(e.at) * hostPage, uint64(e.n) * hostPage} }

// largeRun is the number of host pages side by side from which on a Linear maps frozen pages instead of copying
// them; a mapping is a resource of the process, of which the system has 65,530.
const largeRun = 64

// maxMapped bounds the mappings of one Linear, and mappedTotal those of all.
const (
	maxMapped      = 256
	maxMappedTotal = 24 << 10
)

var mappedTotal atomic.Int64

// newDelta makes an empty one, whose owner is the caller.
func newDelta(image *Image, size uint64) *Delta {
	d := &Delta{image: image, size: size}
	d.owners.Store(1)
	return d
}

// Retain adds an owner, and returns d.
func (d *Delta) Retain() *Delta {
	d.owners.Add(1)
	return d
}

// Release takes an owner away; the last one frees the pages. A nil Delta has no owners.
func (d *Delta) Release() {
	if d != nil && d.owners.Add(-1) == 0 {
		if a, err := theArena(); err == nil {
			a.release(d.extents)
		}
	}
}

// Bytes is the number of bytes that the delta holds, those that it shares with others included.
func (d *Delta) Bytes() uint64 { return d.pages * hostPage }

// Size is the size of the memory in bytes.
func (d *Delta) Size() uint64 { return d.size }

// Each calls do with the pages of the delta in order: stretches of whole host pages at an offset of the memory.
// The bytes must not be written, nor kept longer than the delta.
func (d *Delta) Each(do func(offset uint64, data []byte) error) error {
	return d.EachSince(nil, do)
}

// NewSince is the number of bytes of d that are not those of an older delta of the same memory: what d costs beside it.
func (d *Delta) NewSince(older *Delta) uint64 {
	pages := uint64(0)
	_ = d.eachNew(older, func(e extent) error { pages += uint64(e.n); return nil })
	return pages * hostPage
}

// eachNew calls do with the stretches of d that older, which may be nil, does not have as they are.
func (d *Delta) eachNew(older *Delta, do func(extent) error) error {
	if older == nil {
		older = &Delta{}
	}
	w := walker{extents: older.extents}
	for _, e := range d.extents {
		for e.n > 0 {
			n, same := w.compare(e)
			if !same {
				if err := do(extent{e.at, n, e.slot}); err != nil {
					return err
				}
			}
			e = extent{e.at + n, e.n - n, e.slot + n}
		}
	}
	return nil
}

// walker finds pages in extents, in rising order.
type walker struct {
	extents []extent
	next    int
}

// find gives the slot of page, if it is in the extents, and the number of pages from it on of which that is as true.
func (w *walker) find(page uint32) (slot, n uint32, ok bool) {
	for w.next < len(w.extents) && w.extents[w.next].at+w.extents[w.next].n <= page {
		w.next++
	}
	if w.next == len(w.extents) {
		return 0, noPage, false
	}
	e := w.extents[w.next]
	if page < e.at {
		return 0, e.at - page, false
	}
	return e.slot + page - e.at, e.at + e.n - page, true
}

// compare is the number of pages at the start of e that are all in the extents as they are, or all are not.
func (w *walker) compare(e extent) (n uint32, same bool) {
	for n < e.n {
		slot, run, ok := w.find(e.at + n)
		if now := ok && slot == e.slot+n; n == 0 {
			same = now
		} else if now != same {
			break
		}
		n += min(run, e.n-n)
	}
	return n, same
}

// A Builder makes a Delta of pages that come in rising order.
type Builder struct {
	d     *Delta
	arena *arena
	next  uint64 // no page before it may come
}

// NewBuilder begins a delta of a memory of size bytes, a whole number of [PageSize], over an image.
func NewBuilder(image *Image, size uint64) (*Builder, error) {
	if err := checkSize(int64(min(size, MaxBytes+1))); err != nil {
		return nil, fmt.Errorf("build a delta: %w", err)
	}
	if size < uint64(image.Size()) {
		return nil, fmt.Errorf("build a delta: %d bytes are less than the %d of the image", size, image.Size())
	}
	a, err := theArena()
	if err != nil {
		return nil, err
	}
	return &Builder{d: newDelta(image, size), arena: a}, nil
}

// Add copies data, a whole number of host pages, to the delta at an offset that is a multiple of the host page.
func (b *Builder) Add(offset uint64, data []byte) error {
	n := uint64(len(data))
	switch {
	case offset%hostPage != 0 || n%hostPage != 0:
		return fmt.Errorf("build a delta: %d bytes at %d are not whole pages of %d", n, offset, hostPage)
	case offset < b.next || offset > b.d.size || n > b.d.size-offset:
		return fmt.Errorf("build a delta: %d bytes at %d do not follow %d, or pass the end at %d", n, offset, b.next, b.d.size)
	}
	b.next = offset + n
	return b.d.put(b.arena, offset, data)
}

// Delta ends the building. The Builder cannot be used afterwards.
func (b *Builder) Delta() *Delta {
	d := b.d
	b.d = nil
	return d
}

// Drop gives up what was built. After Delta it does nothing.
func (b *Builder) Drop() {
	b.d.Release()
	b.d = nil
}

// put freezes whole pages at an offset after those that d has.
func (d *Delta) put(a *arena, offset uint64, data []byte) error {
	at := uint32(offset / hostPage)
	return a.put(data, func(r run) {
		d.extents = appendExtent(d.extents, extent{at, r.n, r.at}, a)
		d.pages += uint64(r.n)
		at += r.n
	})
}

// appendExtent adds e, joined with the last one where they lie side by side in memory and in the arena.
func appendExtent(list []extent, e extent, a *arena) []extent {
	if n := len(list); n > 0 {
		last := &list[n-1]
		if last.at+last.n == e.at && last.slot+last.n == e.slot && e.slot != uint32(a.small) {
			last.n += e.n
			return list
		}
	}
	return append(list, e)
}

// Save freezes what the memory holds beyond its image. It costs the pages that were written since the last Save or Load,
// of which it copies those that changed; long stretches of them are from then on the memory's as they are the
// delta's, mapped copy-on-write. Where the system cannot tell which pages were written, it compares all that
// differ from the image. After an error the memory must be reset.
func (l *Linear) Save() (*Delta, error) {
	a, err := theArena()
	if err != nil {
		return nil, fmt.Errorf("save linear memory: %w", err)
	}
	s := saving{linear: l, arena: a, new: newDelta(l.image, l.size)}
	if l.frozen != nil {
		s.old = walker{extents: l.frozen.extents}
		s.new.extents = make([]extent, 0, len(l.frozen.extents)+16)
		s.kept = l.kept[:0]
	}
	err = l.eachChanged(s.stretch)
	for _, e := range s.mapped {
		l.private.remove(e.span())
	}
	l.saves++
	if err == nil && !s.fresh && l.frozen != nil && l.frozen.size == l.size {
		if err = l.watch(s.same); err == nil {
			return l.frozen.Retain(), nil
		}
		return nil, fmt.Errorf("save linear memory: %w", err)
	}
	s.keepUntil(noPage)
	a.share(s.kept)
	l.kept = s.kept
	d := s.new
	l.setFrozen(d) // after an error too: what was mapped must not be freed
	if err == nil {
		err = l.watch(s.same)
	}
	if err != nil {
		d.Release()
		return nil, fmt.Errorf("save linear memory: %w", err)
	}
	return d, nil
}

// fewExtents is the number of extents up to which Load brings the list of private pages up to date, which takes less than to
// look for all of them.
const fewExtents = 512

// noPage is past every page of a memory.
const noPage = 1 << 30

// saving is a Save under way: the old extents are walked beside the pages that were written.
type saving struct {
	linear *Linear
	arena  *arena
	old    walker
	cursor int    // the old extents before it are dealt with
	from   uint32 // and of that one the pages before it
	new    *Delta
	kept   []extent // of new, those that are old
	mapped []extent // of new, those that are mapped now
	fresh  bool     // new has others
	same   int      // pages that were written but did not change, or may not have been
}

// keepUntil takes over the old extents' pages before page.
func (s *saving) keepUntil(page uint32) {
	for s.cursor < len(s.old.extents) {
		e := s.old.extents[s.cursor]
		if s.from > e.at {
			skip := min(s.from-e.at, e.n)
			e.at, e.n, e.slot = e.at+skip, e.n-skip, e.slot+skip
		}
		if e.at >= page {
			return
		}
		part := e
		part.n = min(e.n, page-e.at)
		if part.n > 0 {
			s.new.extents = appendExtent(s.new.extents, part, s.arena)
			s.new.pages += uint64(part.n)
			s.kept = append(s.kept, part)
			s.from = part.at + part.n
		}
		if part.n < e.n {
			return
		}
		s.cursor++
	}
}

// maxFreeze is the number of bytes that are frozen in one go: until they are mapped, there are two of each.
const maxFreeze = 16 << 20

// stretch deals with pages that were written.
func (s *saving) stretch(offset, length uint64) error {
	memory := s.linear.base
	for at := offset; at < offset+length; {
		end := at
		for end < min(offset+length, at+maxFreeze) && s.changed(uint32(end/hostPage), memory[end:end+hostPage]) {
			end += hostPage
		}
		if end == at {
			s.same++
			at += hostPage
			continue
		}
		if err := s.freeze(at, memory[at:end]); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// changed says whether a page is not what was frozen of it.
func (s *saving) changed(page uint32, now []byte) bool {
	if slot, _, ok := s.old.find(page); ok {
		return !bytes.Equal(now, s.arena.page(slot, 1))
	}
	return !bytes.Equal(now, s.linear.original(uint64(page)*hostPage))
}

func (s *saving) freeze(offset uint64, data []byte) error {
	at := uint32(offset / hostPage)
	s.keepUntil(at)
	s.from = max(s.from, at+uint32(uint64(len(data))/hostPage)) // what was frozen of them before is left out
	s.fresh = true
	return s.arena.put(data, func(r run) {
		e := extent{at, r.n, r.at}
		s.new.extents = appendExtent(s.new.extents, e, s.arena)
		s.new.pages += uint64(r.n)
		at += r.n
		if s.linear.tryMap(s.arena, e) {
			s.mapped = append(s.mapped, e)
		}
	})
}

var zeroPage = make([]byte, hostPage)

// original is what the image has at an offset: a host page.
func (l *Linear) original(offset uint64) []byte {
	if l.image != nil && offset < uint64(l.image.Size()) {
		return l.image.Bytes()[offset : offset+hostPage]
	}
	return zeroPage
}

func (l *Linear) setFrozen(d *Delta) {
	old := l.frozen
	l.frozen = nil
	if d != nil {
		l.frozen = d.Retain()
	}
	old.Release()
}

// tryMap maps an extent whose contents the memory has or is to get, and says whether it did: not a short one, and not when
// there are too many mappings. What it replaces is given up.
func (l *Linear) tryMap(a *arena, e extent) bool {
	if e.n < largeRun || !a.mappable || l.method == Copy || len(l.mapped) >= maxMapped || mappedTotal.Load() >= maxMappedTotal {
		return false
	}
	if l.mapFrozen(a, uint64(e.at)*hostPage, run{e.slot, e.n}) != nil {
		return false
	}
	before := len(l.mapped)
	l.mapped = slices.DeleteFunc(l.mapped, func(m extent) bool { return e.at <= m.at && m.at+m.n <= e.at+e.n })
	l.mapped = append(l.mapped, e)
	mappedTotal.Add(int64(len(l.mapped) - before))
	l.watched = false // the new mapping is not
	l.written.known = false
	return true
}

// Load makes the memory what it was when d was saved. The memory must be as New or Reset left it, with a limit
// of at least d's size; after an error it must be reset. A memory that grew by it needs [Linear.Rewind].
func (l *Linear) Load(d *Delta) error {
	switch {
	case d.image != l.image:
		return errors.New("load linear memory: it was saved over another image")
	case d.size > l.limit:
		return fmt.Errorf("load linear memory: %d bytes are more than its limit of %d", d.size, l.limit)
	}
	a, err := theArena()
	if err != nil {
		return err
	}
	l.grow(max(d.size, l.size))
	l.written.known = false
	l.private.known = l.private.known && len(d.extents) <= fewExtents
	l.setFrozen(d)
	for _, e := range d.extents {
		if l.tryMap(a, e) {
			l.private.remove(e.span())
			continue
		}
		copy(l.base[uint64(e.at)*hostPage:], a.page(e.slot, e.n))
		if l.private.known {
			l.private.add(e.span())
		}
	}
	return nil
}

// thaw takes back what Load and Save have mapped, and forgets what was saved.
func (l *Linear) thaw() error {
	if l.frozen == nil && !l.watched {
		return nil
	}
	var errs []error
	l.saves = 0
	l.unwatch()
	l.written.known = false
	for _, e := range l.mapped {
		l.private.remove(e.span())
		errs = append(errs, l.unmapFrozen(uint64(e.at)*hostPage, uint64(e.n)*hostPage))
	}
	mappedTotal.Add(-int64(len(l.mapped)))
	l.mapped = slices.Delete(l.mapped, 0, len(l.mapped))
	l.setFrozen(nil)
	return errors.Join(errs...)
}

// eachChanged calls do for stretches that hold every host page which was written since the last Save, Load or Begin, and
// perhaps others.
func (l *Linear) eachChanged(do func(offset, length uint64) error) error {
	if !l.tracked() {
		return do(0, l.size)
	}
	list, look := &l.private, l.eachPrivate
	if l.watched {
		list, look = &l.written, l.eachWritten
	}
	if err := list.update(l.size, look); err != nil {
		return err
	}
	return list.each(do)
}

// Begin is Save for a memory that is as New or Reset left it: it returns an empty delta.
func (l *Linear) Begin() *Delta {
	if l.frozen == nil {
		d := newDelta(l.image, l.size)
		l.setFrozen(d)
		d.Release()
	}
	return l.frozen.Retain()
}

// Merge is newer with the pages of older that it does not have: the two parts that EachSince divides a delta into.
func Merge(older, newer *Delta) (*Delta, error) {
	if older.image != newer.image || older.size > newer.size {
		return nil, errors.New("merge deltas: they are not of one memory")
	}
	a, err := theArena()
	if err != nil {
		return nil, err
	}
	s := saving{arena: a, old: walker{extents: older.extents}, new: newDelta(newer.image, newer.size)}
	for _, e := range newer.extents {
		s.keepUntil(e.at)
		s.from = max(s.from, e.at+e.n)
		s.new.extents = appendExtent(s.new.extents, e, a)
		s.new.pages += uint64(e.n)
		s.kept = append(s.kept, e)
	}
	s.keepUntil(noPage)
	a.share(s.kept)
	return s.new, nil
}

// EachSince is Each for the pages that an older delta of the same memory, if there is one, does not have as they are.
func (d *Delta) EachSince(older *Delta, do func(offset uint64, data []byte) error) error {
	a, err := theArena()
	if err != nil {
		return err
	}
	return d.eachNew(older, func(e extent) error { return do(uint64(e.at)*hostPage, a.page(e.slot, e.n)) })
}
