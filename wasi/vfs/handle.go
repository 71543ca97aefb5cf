package vfs

// Handle is an open file or folder of a [Namespace], what a descriptor of the guest refers to. It has no
// offset: that is the descriptor's. After Close every method gives ErrBadHandle.
//
// After [Namespace.Restore] a Handle refers to the same file as before, with the contents and size of the
// snapshot; if the snapshot has no such file (it was made later), every method gives ErrStale. Files on
// other mounts are not touched by a restore.
type Handle struct {
	kind Kind
}

// Kind is KindRegular or KindDir.
func (h *Handle) Kind() Kind { return h.kind }

// Flags returns OpenRead and OpenWrite as they were given to Open.
func (h *Handle) Flags() OpenFlags { return 0 }

// Path returns the absolute guest path, free of links, by which it was opened. It may name something else by now.
func (h *Handle) Path() string { return "" }

// ReadOnly reports whether the mount that it lies in refuses changes.
func (h *Handle) ReadOnly() bool { return false }

// ReadAt is io.ReaderAt: it gives io.EOF with fewer bytes than asked. Errors: ErrIsDir, ErrBadHandle (not
// opened with OpenRead), ErrInvalid (negative offset).
func (h *Handle) ReadAt(p []byte, off int64) (int, error) { return 0, ErrNotSupported }

// WriteAt writes at off, making the file longer if need be. Fewer bytes than asked come with an error, and
// those that were written stay. Errors: ErrIsDir, ErrBadHandle (not opened with OpenWrite), ErrNoSpace, ErrFileTooBig.
func (h *Handle) WriteAt(p []byte, off int64) (int, error) { return 0, ErrNotSupported }

// Append writes at the end of the file and returns the offset after the last byte written.
func (h *Handle) Append(p []byte) (n int, end int64, err error) { return 0, 0, ErrNotSupported }

// Stat describes the file as it is now.
func (h *Handle) Stat() (Stat, error) { return Stat{}, ErrNotSupported }

// SetTimes changes the times of the file or folder. It needs no OpenWrite.
func (h *Handle) SetTimes(t Times) error { return ErrNotSupported }

// Truncate sets the size. A larger one adds a hole, which takes no space. It needs OpenWrite (else ErrBadHandle).
func (h *Handle) Truncate(size int64) error { return ErrNotSupported }

// Allocate reserves space for a range and makes the file at least off+n bytes long.
func (h *Handle) Allocate(off, n int64) error { return ErrNotSupported }

// Sync brings the file to stable storage where there is one.
func (h *Handle) Sync(dataOnly bool) error { return ErrNotSupported }

// Entries returns the listing of a folder, "." and ".." first. With rewind a new one is taken; without, the
// one taken last is returned (a new one if there is none, or if it was dropped to save memory), so that the
// index of an entry is a stable cookie. The caller must not change the slice.
func (h *Handle) Entries(rewind bool) ([]DirEntry, error) { return nil, ErrNotSupported }

// Close gives the handle up. The space of a file without a name is freed with its last handle.
func (h *Handle) Close() error { return nil }
