//go:build linux

package memimage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

func fromBytes(data []byte) (*Image, error) {
	fd, err := unix.MemfdCreate("cloche-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory image: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "cloche-image")
	if _, err = f.Write(data); err == nil {
		// Sealed, so that not even a fault of ours can change what instances share.
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	}
	var im *Image
	if err == nil {
		im, err = fromFile(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make memory image: %w", err), f.Close())
	}
	return im, nil
}

// pagemap is this process's /proc/self/pagemap, opened once; it says of each page whether it is private.
var pagemap = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/pagemap") })

// bestMethod tries each method on a page of our own.
var bestMethod = sync.OnceValue(func() Method {
	if _, err := pagemap(); err != nil {
		return Remap
	}
	probe, err := unix.Mmap(-1, 0, int(hostPage), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return Pagemap
	}
	defer func() { _ = unix.Munmap(probe) }()
	if err := (&Linear{base: probe}).scan(0, hostPage, 0, 0, func(uint64, uint64) error { return nil }); err != nil {
		// Without CAP_SYS_ADMIN the frame numbers are hidden but the flags are not.
		return Pagemap
	}
	return Scan
})

// pmScanArg is struct pm_scan_arg of linux/fs.h.
type pmScanArg struct {
	size, flags                                               uint64
	start, end, walkEnd                                       uint64
	vec, vecLen, maxPages                                     uint64
	categoryInverted, categoryMask, categoryAnyof, returnMask uint64
}

// pageRegion is struct page_region of linux/fs.h.
type pageRegion struct{ start, end, categories uint64 }

const (
	pagemapScanIoctl = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)
	pageIsWritten    = 1 << 1
	pageIsFile       = 1 << 2
	pageIsPresent    = 1 << 3
	pageIsSwapped    = 1 << 4
	pageIsZero       = 1 << 5 // the kernel's page of zeros, which reading maps
	scanProtect      = 1 << 0 // PM_SCAN_WP_MATCHING
)

// scanRegions is enough for a run of pandas in one call of the kernel.
const scanRegions = 1024

var regionPool = sync.Pool{New: func() any { r := make([]pageRegion, scanRegions); return &r }}

// scan calls do for every stretch of private pages (in memory or swapped, neither the file's nor the kernel's page of zeros) between two offsets that have
// the categories too. With scanProtect it protects them against writing.
func (l *Linear) scan(from, to, categories, flags uint64, do func(offset, length uint64) error) error {
	f, err := pagemap()
	if err != nil {
		return err
	}
	regions := regionPool.Get().(*[]pageRegion)
	defer regionPool.Put(regions)
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(l.base))))
	for at, end := base+from, base+to; at < end; {
		arg := pmScanArg{
			flags: flags, start: at, end: end,
			vec: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(*regions)))), vecLen: uint64(len(*regions)),
			categoryInverted: pageIsFile | pageIsZero, categoryMask: pageIsFile | pageIsZero | categories,
			categoryAnyof: pageIsPresent | pageIsSwapped,
		}
		arg.size = uint64(unsafe.Sizeof(arg))
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScanIoctl, uintptr(unsafe.Pointer(&arg)))
		if errno != 0 {
			return fmt.Errorf("ioctl PAGEMAP_SCAN: %w", errno)
		}
		// Linux fills a buffer of 512 regions at a time, and walkEnd stays where the last full one ended.
		at = arg.walkEnd
		for _, r := range (*regions)[:n] {
			if err := do(r.start-base, r.end-r.start); err != nil {
				return err
			}
			at = max(at, r.end)
		}
	}
	return nil
}

// eachPrivate is the [looker] for private pages.
func (l *Linear) eachPrivate(from, to uint64, do func(offset, length uint64) error) error {
	if l.method == Pagemap {
		return l.eachPrivateEntry(from, to, do)
	}
	return l.scan(from, to, 0, 0, do)
}

// Flags of an entry of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst).
const (
	entryFile    = 1 << 61
	entrySwapped = 1 << 62
	entryPresent = 1 << 63
)

func (l *Linear) eachPrivateEntry(from, to uint64, do func(offset, length uint64) error) error {
	f, err := pagemap()
	if err != nil {
		return err
	}
	first := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(l.base)))) / hostPage // the number of the memory's first page
	buf := make([]byte, 64<<10)
	var start, length uint64 // the stretch being collected
	for at := from; at < to; {
		want := min(int((to-at)/hostPage)*8, len(buf))
		if _, err := f.ReadAt(buf[:want], int64(first+at/hostPage)*8); err != nil {
			return fmt.Errorf("read pagemap: %w", err)
		}
		for i := 0; i < want; i += 8 {
			e := binary.NativeEndian.Uint64(buf[i:])
			if e&(entryPresent|entrySwapped) != 0 && e&entryFile == 0 {
				if length == 0 {
					start = at
				}
				length += hostPage
			} else if length > 0 {
				if err := do(start, length); err != nil {
					return err
				}
				length = 0
			}
			at += hostPage
		}
	}
	if length > 0 {
		return do(start, length)
	}
	return nil
}

func dontNeed(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }

// singly has the system keep anonymous memory in pages of the usual size. It may else make a huge page of some that are there
// and others that are not, at any time and in the background: these are then private, and are written to, without a fault
// (see pageList).
func singly(b []byte) { _ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) } // it fails where there are no huge pages

// threadFaults is the number of page faults that the calling thread has had. A fault that is repaired from disk
// counts as major, every other as minor.
func threadFaults() (int64, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return u.Minflt + u.Majflt, nil
}
