package vfs

import (
	"io"
	"math"
	"os"
	"sync/atomic"
)

// sharedFile is an open file of the host; Dup shares it. inode and paid are nil when growth has no bound.
type sharedFile struct {
	fs    *HostDir
	f     *os.File
	id    hostID
	inode *hostInode
	paid  *payment
	users atomic.Int32
}

type hostFile struct{ *sharedFile }

func (f *hostFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = hostError(err)
	}
	return n, err
}

func (f *hostFile) WriteAt(p []byte, off int64) (int, error) {
	if f.paid == nil {
		return f.write(p, off)
	}
	f.inode.mu.Lock()
	defer f.inode.mu.Unlock()
	if f.paid.whole {
		return f.writePaid(p, off, 0)
	}
	if off <= f.paid.bytes-int64(len(p)) {
		return f.write(p, off)
	}
	size, err := f.size()
	if err != nil {
		return 0, err
	}
	f.paid.whole = size <= f.paid.bytes
	return f.writePaid(p, off, size)
}

func (f *hostFile) write(p []byte, off int64) (int, error) {
	n, err := f.f.WriteAt(p, off)
	return n, hostError(err)
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

// size is asked by seeking, which costs two thirds of a stat; the position in the file is used by nobody.
func (f *hostFile) size() (int64, error) {
	size, err := f.f.Seek(0, io.SeekEnd)
	return size, hostError(err)
}

// Append is not atomic against other programs that write to the file.
func (f *hostFile) Append(p []byte) (int, int64, error) {
	write := func(p []byte, off, _ int64) (int, error) { return f.write(p, off) }
	if f.paid != nil {
		f.inode.mu.Lock()
		defer f.inode.mu.Unlock()
		write = f.writePaid
	}
	size, err := f.size()
	if err != nil {
		return 0, 0, err
	}
	n, err := write(p, size, size)
	return n, size + int64(n), err
}

func (f *hostFile) Stat() (Stat, error) {
	fi, err := f.f.Stat()
	if err != nil {
		return Stat{}, hostError(err)
	}
	st, _ := f.fs.statOf(fi)
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
	if f.paid != nil {
		f.inode.mu.Lock()
		defer f.inode.mu.Unlock()
	}
	old, err := f.size()
	if err != nil {
		return err
	}
	if f.paid == nil {
		return hostError(change(old))
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

func (f *hostFile) Dup(fs FS) (File, error) {
	if fs != FS(f.fs) {
		return nil, ErrStale
	}
	f.users.Add(1)
	return &hostFile{f.sharedFile}, nil
}

func (f *hostFile) Close() error {
	if f.users.Add(-1) > 0 {
		return nil
	}
	err := f.f.Close()
	if f.paid != nil {
		f.leave()
	}
	return hostError(err)
}
