package wasi

import (
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// kind is what a descriptor stands for. The zero kind is a number that is not open.
type kind uint8

const (
	kindClosed kind = iota
	kindStdin
	kindStdout
	kindStderr
	kindFile
	kindDir
)

// descriptor is what a number of the guest's stands for. preview1 has no dup, so it is also the open file
// description of POSIX: offset and flags are its own.
type descriptor struct {
	kind     kind
	preopen  bool // path is its name
	readOnly bool // as an image said, for one that was not opened since
	lost     bool // its file was gone when it was carried over from an image: every use is STALE
	held     bool // the checkpoint has it: its handle must outlive it
	flags    fdflags
	access   vfs.OpenFlags // how to open it
	rights   rights
	// inheriting limits the rights of what is opened from it.
	inheriting rights
	offset     int64

	// handle is nil until the first use of a preopen or of a descriptor from an image: then path is opened.
	handle *vfs.Handle
	path   vfs.Path
}

// The table: fds[n] is descriptor n. New numbers are the lowest free ones and fd_renumber moves onto open ones
// only, so the table never grows beyond openFiles entries.

// fd returns descriptor n, valid until the table changes. BADF when n is not open.
func (s *State) fd(n uint32) (*descriptor, Errno) {
	if uint64(n) >= uint64(len(s.fds)) || s.fds[n].kind == kindClosed {
		return nil, ErrnoBadf
	}
	return &s.fds[n], ErrnoSuccess
}

// fdWith returns descriptor n if it has all the rights of need.
func (s *State) fdWith(n uint32, need rights) (*descriptor, Errno) {
	d, errno := s.fd(n)
	if errno != ErrnoSuccess {
		return nil, errno
	}
	if missing := need &^ d.rights; missing != 0 {
		return nil, lacking(missing)
	}
	return d, ErrnoSuccess
}

// file returns descriptor n and its handle if it is a regular file with all the rights of need. A directory is
// ISDIR, a standard stream SPIPE.
func (s *State) file(n uint32, need rights) (*descriptor, *vfs.Handle, Errno) {
	d, errno := s.fd(n)
	if errno != ErrnoSuccess {
		return nil, nil, errno
	}
	switch d.kind {
	case kindFile:
	case kindDir:
		return nil, nil, ErrnoIsdir
	default:
		return nil, nil, ErrnoSpipe
	}
	if missing := need &^ d.rights; missing != 0 {
		return nil, nil, lacking(missing)
	}
	h, errno := s.handle(d)
	return d, h, errno
}

// dir returns the handle of directory n if it has all the rights of need. Anything else is NOTDIR.
func (s *State) dir(n uint32, need rights) (*descriptor, *vfs.Handle, Errno) {
	d, errno := s.fd(n)
	if errno != ErrnoSuccess {
		return nil, nil, errno
	}
	if d.kind != kindDir {
		return nil, nil, ErrnoNotdir
	}
	if missing := need &^ d.rights; missing != 0 {
		return nil, nil, lacking(missing)
	}
	h, errno := s.handle(d)
	return d, h, errno
}

// handle returns d's open file, opening it at the first use of a descriptor that came from an image. A file that
// is not there any more is STALE: the guest did open it once.
func (s *State) handle(d *descriptor) (*vfs.Handle, Errno) {
	if d.handle != nil {
		return d.handle, ErrnoSuccess
	}
	if d.lost {
		return nil, ErrnoStale
	}
	h, err := s.fs.Open(nil, d.path, d.access)
	switch errno := s.errno(err); {
	case errno == ErrnoNoent || errno == ErrnoNotdir || errno == ErrnoIsdir:
		return nil, ErrnoStale
	case errno != ErrnoSuccess:
		return nil, errno
	}
	d.handle, d.held = h, false // a checkpoint that has d will open it again
	return h, ErrnoSuccess
}

// free returns the lowest number that is not open, MFILE when the guest has as many as it may.
func (s *State) free() (uint32, Errno) {
	if s.open >= s.openFiles {
		if s.reached != nil {
			s.reached(limits.OpenFiles)
		}
		return 0, ErrnoMfile
	}
	for ; s.lowest < len(s.fds); s.lowest++ {
		if s.fds[s.lowest].kind == kindClosed {
			return uint32(s.lowest), ErrnoSuccess
		}
	}
	s.fds = append(s.fds, descriptor{})
	return uint32(s.lowest), ErrnoSuccess
}

// set puts d at the free number n.
func (s *State) set(n uint32, d descriptor) {
	s.fds[n] = d
	s.open++
}

// unset closes descriptor n, which is open.
func (s *State) unset(n uint32) error {
	d := s.fds[n]
	s.fds[n] = descriptor{}
	s.open--
	s.lowest = min(s.lowest, int(n))
	return s.release(d)
}

// release closes d's file, or leaves that to the checkpoint that holds it.
func (s *State) release(d descriptor) error {
	switch {
	case d.handle == nil:
		return nil
	case d.held:
		s.checkpoint.orphans = append(s.checkpoint.orphans, d.handle)
		return nil
	}
	return d.handle.Close()
}
