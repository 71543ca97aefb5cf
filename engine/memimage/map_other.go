//go:build !unix

package memimage

import (
	"io"
	"os"
	"slices"
)

func fromFile(f *os.File) (*Image, error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	if err := checkSize(int64(len(data))); err != nil {
		return nil, err
	}
	return &Image{file: f, data: data}, nil
}

func fromBytes(data []byte) (*Image, error) { return &Image{data: slices.Clone(data)}, nil }

func unmap([]byte) error { return nil }

func bestMethod() Method { return Copy }

func (l *Linear) reserve(capacity uint64) error {
	l.method = Copy
	l.copyReserve(capacity)
	return nil
}

func (l *Linear) release() {}

func (l *Linear) grow(size uint64) {
	l.copyGrow(size)
	l.size = size
}

func (l *Linear) dropTail(from uint64) error {
	clear(l.base[from:l.size])
	return nil
}

func (l *Linear) restore() error {
	copy(l.base, l.image.Bytes())
	return nil
}

func dontNeed([]byte) error { panic("memimage: this system does not tell private pages") }

func threadFaults() (int64, error) { panic("memimage: this system does not tell private pages") }

func (l *Linear) eachPrivate(uint64, uint64, func(offset, length uint64) error) error {
	panic("memimage: this system does not tell private pages")
}
