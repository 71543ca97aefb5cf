//go:build unix

package memimage

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func fromFile(f *os.File) (*Image, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkSize(fi.Size()); err != nil {
		return nil, err
	}
	// The mapping stays valid until Close; nothing else unmaps it.
	data, err := unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Image{file: f, data: data, own: true}, nil
}

func unmap(b []byte) error { return unix.Munmap(b) }

func (l *Linear) reserve(capacity uint64) error {
	if l.method == Copy {
		l.copyReserve(capacity)
		return nil
	}
	// Address space only: pages past the image become memory when the guest first touches them, and the
	// machine's own bounds check keeps it from touching any past the size it has been given.
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(capacity)+window,
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	// It begins where a page of page tables, or a huge page, may begin.
	before := -uintptr(p) % window
	l.base = unsafe.Slice((*byte)(unsafe.Add(p, before)), capacity)
	if before > 0 {
		_ = unix.MunmapPtr(p, before) // it was just mapped
	}
	_ = unix.MunmapPtr(unsafe.Add(p, before+uintptr(capacity)), window-before)
	singly(l.base)
	if err := l.mapImage(); err != nil {
		l.release()
		l.base = nil
		return err
	}
	return nil
}

// mapImage puts a fresh private mapping of the image at the start of the reservation.
func (l *Linear) mapImage() error {
	if l.image == nil {
		return nil
	}
	// MAP_FIXED replaces pages of our own reservation, which is at least as long.
	_, err := unix.MmapPtr(int(l.image.file.Fd()), 0, unsafe.Pointer(unsafe.SliceData(l.base)), uintptr(l.image.Size()),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	return err
}

func (l *Linear) release() {
	if l.method != Copy {
		// The address came from mmap in reserve and is not used again; an error can only be a bug.
		_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(l.base)), uintptr(cap(l.base)))
	}
}

func (l *Linear) grow(size uint64) {
	if l.method == Copy {
		l.copyGrow(size)
	}
	l.size = size
}

// dropTail gives back every page from offset from on, so that they read as zero.
func (l *Linear) dropTail(from uint64) error {
	tail := l.base[from:l.size]
	if l.method == Copy {
		clear(tail)
		return nil
	}
	l.private.cut(from)
	return dontNeed(tail)
}

func (l *Linear) restore() error {
	switch l.method {
	case Copy:
		copy(l.base, l.image.Bytes())
		return nil
	case Remap:
		return l.mapImage()
	default:
		return l.writeBack()
	}
}
