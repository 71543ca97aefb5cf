//go:build linux

package memimage

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reserve makes a memory of size bytes, of which none is committed: a file in memory that is mapped once. Where such
// files are not to be had, it is anonymous memory.
func (s *store) reserve(size uint64) error {
	flags := unix.MAP_SHARED | unix.MAP_NORESERVE
	fd, err := unix.MemfdCreate("cloche-frozen", unix.MFD_CLOEXEC)
	if err == nil {
		s.file = os.NewFile(uintptr(fd), "cloche-frozen")
		if err := unix.Ftruncate(fd, int64(size)); err != nil {
			_ = s.file.Close()
			s.file, fd = nil, -1
		}
	}
	if s.file == nil {
		fd, flags = -1, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE
	}
	p, err := unix.MmapPtr(fd, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return err
	}
	// The mapping lasts as long as the process.
	s.mem = unsafe.Slice((*byte)(p), size)
	s.mappable = s.file != nil
	return nil
}

// write copies data into a run. The system copies it into the file faster than through the mapping, which would take
// a fault for each page.
func (a *arena) write(r run, data []byte) error {
	if a.file == nil {
		copy(a.page(r.at, r.n), data)
		return nil
	}
	_, err := a.file.WriteAt(data, int64(uint64(r.at)*hostPage))
	return err
}

// forget gives the memory of a run back; it reads as zero then.
func (a *arena) forget(r run) {
	var err error
	if a.file != nil {
		err = unix.Fallocate(int(a.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE,
			int64(uint64(r.at)*hostPage), int64(uint64(r.n)*hostPage))
	} else {
		err = dontNeed(a.page(r.at, r.n))
	}
	if err != nil {
		clear(a.page(r.at, r.n)) // what one guest wrote must not wait there for another
	}
}

// mapFrozen maps a run of the arena copy-on-write at an offset of the memory, in whole host pages.
func (l *Linear) mapFrozen(a *arena, offset uint64, r run) error {
	// MAP_FIXED replaces pages of our own reservation.
	_, err := unix.MmapPtr(int(a.file.Fd()), int64(uint64(r.at)*hostPage), unsafe.Pointer(&l.base[offset]), uintptr(uint64(r.n)*hostPage),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	return err
}

// unmapFrozen puts back what was below a run that mapFrozen mapped: the image, or nothing.
func (l *Linear) unmapFrozen(offset, length uint64) error {
	image := uint64(l.image.Size())
	if offset < image {
		part := min(length, image-offset)
		_, err := unix.MmapPtr(int(l.image.file.Fd()), int64(offset), unsafe.Pointer(&l.base[offset]), uintptr(part),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
		if err != nil {
			return err
		}
		offset, length = offset+part, length-part
	}
	if length == 0 {
		return nil
	}
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(&l.base[offset]), uintptr(length),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err == nil {
		singly(l.base[offset : offset+length])
	}
	return err
}
