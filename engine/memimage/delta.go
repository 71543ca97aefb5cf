package memimage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// A Delta is what a memory holds beyond its image: the pages that differ, and the size. It is immutable
// and may be loaded into any number of Linears of the same image.
type Delta struct {
	image   *Image
	size    uint64
	regions []region
	bytes   uint64
}

// region is a stretch of whole host pages.
type region struct {
	offset uint64
	data   []byte
}

// Bytes is the number of bytes that the delta holds.
func (d *Delta) Bytes() uint64 { return d.bytes }

// Size is the size of the memory in bytes.
func (d *Delta) Size() uint64 { return d.size }

// Save copies what the memory holds beyond its image, in time proportional to that (with Remap and Copy:
// to the memory).
func (l *Linear) Save() (*Delta, error) {
	d := &Delta{image: l.image, size: l.size}
	keep := func(offset, length uint64) error {
		d.regions = append(d.regions, region{offset, bytes.Clone(l.base[offset : offset+length])})
		d.bytes += length
		return nil
	}
	if err := l.eachChanged(keep); err != nil {
		return nil, fmt.Errorf("save linear memory: %w", err)
	}
	return d, nil
}

// Load makes the memory what it was when d was saved. The memory must be as New or Reset left it, with a limit
// of at least d's size; after an error it must be reset. A memory that grew by it needs [Linear.Rewind].
func (l *Linear) Load(d *Delta) error {
	switch {
	case d.image != l.image:
		return errors.New("load linear memory: it was saved over another image")
	case d.size > l.limit:
		return fmt.Errorf("load linear memory: %d bytes are more than its limit of %d", d.size, l.limit)
	}
	l.grow(max(d.size, l.size))
	for _, r := range d.regions {
		copy(l.base[r.offset:], r.data)
	}
	return nil
}

// eachChanged calls do for stretches that hold every host page which differs from the image, or from zero past it.
func (l *Linear) eachChanged(do func(offset, length uint64) error) error {
	if l.method == Scan || l.method == Pagemap {
		return l.eachPrivate(l.base[:l.size], do)
	}
	page := uint64(os.Getpagesize())
	var image []byte
	if l.image != nil {
		image = l.image.Bytes()
	}
	zero := make([]byte, page)
	for at := uint64(0); at < l.size; at += page {
		was := zero
		if at < uint64(len(image)) {
			was = image[at : at+page]
		}
		if !bytes.Equal(l.base[at:at+page], was) {
			if err := do(at, page); err != nil {
				return err
			}
		}
	}
	return nil
}
