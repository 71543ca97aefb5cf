package memimage

import (
	"cmp"
	"slices"
)

// pageList are the host pages of a memory that have a mark which a page gets by being written, and then keeps: that it is
// private, or was written since it was protected. Looking for them costs a walk through the page tables (70 to 500 µs for
// Python's image), so the list is kept and brought up to date.
//
// A fault of the thread that writes marks one page, or a stretch of them; nothing else does (see singly). So after n faults the
// list is whole again as soon as n stretches have joined it. There may be fewer, since reading faults too; but mostly they are
// where the last ones were, which is looked at first.
type pageList struct {
	known  bool   // list lacks none but what the faults marked
	faults int64  // since it was whole
	list   []span // in order; none overlaps another or a multiple of window
	spare  []span // the memory of a list that is not in use
	near   []uint64
}

// span is a stretch of whole host pages.
type span struct{ offset, length uint64 }

const (
	// window is what one page of page tables is for. Looking at it costs about 2 µs.
	window = 2 << 20
	// maxNear is the number of windows that are looked at before all is.
	maxNear = 4
	// fewFaults is the number of faults up to which that is tried.
	fewFaults = 64
)

// looker calls do for the stretches of marked pages between two offsets of a memory, in order.
type looker func(from, to uint64, do func(offset, length uint64) error) error

// update makes the list of a memory of size bytes whole. It is, until the memory is written to.
func (p *pageList) update(size uint64, look looker) error {
	if p.known && p.faults <= fewFaults {
		for i := 0; i < len(p.near) && p.faults > 0; i++ {
			if err := p.lookNear(i, size, look); err != nil {
				return err
			}
		}
		if p.faults == 0 {
			return nil
		}
	}
	found, err := p.find(0, size, look)
	if err != nil {
		return err
	}
	if p.known {
		p.remember(found)
	}
	p.set(found)
	return nil
}

// lookNear looks at a window of near.
func (p *pageList) lookNear(i int, size uint64, look looker) error {
	at := p.near[i]
	found, err := p.find(at, min(at+window, size), look)
	if err != nil {
		return err
	}
	first, end := p.index(at), p.index(at+window)
	if joined := stretches(p.list[first:end], found); joined > 0 {
		p.faults = max(0, p.faults-joined)
		p.list = slices.Replace(p.list, first, end, found...)
		p.near = slices.Insert(slices.Delete(p.near, i, i+1), 0, at)
	}
	p.spare = found
	return nil
}

// find looks for all marked pages between two offsets. What it gives lies in spare.
func (p *pageList) find(from, to uint64, look looker) ([]span, error) {
	found := p.spare[:0]
	p.spare = nil
	err := look(from, max(from, to), func(offset, length uint64) error {
		for length > 0 {
			n := min(length, window-offset%window)
			found = append(found, span{offset, n})
			offset, length = offset+n, length-n
		}
		return nil
	})
	if err != nil {
		p.known = false
	}
	return found, err
}

// remember notes the windows where found has more pages than the list.
func (p *pageList) remember(found []span) {
	for i := 0; i < len(found); {
		at := found[i].offset / window * window
		next := i
		for next < len(found) && found[next].offset < at+window {
			next++
		}
		if stretches(p.list[p.index(at):p.index(at+window)], found[i:next]) > 0 && !slices.Contains(p.near, at) {
			p.near = slices.Insert(p.near[:min(len(p.near), maxNear-1)], 0, at)
		}
		i = next
	}
}

// index is the number of stretches before an offset that is a multiple of window.
func (p *pageList) index(offset uint64) int {
	i, _ := slices.BinarySearchFunc(p.list, offset, compareOffset)
	return i
}

// set makes list the whole list.
func (p *pageList) set(list []span) {
	p.list, p.spare, p.known, p.faults = list, p.list, true, 0
}

// empty says that no page is marked.
func (p *pageList) empty() { p.list, p.known, p.faults = p.list[:0], true, 0 }

// cut forgets what is at offset from and after it.
func (p *pageList) cut(from uint64) {
	for i, s := range p.list {
		if s.offset+s.length > from {
			p.list = p.list[:i]
			if s.offset < from {
				p.list = append(p.list, span{s.offset, from - s.offset})
			}
			return
		}
	}
}

// add notes a stretch that was marked without a fault that counts.
func (p *pageList) add(s span) {
	p.remove(s)
	i, _ := slices.BinarySearchFunc(p.list, s.offset, compareOffset)
	for end := s.offset + s.length; s.offset < end; i++ {
		s.length = min(end-s.offset, window-s.offset%window)
		p.list = slices.Insert(p.list, i, s)
		s.offset += s.length
	}
}

// remove notes a stretch whose pages are marked no longer.
func (p *pageList) remove(s span) {
	end := s.offset + s.length
	i, _ := slices.BinarySearchFunc(p.list, s.offset, compareOffset)
	if i > 0 { // the one before may reach into it
		if was := p.list[i-1]; was.offset+was.length > s.offset {
			p.list[i-1].length = s.offset - was.offset
			if was.offset+was.length > end {
				p.list = slices.Insert(p.list, i, span{end, was.offset + was.length - end})
				return
			}
		}
	}
	next := i
	for next < len(p.list) && p.list[next].offset+p.list[next].length <= end {
		next++
	}
	p.list = slices.Delete(p.list, i, next)
	if i < len(p.list) && p.list[i].offset < end {
		p.list[i] = span{end, p.list[i].offset + p.list[i].length - end}
	}
}

func compareOffset(s span, offset uint64) int { return cmp.Compare(s.offset, offset) }

// each calls do for the stretches, joined where they touch.
func (p *pageList) each(do func(offset, length uint64) error) error {
	for i := 0; i < len(p.list); {
		s := p.list[i]
		for i++; i < len(p.list) && p.list[i].offset == s.offset+s.length; i++ {
			s.length += p.list[i].length
		}
		if err := do(s.offset, s.length); err != nil {
			return err
		}
	}
	return nil
}

// stretches is the number of stretches that now has and was has not. Now has all that was has.
func stretches(was, now []span) (n int64) {
	for _, s := range now {
		at := s.offset
		for len(was) > 0 && was[0].offset < s.offset+s.length {
			if was[0].offset > at {
				n++
			}
			at = was[0].offset + was[0].length
			was = was[1:]
		}
		if at < s.offset+s.length {
			n++
		}
	}
	return n
}

// pages is the number of host pages in stretches.
func pages(list []span) (n int64) {
	for _, s := range list {
		n += int64(s.length / hostPage)
	}
	return n
}
