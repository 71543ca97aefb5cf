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
	f, err := pagemap()
	if err != nil {
		return Remap
	}
	probe := make([]byte, 2*os.Getpagesize())
	probe[0] = 1
	start := uintptr(unsafe.Pointer(unsafe.SliceData(probe)))
	start -= start % uintptr(os.Getpagesize())
	if _, _, err := pagemapScan(f, start, start+uintptr(os.Getpagesize()), make([]pageRegion, 1)); err == nil {
		return Scan
	}
	// Without CAP_SYS_ADMIN the frame numbers are hidden but the flags are not.
	return Pagemap
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
	pageIsFile       = 1 << 2
	pageIsPresent    = 1 << 3
	pageIsSwapped    = 1 << 4
)

// pagemapScan fills regions with private pages (in memory or swapped, and not the file's) of [start, end),
// and says how far it came.
func pagemapScan(f *os.File, start, end uintptr, regions []pageRegion) (n int, next uintptr, err error) {
	arg := pmScanArg{
		start: uint64(start), end: uint64(end),
		vec: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(regions)))), vecLen: uint64(len(regions)),
		categoryInverted: pageIsFile, categoryMask: pageIsFile, categoryAnyof: pageIsPresent | pageIsSwapped,
		returnMask: pageIsPresent,
	}
	arg.size = uint64(unsafe.Sizeof(arg))
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScanIoctl, uintptr(unsafe.Pointer(&arg)))
	if errno != 0 {
		return 0, 0, fmt.Errorf("ioctl PAGEMAP_SCAN: %w", errno)
	}
	return int(r), uintptr(arg.walkEnd), nil
}

// scanRegions is enough for a run of pandas in one call of the kernel.
const scanRegions = 1024

var regionPool = sync.Pool{New: func() any { r := make([]pageRegion, scanRegions); return &r }}

// eachPrivate calls do for every stretch of private pages of b, which must begin at a host page.
func (l *Linear) eachPrivate(b []byte, do func(offset, length uint64) error) error {
	f, err := pagemap()
	if err != nil {
		return err
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	end := base + uintptr(len(b))
	if l.method == Pagemap {
		return eachPrivateEntry(f, base, end, do)
	}
	regions := regionPool.Get().(*[]pageRegion)
	defer regionPool.Put(regions)
	for at := base; at < end; {
		n, next, err := pagemapScan(f, at, end, *regions)
		if err != nil {
			return err
		}
		for _, r := range (*regions)[:n] {
			if err := do(r.start-uint64(base), r.end-r.start); err != nil {
				return err
			}
		}
		at = next
	}
	return nil
}

// Flags of an entry of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst).
const (
	entryFile    = 1 << 61
	entrySwapped = 1 << 62
	entryPresent = 1 << 63
)

func eachPrivateEntry(f *os.File, base, end uintptr, do func(offset, length uint64) error) error {
	page := uintptr(os.Getpagesize())
	buf := make([]byte, 64<<10)
	var from, length uint64 // the stretch being collected
	for at := base; at < end; {
		want := min(int((end-at)/page)*8, len(buf))
		if _, err := f.ReadAt(buf[:want], int64(at/page)*8); err != nil {
			return fmt.Errorf("read pagemap: %w", err)
		}
		for i := 0; i < want; i += 8 {
			e := binary.NativeEndian.Uint64(buf[i:])
			if e&(entryPresent|entrySwapped) != 0 && e&entryFile == 0 {
				if length == 0 {
					from = uint64(at - base)
				}
				length += uint64(page)
			} else if length > 0 {
				if err := do(from, length); err != nil {
					return err
				}
				length = 0
			}
			at += page
		}
	}
	if length > 0 {
		return do(from, length)
	}
	return nil
}

func dontNeed(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }

// threadFaults is the number of page faults that the calling thread has had. A fault that is repaired from disk
// counts as major, every other as minor.
func threadFaults() (int64, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return u.Minflt + u.Majflt, nil
}
