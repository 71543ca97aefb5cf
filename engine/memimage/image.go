// Package memimage backs linear memory by copy-on-write mappings of a frozen image, so that a new
// instance costs page faults instead of copies.
//
// An [Image] is immutable and may back any number of Linears, from several goroutines. A [Linear] belongs
// to one instance and is not safe for concurrent use. Each of its host pages is shared (still the image's),
// private (written by the guest) or absent (past the image, reads as zero):
//
//	0            image size            size             capacity
//	|  shared or private  |  absent or private  |  reserved, never reached  |
//
// [Linear.Reset] makes it equal to the image again, byte for byte. How private pages are found depends
// on the system; see [Method]. No lock is held across calls into this package.
package memimage

import (
	"errors"
	"fmt"
	"os"
)

// PageSize is a WebAssembly page in bytes. Images and sizes are whole numbers of them.
const PageSize = 64 << 10

// MaxBytes is the most that one Linear can hold: a page less than the 4 GiB of 32-bit WebAssembly, so that
// a length in bytes always fits 32 bits.
const MaxBytes = 1<<32 - PageSize

// An Image is the frozen contents of a linear memory.
type Image struct {
	file *os.File // nil for an image without file, which is then copied
	data []byte   // the contents, read-only
	own  bool     // data is a mapping of file
}

// Open maps the image file at path. The file must not change as long as the image is used; its length
// must be a whole number of [PageSize].
func Open(path string) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open memory image: %w", err)
	}
	im, err := fromFile(f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open memory image %s: %w", path, err)
	}
	return im, nil
}

// Write makes an image file of data, whose length must be a whole number of [PageSize], for Open. The file must not exist.
//
// It is written in stretches of huge pages and out of memory that is there, since that is how Linux keeps a file in huge
// pages: an instance then has a few large entries of page tables instead of thousands, which costs fewer faults, and less
// when private pages are looked for.
func Write(path string, data []byte) error {
	if err := checkSize(int64(len(data))); err != nil {
		return fmt.Errorf("write memory image: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write memory image: %w", err)
	}
	stretch := make([]byte, window)
	for len(data) > 0 && err == nil {
		n := copy(stretch, data)
		_, err = f.Write(stretch[:n])
		data = data[n:]
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write memory image %s: %w", path, err)
	}
	return nil
}

// FromBytes makes an image of a copy of data, whose length must be a whole number of [PageSize]. On Linux
// it lives in a memfd, which every Linear of it shares.
func FromBytes(data []byte) (*Image, error) {
	if err := checkSize(int64(len(data))); err != nil {
		return nil, fmt.Errorf("make memory image: %w", err)
	}
	return fromBytes(data)
}

// Bytes are the contents. They must not be written.
func (im *Image) Bytes() []byte { return im.data }

// Size is the length in bytes.
func (im *Image) Size() int { return len(im.data) }

// Close unmaps the image. No Linear of it may be used afterwards, except to free it.
func (im *Image) Close() error {
	var err error
	if im.own {
		err = unmap(im.data)
	}
	im.data, im.own = nil, false
	if im.file != nil {
		err = errors.Join(err, im.file.Close())
		im.file = nil
	}
	return err
}

func checkSize(n int64) error {
	switch {
	case n == 0:
		return errors.New("it is empty")
	case n%PageSize != 0:
		return fmt.Errorf("%d bytes is not a whole number of 64 KiB pages", n)
	case n > MaxBytes:
		return fmt.Errorf("%d bytes is more than %d", n, uint64(MaxBytes))
	}
	return nil
}
