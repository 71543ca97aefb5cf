//go:build unix && !linux

package memimage

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func fromBytes(data []byte) (*Image, error) {
	f, err := os.CreateTemp("", "cloche-image-*")
	if err != nil {
		return nil, fmt.Errorf("make memory image: %w", err)
	}
	err = os.Remove(f.Name()) // it lives on as long as it is mapped
	if err == nil {
		_, err = f.Write(data)
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

func bestMethod() Method { return Remap }

// dontNeed maps fresh zero pages, since MADV_DONTNEED does not promise zeros here.
func dontNeed(b []byte) error {
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED|unix.MAP_NORESERVE)
	return err
}

func singly([]byte) {}

func (l *Linear) eachPrivate(uint64, uint64, func(offset, length uint64) error) error {
	panic("memimage: this system does not tell private pages")
}

func threadFaults() (int64, error) { panic("memimage: this system does not tell private pages") }
