//go:build unix && !linux

package memimage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// reserve makes a memory of size bytes, of which none is committed.
func (s *store) reserve(size uint64) error {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err == nil {
		s.mem = unsafe.Slice((*byte)(p), size) // the mapping lasts as long as the process
	}
	return err
}

// forget gives the memory of a run back; it reads as zero then.
func (a *arena) forget(r run) {
	b := a.page(r.at, r.n)
	clear(b) // the system may keep the pages for a while
	_ = unix.Madvise(b, unix.MADV_FREE)
}
