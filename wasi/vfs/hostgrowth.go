package vfs

import (
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// How a HostDir bounds by how much the files below it grow.
//
// For each file it keeps a payment: how many bytes of its budget the file has taken up. At any moment
//
//	size(f) <= foreign(f) + the payments of all HostDirs for f
//
// where foreign(f) is what others than HostDirs made it: it grows when they make f longer, and is never more than the size
// that f has had since. The payments of a HostDir are together at most its GrowBytes, so guests cannot make files longer than that.
//
// A write that ends no further than what this HostDir paid for the file keeps the invariant whatever anybody did to the
// file, so it needs no question about its size. Any other write is paid up to its end: from the size asked of the host if that
// is more than what was paid already, else from the payment. A payment is taken back by what this HostDir itself takes away from
// the file, and in whole when the file has no name any more and nobody has it open.
//
// Most writes into a file that others made lie inside of it. So that not each of them asks for the size, the payment is then
// raised by a loan to that size but for the last byte, if the budget has so much left: thus the invariant holds whatever
// others do meanwhile. The loan goes back with the next question: in whole if the file is longer than the payment, since no
// write of ours made it so; if it is not, others have cut it, and what it has now stays paid. The question comes after
// reliedBytes, and before the file is closed, anything else is paid, or it is said what is used up. What is not seen is that
// others cut the file and made it as long again between two questions: what we wrote meanwhile then counts as written where
// they had been.
//
// Between a question and the act that relies on it nobody else may make the file shorter and have that given back, so all
// HostDirs of the process share one lock for each open file. Other processes do not see it: if one of theirs cuts the
// very same file in that moment, or deletes it while a handle of ours is open, it has its payment back early.

// payment is what a HostDir has paid for one file.
type payment struct {
	handles int // of this HostDir; guarded by its mu

	// Guarded by the hostInode's mu.
	bytes int64
	whole bool // the file was no longer than bytes when it was looked at last, so that growth needs no question
}

// hostInode is a file of the host that HostDirs have open.
type hostInode struct {
	mu sync.Mutex // held while the size is asked, changed or relied upon

	loan loan // guarded by mu

	// Guarded by hostInodes.mu.
	handles int
	refunds []refund // for when the last handle is closed
}

// loan is a part of a payment for the time being. The zero value is none.
type loan struct {
	to    *payment
	from  *budget
	bytes int64
	left  int64 // bytes that may still be written before the size is asked again
}

// reliedBytes are written at most on one answer about a file's size.
const reliedBytes = 64 << 10

// settle ends a loan when the size has been asked. Preconditions: mu is held.
func (i *hostInode) settle(size int64) {
	l := i.loan
	if l.to == nil {
		return
	}
	i.loan = loan{}
	back := l.bytes
	if size <= l.to.bytes { // others have cut the file
		back = min(back, l.to.bytes-size)
	}
	l.to.bytes -= back
	l.from.give(back)
}

// covered reports whether a write lies within what was paid for the file. Preconditions: inode.mu is held.
func (f *hostFile) covered(p []byte, off int64) bool {
	if off > f.paid.bytes-int64(len(p)) {
		return false
	}
	if f.inode.loan.to != f.paid {
		return true
	}
	f.inode.loan.left -= int64(len(p))
	return f.inode.loan.left >= 0
}

// borrow makes a loan, if the budget has as much. Preconditions: inode.mu is held, and the size was asked since.
func (f *hostFile) borrow(size int64) {
	n := size - 1 - f.paid.bytes
	if n <= 0 {
		return
	}
	if got := f.fs.grow.take(n); got < n {
		f.fs.grow.give(got)
		return
	}
	if !f.fs.borrower.CompareAndSwap(nil, f) && f.fs.borrower.Load() != f {
		f.fs.grow.give(n) // of two loans recall would know one
		return
	}
	f.paid.bytes += n
	f.inode.loan = loan{f.paid, f.fs.grow, n, reliedBytes}
}

// recall asks for the size of the file that has a loan, if there is one and it is not f's, and ends the loan.
// Preconditions: no inode's mu is held.
func (h *HostDir) recall(paid *payment) {
	b := h.borrower.Load()
	if b == nil || b.paid == paid {
		return
	}
	b.inode.mu.Lock()
	defer b.inode.mu.Unlock()
	if h.borrower.CompareAndSwap(b, nil) && b.inode.loan.to == b.paid { // else it was closed since
		b.ask()
	}
}

// ask asks for the size, which ends a loan. Without an answer the loan stays paid. Preconditions: inode.mu is held.
func (f *hostFile) ask() (int64, error) {
	size, err := f.size()
	if err != nil {
		f.inode.loan = loan{}
		return 0, err
	}
	f.inode.settle(size)
	f.paid.whole = size <= f.paid.bytes
	return size, nil
}

// refund is a payment for a file that has no name any more.
type refund struct {
	to      *budget
	payment *payment
}

// hostInodes are those that HostDirs of this process have open. They are the process's and not a HostDir's, since two HostDirs
// may show the same folder.
var hostInodes = struct {
	mu   sync.Mutex
	open map[hostID]*hostInode
}{open: map[hostID]*hostInode{}}

// hostRemovals counts the files that were found to have no name any more, before it is looked who has them open.
var hostRemovals atomic.Uint64

// join makes f one of the handles of its file, which was so long when it was opened. removals is hostRemovals from before
// that. Systems that do not number files have the zero hostID; there each handle pays for itself and is given nothing back
// when the file is deleted.
func (f *hostFile) join(size int64, removals uint64) error {
	if f.id == (hostID{}) {
		f.inode, f.paid = &hostInode{}, &payment{}
		return nil
	}
	hostInodes.mu.Lock()
	if f.inode = hostInodes.open[f.id]; f.inode == nil {
		f.inode = &hostInode{}
		hostInodes.open[f.id] = f.inode
	}
	f.inode.handles++
	hostInodes.mu.Unlock()

	h := f.fs
	h.mu.Lock()
	if f.paid = h.paid[f.id]; f.paid == nil {
		f.paid = &payment{}
		h.paid[f.id] = f.paid
	}
	f.paid.handles++
	h.mu.Unlock()

	f.inode.mu.Lock()
	if f.inode.loan.to != f.paid {
		f.paid.whole = f.paid.whole || size <= f.paid.bytes
	}
	f.inode.mu.Unlock()
	if hostRemovals.Load() == removals {
		return nil
	}
	// Whoever removed a file since may not have seen this handle. If it was this file, it was paid back already.
	st, _, err := statFile(f.f)
	if err == nil && st.Nlink == 0 {
		err = ErrNotExist
	}
	return err
}

// endLoan is called before the file is closed.
func (f *hostFile) endLoan() {
	f.inode.mu.Lock()
	defer f.inode.mu.Unlock()
	if f.inode.loan.to == f.paid {
		_, _ = f.ask()
	}
	f.fs.borrower.CompareAndSwap(f, nil)
}

// leave ends what join began, after the file was closed.
func (f *hostFile) leave() {
	if f.id == (hostID{}) {
		return
	}
	h := f.fs
	h.mu.Lock()
	if f.paid.handles--; f.paid.handles == 0 && f.paid.bytes == 0 && h.paid[f.id] == f.paid {
		delete(h.paid, f.id)
	}
	h.mu.Unlock()

	hostInodes.mu.Lock()
	defer hostInodes.mu.Unlock()
	if f.inode.handles--; f.inode.handles > 0 {
		return
	}
	delete(hostInodes.open, f.id)
	for _, r := range f.inode.refunds {
		r.to.give(r.payment.bytes)
	}
}

// departure is a name that is about to go.
type departure struct {
	fs    *HostDir
	there bool
	id    hostID
	file  *os.File // of a file that fs paid for, else nil
}

// leaving is called before a name is removed or another one is moved over it, and done afterwards.
func (h *HostDir) leaving(root *os.Root, name string) departure {
	d := departure{fs: h}
	if h.grow == nil && h.names == nil {
		return d
	}
	fi, err := root.Lstat(name)
	if err != nil {
		return d
	}
	_, d.id = hostStat(fi)
	d.there = true
	h.mu.Lock()
	paid := h.paid[d.id] != nil
	h.mu.Unlock()
	if paid && fi.Mode().IsRegular() {
		d.file, _ = h.openIn(root, name, os.O_RDONLY, 0) // if that is not allowed, nothing is given back
	}
	return d
}

func (d departure) same(fi fs.FileInfo) bool {
	_, id := hostStat(fi)
	return d.there && d.id == id && id != (hostID{})
}

// done gives back what the name was worth if it is gone.
func (d departure) done(gone bool) {
	if gone && d.there {
		d.fs.names.give(1)
	}
	if d.file == nil {
		return
	}
	id, paid := d.unnamed(gone)
	_ = d.file.Close()
	if paid != nil {
		d.fs.refund(id, paid)
	}
}

// unnamed returns the payment for the file if it has no name any more, and forgets it. As long as d.file is open the host
// gives the number to no other file.
func (d departure) unnamed(gone bool) (hostID, *payment) {
	st, id, err := statFile(d.file)
	if !gone || err != nil {
		return hostID{}, nil
	}
	if st.Nlink > 0 {
		return id, nil
	}
	h := d.fs
	h.mu.Lock()
	defer h.mu.Unlock()
	paid := h.paid[id]
	delete(h.paid, id)
	return id, paid
}

// refund gives back a payment, at once or when the last handle is closed.
func (h *HostDir) refund(id hostID, paid *payment) {
	hostRemovals.Add(1)
	hostInodes.mu.Lock()
	defer hostInodes.mu.Unlock()
	if inode := hostInodes.open[id]; inode != nil {
		inode.refunds = append(inode.refunds, refund{h.grow, paid})
		return
	}
	h.grow.give(paid.bytes)
}

// budget is a number of bytes or names to be used up. A nil budget has no bound.
type budget struct {
	mu   sync.Mutex
	all  int64
	left int64
	most int64 // that was ever used
}

func (b *budget) used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.all-b.left) // removing names that were there before gives, too
}

// peak is the most that was ever used.
func (b *budget) peak() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most
}

// take uses up n, or as many as there are, and returns how many.
func (b *budget) take(n int64) int64 {
	if b == nil || n <= 0 {
		return n
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, b.left)
	b.left -= n
	b.most = max(b.most, b.all-b.left)
	return n
}

func (b *budget) give(n int64) {
	if b != nil && n > 0 {
		b.mu.Lock()
		b.left += n
		b.mu.Unlock()
	}
}
