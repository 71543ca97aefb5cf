//go:build !unix

package vfs

import (
	"io"
	"os"
)

// hostFD is an open file of the host.
type hostFD struct{ f *os.File }

func hostFDOf(f *os.File) hostFD { return hostFD{f} }

func (fd hostFD) read(p []byte, off int64) (int, error)  { return fd.f.ReadAt(p, off) }
func (fd hostFD) write(p []byte, off int64) (int, error) { return fd.f.WriteAt(p, off) }

// size is asked by seeking. The position in the file is used by nobody.
func (fd hostFD) size() (int64, error) { return fd.f.Seek(0, io.SeekEnd) }
