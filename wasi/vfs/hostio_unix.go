//go:build unix

package vfs

import (
	"io"
	"os"
	"syscall"
)

// hostFD is the descriptor of an open file of the host. Small reads and writes go straight to it: what os.File does around
// a system call takes up to a tenth of their time.
//
// That nobody closes the file in the middle of one is thus not seen to by os.File, but by this package: a File belongs to
// one goroutine at a time.
type hostFD int

func hostFDOf(f *os.File) hostFD { return hostFD(f.Fd()) }

// read and write are one system call, which may do less than asked.
func (fd hostFD) read(p []byte, off int64) (n int, err error) {
	n, err = syscall.Pread(int(fd), p, off)
	return
}

func (fd hostFD) write(p []byte, off int64) (n int, err error) {
	n, err = syscall.Pwrite(int(fd), p, off)
	return
}

// size is asked by seeking, which costs two thirds of a stat. The position in the file is used by nobody.
func (fd hostFD) size() (int64, error) {
	for {
		size, err := syscall.Seek(int(fd), 0, io.SeekEnd)
		if err != syscall.EINTR {
			return size, err
		}
	}
}
