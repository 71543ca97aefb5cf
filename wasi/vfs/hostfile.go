package vfs

import (
	"io"
	"math"
	"os"
	"runtime"
	"syscall"
)

// hostFile is an open file of the host. inode and paid are nil when growth has no bound.
type hostFile struct {
	fs    *HostDir
	f     *os.File
	fd    hostFD // of f
	id    hostID
	inode *hostInode
	paid  *payment
}

// maxTransfer bounds a single system call, since some systems take no more than 2^31-1 bytes.
const maxTransfer = 1 << 30

func (f *hostFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.fd.read(p[:min(len(p), maxTransfer)], off)
	if n < len(p) {
		n, err = f.readOn(p, off, n, err)
	}
	runtime.KeepAlive(f.f)
	return n, err
}

// readOn goes on after a system call that gave fewer bytes than asked. n and err are what it said.
func (f *hostFile) readOn(p []byte, off int64, n int, err error) (int, error) {
	for done := max(0, n); ; done += max(0, n) {
		switch {
		case done == len(p):
			return done, nil
		case err == io.EOF || err == nil && n == 0:
			return done, io.EOF
		case err != nil && err != syscall.EINTR:
			return done, hostError(err)
		}
		n, err = f.fd.read(p[done:min(len(p), done+maxTransfer)], off+int64(done))
	}
}

func (f *hostFile) WriteAt(p []byte, off int64) (n int, err error) {
	if f.paid == nil {
		return f.write(p, off)
	}
	f.inode.mu.Lock()
	if f.covered(p, off) {
		n, err = f.write(p, off)
	} else {
		n, err = f.writeBeyond(p, off)
	}
	f.inode.mu.Unlock()
	return n, err
}

func (f *hostFile) write(p []byte, off int64) (int, error) {
	n, err := f.fd.write(p[:min(len(p), maxTransfer)], off)
	if n < len(p) {
		n, err = f.writeOn(p, off, n, err)
	}
	runtime.KeepAlive(f.f)
	return n, err
}

// writeOn goes on after a system call that took fewer bytes than given. n and err are what it said.
func (f *hostFile) writeOn(p []byte, off int64, n int, err error) (int, error) {
	for done := max(0, n); ; done += max(0, n) {
		switch {
		case done == len(p):
			return done, nil
		case err == nil && n == 0:
			return done, ErrIO
		case err != nil && err != syscall.EINTR:
			return done, hostError(err)
		}
		n, err = f.fd.write(p[done:min(len(p), done+maxTransfer)], off+int64(done))
	}
}

// writeBeyond writes what is not covered by what was paid for the file. Preconditions: inode.mu is held.
func (f *hostFile) writeBeyond(p []byte, off int64) (int, error) {
	if f.fs.borrower.Load() != nil {
		f.inode.mu.Unlock()
		f.fs.recall(f.paid)
		f.inode.mu.Lock()
	}
	if f.paid.whole {
		return f.writePaid(p, off, 0)
	}
	size, err := f.ask()
	if err != nil {
		return 0, err
	}
	if off <= size-int64(len(p)) {
		f.borrow(size)
		return f.write(p, off)
	}
	return f.writePaid(p, off, size)
}

// writePaid writes as much as can be paid for. size is the file's, or 0 if it is no more than what was paid already.
// Preconditions: inode.mu is held.
func (f *hostFile) writePaid(p []byte, off, size int64) (int, error) {
	if off > math.MaxInt64-int64(len(p)) {
		return 0, ErrFileTooBig
	}
	free := max(size, f.paid.bytes)
	more := off + int64(len(p)) - free
	if more <= 0 || len(p) == 0 {
		return f.write(p, off)
	}
	got := f.fs.grow.take(more)
	fits := p[:max(0, int64(len(p))-(more-got))]
	if len(fits) == 0 {
		f.fs.grow.give(got)
		return 0, ErrNoSpace
	}
	f.paid.bytes += got
	n, err := f.write(fits, off)
	if err != nil { // what was not written after all comes back
		if now, err := f.size(); err == nil {
			f.unpay(free + got - max(free, now))
		}
		return n, err
	}
	if got < more {
		err = ErrNoSpace
	}
	return n, err
}

// unpay takes back a part of the payment. Preconditions: inode.mu is held.
func (f *hostFile) unpay(n int64) {
	if n > 0 {
		f.paid.bytes -= n
		f.fs.grow.give(n)
	}
}

// size asks for the size of the file.
func (f *hostFile) size() (int64, error) {
	size, err := f.fd.size()
	runtime.KeepAlive(f.f)
	return size, hostError(err)
}

// Append is not atomic against other programs that write to the file.
func (f *hostFile) Append(p []byte) (int, int64, error) {
	if f.paid == nil {
		size, err := f.size()
		if err != nil {
			return 0, 0, err
		}
		n, err := f.write(p, size)
		return n, size + int64(n), err
	}
	f.fs.recall(f.paid)
	f.inode.mu.Lock()
	defer f.inode.mu.Unlock()
	size, err := f.ask()
	if err != nil {
		return 0, 0, err
	}
	n, err := f.writePaid(p, size, size)
	return n, size + int64(n), err
}

func (f *hostFile) Stat() (Stat, error) {
	st, id, err := statFile(f.f)
	if err != nil {
		return Stat{}, hostError(err)
	}
	st.Dev = f.fs.dev(id.dev)
	return st, nil
}

func (f *hostFile) SetTimes(t Times) error {
	if !f.fs.write {
		return ErrReadOnly
	}
	return hostError(setFileTimes(f.f, t))
}

func (f *hostFile) Truncate(size int64) error {
	return f.resize(func(int64) int64 { return size }, func(int64) error { return f.f.Truncate(size) })
}

func (f *hostFile) Allocate(off, n int64) error {
	if off > 1<<62-n {
		return ErrFileTooBig
	}
	return f.resize(func(old int64) int64 { return max(old, off+n) }, func(old int64) error { return allocate(f.f, old, off, n) })
}

// resize makes a change to the size that turns the old one into to(old), if that can be paid.
func (f *hostFile) resize(to func(old int64) int64, change func(old int64) error) error {
	if f.paid == nil {
		old, err := f.size()
		if err != nil {
			return err
		}
		return hostError(change(old))
	}
	f.fs.recall(f.paid)
	f.inode.mu.Lock()
	defer f.inode.mu.Unlock()
	old, err := f.ask()
	if err != nil {
		return err
	}
	size := to(old)
	more := max(0, size-max(old, f.paid.bytes))
	if got := f.fs.grow.take(more); got < more {
		f.fs.grow.give(got)
		return ErrNoSpace
	}
	f.paid.bytes += more
	if err := change(old); err != nil {
		f.unpay(more)
		return hostError(err)
	}
	// What others made the file comes back to nobody; more than the size the file cannot cost.
	f.unpay(f.paid.bytes - min(size, max(0, f.paid.bytes-max(0, old-size))))
	f.paid.whole = size <= f.paid.bytes
	return nil
}

func (f *hostFile) Sync(bool) error { return hostError(f.f.Sync()) }

func (f *hostFile) Close() error {
	if f.paid != nil {
		f.endLoan()
	}
	f.fd = hostFDOf(nil) // other files may have the number from now on
	err := f.f.Close()
	if f.paid != nil {
		f.leave()
	}
	return hostError(err)
}
