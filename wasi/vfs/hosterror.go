package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// hostError turns an error of the host into one of ours.
func hostError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(Error); ok {
		return e
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if e := errnoError(errno); e != 0 {
			return e
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotExist
	case errors.Is(err, fs.ErrExist):
		return ErrExist
	case errors.Is(err, fs.ErrPermission):
		return ErrAccess
	case errors.Is(err, os.ErrClosed):
		return ErrStale
	}
	return ErrIO
}

func errnoError(e syscall.Errno) Error {
	switch e {
	case syscall.ENOENT:
		return ErrNotExist
	case syscall.EEXIST:
		return ErrExist
	case syscall.ENOTDIR:
		return ErrNotDir
	case syscall.EISDIR:
		return ErrIsDir
	case syscall.ELOOP:
		return ErrLoop
	case syscall.ENOTEMPTY:
		return ErrNotEmpty
	case syscall.EXDEV:
		return ErrCrossDevice
	case syscall.EROFS:
		return ErrReadOnly
	case syscall.ENOSPC, syscall.EDQUOT:
		return ErrHostSpace
	case syscall.ENAMETOOLONG:
		return ErrNameTooLong
	case syscall.EILSEQ:
		return ErrIllegalName
	case syscall.EPERM:
		return ErrPerm
	case syscall.EACCES, syscall.ENXIO, syscall.ENODEV:
		return ErrAccess
	case syscall.EINVAL:
		return ErrInvalid
	case syscall.EFBIG:
		return ErrFileTooBig
	case syscall.EBUSY, syscall.ETXTBSY, syscall.EAGAIN:
		return ErrBusy
	case syscall.ENOTSUP, syscall.ENOSYS:
		return ErrNotSupported
	case syscall.ESTALE:
		return ErrStale
	case syscall.EMLINK:
		return ErrTooManyLinks
	case syscall.EMFILE, syscall.ENFILE:
		return ErrHostFiles
	case syscall.EOVERFLOW:
		return ErrOverflow
	}
	return 0
}
