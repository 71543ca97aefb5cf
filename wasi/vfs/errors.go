package vfs

import "io/fs"

// Error is what every operation of this package can fail with: a closed set, which package wasi turns into
// WASI error numbers in one place. Values compare with ==; errors.Is also matches the io/fs errors where one
// means the same. The only other errors that operations on files give are io.EOF from ReadAt and what
// [Options.Check] returned. Texts name no host path.
type Error uint8

// The errors. The word in brackets is the POSIX name that fits.
const (
	ErrNotExist     Error = iota + 1 // [ENOENT] no such file or folder, or a dangling link
	ErrExist                         // [EEXIST] the name is taken
	ErrNotDir                        // [ENOTDIR] a folder is needed
	ErrIsDir                         // [EISDIR] it is a folder
	ErrLoop                          // [ELOOP] more than MaxLinks links, or a link where none may be followed
	ErrNotEmpty                      // [ENOTEMPTY] the folder has entries
	ErrCrossDevice                   // [EXDEV] both names must lie in one mount
	ErrReadOnly                      // [EROFS] the mount refuses changes
	ErrNoSpace                       // [ENOSPC] the byte quota is used up
	ErrQuotaInodes                   // [ENOSPC] the inode quota is used up
	ErrNameTooLong                   // [ENAMETOOLONG] a name over MaxName
	ErrPathTooLong                   // [ENAMETOOLONG] a path over MaxPath
	ErrTooDeep                       // [ENAMETOOLONG] more than MaxDepth names in a path, or folders in each other
	ErrIllegalName                   // [EILSEQ] not UTF-8, or a name the FS below cannot hold
	ErrNotCapable                    // [ENOTCAPABLE] the path is absolute or climbs above the folder it starts from
	ErrPerm                          // [EPERM] never allowed on such an object
	ErrAccess                        // [EACCES] refused by the host, or neither a regular file nor a folder
	ErrInvalid                       // [EINVAL] an argument makes no sense here
	ErrFileTooBig                    // [EFBIG] the offset or size is over the file system's largest file
	ErrBusy                          // [EBUSY] a mount point, or a folder above one
	ErrNotSupported                  // [ENOTSUP] the FS below cannot do it
	ErrIO                            // [EIO] the FS below failed, or its data are damaged
	ErrBadHandle                     // [EBADF] closed, or not opened for this
	ErrStale                         // [ESTALE] the file is gone: rolled back by a restore, or replaced under a mount
	ErrTooManyLinks                  // [EMLINK] the file has too many hard links
	ErrHostSpace                     // [ENOSPC] the host's own disk is full
	ErrHostFiles                     // [ENFILE] the host has no descriptor left
	ErrOverflow                      // [EOVERFLOW] a listing over MaxListing

	errEnd // keep last
)

var errorTexts = [...]string{
	ErrNotExist:     "no such file or folder",
	ErrExist:        "name exists",
	ErrNotDir:       "not a folder",
	ErrIsDir:        "is a folder",
	ErrLoop:         "too many links",
	ErrNotEmpty:     "folder not empty",
	ErrCrossDevice:  "crosses a mount",
	ErrReadOnly:     "read-only file system",
	ErrNoSpace:      "no space left (bytes)",
	ErrQuotaInodes:  "no space left (files)",
	ErrNameTooLong:  "name too long",
	ErrPathTooLong:  "path too long",
	ErrTooDeep:      "path too deep",
	ErrIllegalName:  "illegal name",
	ErrNotCapable:   "path leaves its folder",
	ErrPerm:         "operation not permitted",
	ErrAccess:       "access refused",
	ErrInvalid:      "invalid argument",
	ErrFileTooBig:   "file too big",
	ErrBusy:         "mount point is busy",
	ErrNotSupported: "not supported",
	ErrIO:           "input/output error",
	ErrBadHandle:    "bad file handle",
	ErrStale:        "file no longer exists",
	ErrTooManyLinks: "too many hard links",
	ErrHostSpace:    "no space left on the host",
	ErrHostFiles:    "host has no free descriptor",
	ErrOverflow:     "too many entries",
}

func (e Error) Error() string {
	if e == 0 || e >= errEnd {
		return "unknown file error"
	}
	return errorTexts[e]
}

// Is lets errors.Is match the errors of io/fs.
func (e Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e == ErrNotExist
	case fs.ErrExist:
		return e == ErrExist || e == ErrNotEmpty
	case fs.ErrPermission:
		return e == ErrPerm || e == ErrAccess || e == ErrReadOnly || e == ErrNotCapable
	case fs.ErrInvalid:
		return e == ErrInvalid
	case fs.ErrClosed:
		return e == ErrBadHandle
	}
	return false
}
