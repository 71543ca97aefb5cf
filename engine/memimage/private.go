package memimage

import (
	"bytes"
	"runtime"
)

// tracked says whether the system can tell private pages from others.
func (l *Linear) tracked() bool { return l.method == Scan || l.method == Pagemap }

// While calls do, during which the memory may be written to by the calling goroutine, and by no other. It must not be
// written to at other times, but by the methods of Linear. The goroutine stays on its thread meanwhile, or until
// [Linear.Roam].
func (l *Linear) While(do func()) {
	private, written := l.private.known, l.written.known
	if !l.tracked() || !private && !written {
		do() // whatever it writes will be looked for
		return
	}
	l.private.known, l.written.known = false, false // should do panic, and after Roam
	runtime.LockOSThread()
	l.bound = true
	before, err := threadFaults()
	defer l.Roam()
	do()
	if err != nil || !l.bound {
		return
	}
	after, err := threadFaults()
	if err != nil {
		return
	}
	// Pagemap cannot tell the kernel's page of zeros, which reading maps at any time, from others.
	whole := after == before || l.method == Scan
	l.private.known, l.written.known = private && whole, written && whole
	l.private.faults += after - before
	l.written.faults += after - before
}

// Roam lets a goroutine that is in While change its thread from now on, which is worth its price in a long run: a
// goroutine that is bound to a thread is slow to give way to others. At other times it does nothing.
func (l *Linear) Roam() {
	if l.bound {
		l.bound = false
		runtime.UnlockOSThread()
	}
}

// PrivateBytes is what the guest has written so far, in whole host pages. It is 0 where the system does not tell.
func (l *Linear) PrivateBytes() (uint64, error) {
	if !l.tracked() {
		return 0, nil
	}
	err := l.private.update(l.size, l.eachPrivate)
	return uint64(pages(l.private.list)) * hostPage, err
}

const (
	// keepClean is the number of bytes in private pages that a reset keeps although the last run did not change them: what
	// small programs differ in. More of them come from one large program; they would cost every later reset.
	keepClean = 512 << 10
	// One reset in fewResets to manyResets keeps none of these. Comparing a page costs about a tenth of what it costs to
	// make it private again, and that also interrupts the other processors, whose page tables must forget it.
	fewResets  = 128
	manyResets = 16384
)

// cleaning says when a reset drops the private pages that the run left alone: seldom while the same programs run, since
// most of them come back then, and soon after others left more of them.
type cleaning struct {
	resets, every int    // since the last one; when the next is due
	left          uint64 // bytes that the last run left alone
	found         uint64 // bytes that the last cleaning dropped
}

// due says whether the next reset is to drop them.
func (c *cleaning) due() bool {
	return c.resets >= max(c.every, fewResets) || c.resets >= fewResets && c.left > 2*c.found
}

// reset notes what a reset found that the run left alone, and whether that was dropped.
func (c *cleaning) reset(left uint64, dropped bool) {
	c.left = left
	c.resets++
	if !dropped {
		return
	}
	if left >= c.found/2 && left <= 2*c.found {
		c.every = min(2*max(c.every, fewResets), manyResets)
	} else {
		c.every = fewResets
	}
	c.resets, c.found = 0, left
}

// writeBack gives private pages the image's bytes. Pages that the run changed are written to and stay, up to
// l.keep of them; of the others, and of those that were not changed, the private copy is dropped. All must be in the image's
// part.
func (l *Linear) writeBack() error {
	if err := l.private.update(l.size, l.eachPrivate); err != nil {
		return err
	}
	image, changed, clean := l.image.Bytes(), uint64(l.keep)*hostPage, uint64(keepClean)
	cleaning := l.cleaning.due()
	if cleaning {
		clean = 0
	}
	var unchanged uint64 // bytes
	w := writeBack{linear: l, kept: l.private.spare[:0]}
	for _, r := range l.private.list {
		for at := r.offset; at < r.offset+r.length; at += hostPage {
			now, was := l.base[at:at+hostPage], image[at:at+hostPage]
			left := &clean
			if !bytes.Equal(now, was) {
				left = &changed
			} else {
				unchanged += hostPage
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
	l.private.set(w.kept)
	l.cleaning.reset(unchanged, cleaning)
	return w.err
}

// writeBack collects stretches.
type writeBack struct {
	linear  *Linear
	kept    []span // as a pageList has it
	dropped span
	err     error
}

func (w *writeBack) keep(at, n uint64) {
	if last := len(w.kept) - 1; last >= 0 && at%window != 0 && w.kept[last].offset+w.kept[last].length == at {
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
