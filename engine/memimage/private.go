package memimage

import (
	"bytes"
	"runtime"
)

// privatePages are the private host pages of a Linear, once they have been looked for. Looking costs a walk
// through the page tables (70 to 500 µs for Python's image), so the answer is kept for as long as it holds.
//
// A page becomes private by its first write, which is a page fault of the thread that writes. So a thread that had
// no fault made no page private. The reverse does not hold (reading faults too), and then the kernel is asked again.
type privatePages struct {
	known   bool
	locked  bool   // the goroutine is kept on its thread
	regions []span // in order; they do not touch or overlap
	spare   []span // a list that is not in use
}

// span is a stretch of whole host pages.
type span struct{ offset, length uint64 }

// cut forgets what is at offset from and after it.
func (p *privatePages) cut(from uint64) {
	for i, r := range p.regions {
		if r.offset+r.length > from {
			p.regions = p.regions[:i]
			if r.offset < from {
				p.regions = append(p.regions, span{r.offset, from - r.offset})
			}
			return
		}
	}
}

// tracked says whether the system can tell private pages from others.
func (l *Linear) tracked() bool { return l.method == Scan || l.method == Pagemap }

// While calls do, during which the memory may be written to by the calling goroutine, and by no other. It must not be
// written to at other times, but by the methods of Linear. The goroutine stays on its thread meanwhile, or until
// [Linear.Roam].
func (l *Linear) While(do func()) {
	p := &l.private
	known, steady := p.known, l.steady
	if !l.tracked() || !known && !steady {
		do() // whatever it writes will be looked for
		return
	}
	p.known, l.steady = false, false // should do panic, and after Roam
	runtime.LockOSThread()
	p.locked = true
	before, err := threadFaults()
	defer l.Roam()
	do()
	if err != nil || !p.locked {
		return
	}
	after, err := threadFaults()
	same := err == nil && after == before
	p.known, l.steady = known && same, steady && same
}

// Roam lets a goroutine that is in While change its thread from now on, which is worth its price in a long run: a
// goroutine that is bound to a thread is slow to give way to others. At other times it does nothing.
func (l *Linear) Roam() {
	if l.private.locked {
		l.private.locked = false
		runtime.UnlockOSThread()
	}
}

// privateRegions looks for the private pages where that is needed. The answer is valid until the memory is written to.
func (l *Linear) privateRegions() ([]span, error) {
	p := &l.private
	if p.known {
		return p.regions, nil
	}
	p.regions = p.regions[:0]
	err := l.eachPrivate(l.base[:l.size], func(offset, length uint64) error {
		p.regions = append(p.regions, span{offset, length})
		return nil
	})
	p.known = err == nil
	return p.regions, err
}

// PrivateBytes is what the guest has written so far, in whole host pages. It is 0 where the system does not tell.
func (l *Linear) PrivateBytes() (n uint64, err error) {
	if !l.tracked() {
		return 0, nil
	}
	regions, err := l.privateRegions()
	for _, r := range regions {
		n += r.length
	}
	return n, err
}

// keepClean is the number of bytes in private pages that a reset keeps although the last run did not change them: what
// small programs differ in. More of them come from one large program; they would cost every later reset.
const keepClean = 512 << 10

// writeBack gives private pages the image's bytes. Pages that the run changed are written to and stay, up to
// l.keep of them; of the others, and of those that were not changed, the private copy is dropped. All must be in the image's
// part.
func (l *Linear) writeBack() error {
	regions, err := l.privateRegions()
	if err != nil {
		return err
	}
	image, changed, clean := l.image.Bytes(), uint64(l.keep)*hostPage, uint64(keepClean)
	w := writeBack{linear: l, kept: l.private.spare[:0]}
	for _, r := range regions {
		for at := r.offset; at < r.offset+r.length; at += hostPage {
			now, was := l.base[at:at+hostPage], image[at:at+hostPage]
			left := &clean
			if !bytes.Equal(now, was) {
				left = &changed
			}
			if *left < hostPage {
				w.drop(at, hostPage)
				continue
			}
			*left -= hostPage
			if left == &changed {
				copy(now, was)
			}
			w.keep(at, hostPage)
		}
	}
	w.flush()
	l.private.regions, l.private.spare = w.kept, regions
	return w.err
}

// writeBack collects stretches.
type writeBack struct {
	linear  *Linear
	kept    []span
	dropped span
	err     error
}

func (w *writeBack) keep(at, n uint64) {
	if last := len(w.kept) - 1; last >= 0 && w.kept[last].offset+w.kept[last].length == at {
		w.kept[last].length += n
		return
	}
	w.kept = append(w.kept, span{at, n})
}

func (w *writeBack) drop(at, n uint64) {
	if w.dropped.offset+w.dropped.length != at {
		w.flush()
		w.dropped = span{offset: at}
	}
	w.dropped.length += n
}

func (w *writeBack) flush() {
	if d := w.dropped; d.length > 0 && w.err == nil {
		w.err = dontNeed(w.linear.base[d.offset : d.offset+d.length])
	}
	w.dropped = span{}
}
