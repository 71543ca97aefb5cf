//go:build linux

package memimage

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Written pages are found by userfaultfd's asynchronous write protection (Linux 6.7, for any user): the first write to a
// protected page takes a fault that the kernel answers alone, and PAGEMAP_SCAN then calls the page written. Only private pages are
// protected and looked for, though telling them from the file's is most of what a look costs: the kernel may drop a page of the
// file at any time, and a pageList asks for marks that stay.
//
// A fault costs about a microsecond, and a turn writes mostly to the pages that the last one wrote to. So pages
// that were written stay unprotected and are compared at each Save, until more than maxSame of them did not
// change; then all are protected anew. A memory with few private pages is not watched at all: all of them are compared.
// Watching has its price, which comparing fewSame pages does not reach: the kernel no longer maps the neighbours of a page that is
// read, and a fault that has marked no page has all page tables looked through (see pageList).
//
//	protected --written--> unprotected --too many of them do not change--> protected
const (
	fewSame  = 256
	maxSame  = 64
	minSaves = 2 // before them none is watched: many a fork has one turn
)

// uffdioAPI is struct uffdio_api of linux/userfaultfd.h.
type uffdioAPI struct{ api, features, ioctls uint64 }

// uffdioRegister is struct uffdio_register; uffdio_range is its first two fields.
type uffdioRegister struct{ start, length, mode, ioctls uint64 }

const (
	uffdUserModeOnly = 1
	uffdAPI          = 0xaa
	uffdWPAsync      = 1 << 15
	uffdUnpopulated  = 1 << 13
	uffdModeWP       = 1 << 1

	ioctlUffdAPI        = 0xc018aa3f // _IOWR(0xaa, 0x3f, struct uffdio_api)
	ioctlUffdRegister   = 0xc020aa00 // _IOWR(0xaa, 0x00, struct uffdio_register)
	ioctlUffdUnregister = 0x8010aa01 // _IOR(0xaa, 0x01, struct uffdio_range)
)

// watcher is the process's userfaultfd, or -1 where there is none that will do.
var watcher = sync.OnceValue(func() int {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|uffdUserModeOnly, 0, 0)
	if errno != 0 {
		return -1
	}
	arg := uffdioAPI{api: uffdAPI, features: uffdWPAsync | uffdUnpopulated}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, ioctlUffdAPI, uintptr(unsafe.Pointer(&arg))); errno != 0 {
		_ = unix.Close(int(fd))
		return -1
	}
	return int(fd)
})

// watch protects the pages of which more than a few, unchanged, would have to be compared again.
func (l *Linear) watch(unchanged int) error {
	most := fewSame
	if l.watched {
		most = maxSame
	}
	if unchanged <= most || l.saves < minSaves || l.method != Scan || watcher() < 0 {
		return nil
	}
	if !l.watched {
		arg := uffdioRegister{start: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(l.base)))), length: uint64(cap(l.base)), mode: uffdModeWP}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(watcher()), ioctlUffdRegister, uintptr(unsafe.Pointer(&arg))); errno != 0 {
			return nil // everything is compared
		}
		l.watched, l.registered = true, true
	}
	if err := l.scan(0, l.size, pageIsWritten, scanProtect, func(uint64, uint64) error { return nil }); err != nil {
		l.written.known = false
		return err
	}
	l.written.empty()
	return nil
}

// unwatch ends the watching, which costs faults where nobody asks.
func (l *Linear) unwatch() {
	l.watched = false
	if !l.registered {
		return
	}
	l.registered = false
	arg := [2]uint64{uint64(uintptr(unsafe.Pointer(unsafe.SliceData(l.base)))), uint64(cap(l.base))}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(watcher()), ioctlUffdUnregister, uintptr(unsafe.Pointer(&arg))) // it was registered or it was not
}

// eachWritten is the [looker] for private pages that are not protected.
func (l *Linear) eachWritten(from, to uint64, do func(offset, length uint64) error) error {
	return l.scan(from, to, pageIsWritten, 0, do)
}
