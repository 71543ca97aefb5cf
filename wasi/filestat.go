package wasi

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// File types of preview1.
const (
	filetypeUnknown   = 0
	filetypeBlock     = 1
	filetypeCharacter = 2
	filetypeDirectory = 3
	filetypeRegular   = 4
	filetypeSocket    = 6
	filetypeLink      = 7
)

var filetypes = [...]byte{
	vfs.KindUnknown: filetypeUnknown,
	vfs.KindRegular: filetypeRegular,
	vfs.KindDir:     filetypeDirectory,
	vfs.KindLink:    filetypeLink,
	vfs.KindChar:    filetypeCharacter,
	vfs.KindBlock:   filetypeBlock,
	vfs.KindSocket:  filetypeSocket,
}

func filetype(k vfs.Kind) byte {
	if int(k) < len(filetypes) {
		return filetypes[k]
	}
	return filetypeUnknown
}

// putFilestat stores a filestat (64 bytes):
//
//	0 dev u64 | 8 ino u64 | 16 filetype u8 | 24 nlink u64 | 32 size u64 | 40 atim u64 | 48 mtim u64 | 56 ctim u64
func putFilestat(out []byte, st *vfs.Stat) {
	binary.LittleEndian.PutUint64(out, st.Dev)
	binary.LittleEndian.PutUint64(out[8:], st.Ino)
	clear(out[16:24])
	out[16] = filetype(st.Kind)
	binary.LittleEndian.PutUint64(out[24:], st.Nlink)
	binary.LittleEndian.PutUint64(out[32:], uint64(max(0, st.Size)))
	binary.LittleEndian.PutUint64(out[40:], uint64(max(0, st.Atime)))
	binary.LittleEndian.PutUint64(out[48:], uint64(max(0, st.Mtime)))
	binary.LittleEndian.PutUint64(out[56:], uint64(max(0, st.Ctime)))
}

const filestatBytes = 64

// fdFilestatGet implements fd_filestat_get: fd, result offset of a filestat. The standard streams are character
// devices with inodes of their own on a device of their own (0).
//   - ENOTCAPABLE: without the right FD_FILESTAT_GET
func fdFilestatGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	d, errno := s.fdWith(uint32(p[0]), rightFdFilestatGet)
	if errno != ErrnoSuccess {
		return errno
	}
	out, errno := m.bytes(uint32(p[1]), filestatBytes)
	if errno != ErrnoSuccess {
		return errno
	}
	if d.kind != kindFile && d.kind != kindDir {
		putFilestat(out, &vfs.Stat{Ino: uint64(d.kind), Kind: vfs.KindChar, Nlink: 1})
		return ErrnoSuccess
	}
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return errno
	}
	st, err := h.Stat()
	if err != nil {
		return s.errno(err)
	}
	putFilestat(out, &st)
	return ErrnoSuccess
}

// fdFilestatSetSize implements fd_filestat_set_size: fd, size.
//   - EINVAL: a directory, a standard stream, a size beyond 2^63-1, or without the right FD_FILESTAT_SET_SIZE (as
//     POSIX answers for a file that is not open for writing)
func fdFilestatSetSize(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess {
		return errno
	}
	if d.kind != kindFile || d.rights&rightFdFilestatSetSize == 0 {
		return ErrnoInval
	}
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return errno
	}
	if p[1] > math.MaxInt64 {
		return ErrnoInval
	}
	return s.errno(h.Truncate(int64(p[1])))
}

// times turns preview1's times and fstflags (which are vfs's) into vfs.Times. INVAL for an unknown flag or a time
// beyond the year 2262 that is to be set.
func times(atime, mtime, flags uint64) (vfs.Times, Errno) {
	f := uint32(flags)
	if f > 15 ||
		vfs.TimeFlags(f)&vfs.SetAtime != 0 && atime > math.MaxInt64 ||
		vfs.TimeFlags(f)&vfs.SetMtime != 0 && mtime > math.MaxInt64 {
		return vfs.Times{}, ErrnoInval
	}
	return vfs.Times{Atime: int64(atime), Mtime: int64(mtime), Flags: vfs.TimeFlags(f)}, ErrnoSuccess
}

// fdFilestatSetTimes implements fd_filestat_set_times: fd, atim, mtim, fst_flags.
//   - EINVAL: a time is to be set in two ways, no such flag, or a standard stream
//   - ENOTCAPABLE: without the right FD_FILESTAT_SET_TIMES
func fdFilestatSetTimes(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess {
		return errno
	}
	if d.kind != kindFile && d.kind != kindDir {
		return ErrnoInval
	}
	if d.rights&rightFdFilestatSetTimes == 0 {
		return ErrnoNotcapable
	}
	t, errno := times(p[1], p[2], p[3])
	if errno != ErrnoSuccess {
		return errno
	}
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return errno
	}
	return s.errno(h.SetTimes(t))
}

// sizeOf is the size of a regular file.
func (s *State) sizeOf(d *descriptor) (int64, Errno) {
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return 0, errno
	}
	st, err := h.Stat()
	return st.Size, s.errno(err)
}
