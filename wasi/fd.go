package wasi

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// fdflags are the flags of a descriptor.
type fdflags uint16

const (
	fdflagAppend fdflags = 1 << iota
	fdflagDsync
	fdflagNonblock
	fdflagRsync
	fdflagSync
	fdflagsAll = fdflagSync<<1 - 1
)

// fdAdvise implements fd_advise: fd, offset, len, advice (0 to 5). Advice changes nothing here.
//   - EBADF, EISDIR, ESPIPE: not open, a directory, a standard stream
//   - EINVAL: no such advice, or a range beyond 2^63-1
//   - ENOTCAPABLE: without the right FD_ADVISE
func fdAdvise(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	if _, _, errno := s.file(uint32(p[0]), rightFdAdvise); errno != ErrnoSuccess {
		return errno
	}
	if p[1] > math.MaxInt64 || p[2] > math.MaxInt64 || uint32(p[3]) > 5 {
		return ErrnoInval
	}
	return ErrnoSuccess
}

// fdAllocate implements fd_allocate: fd, offset, len. The file is at least offset+len bytes long afterwards.
//   - EBADF, EISDIR, ESPIPE: not open, a directory, a standard stream
//   - EINVAL: len is zero
//   - EFBIG, ENOSPC: the range ends beyond what a file may hold, or the quota
func fdAllocate(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	_, h, errno := s.file(uint32(p[0]), rightFdAllocate)
	if errno != ErrnoSuccess {
		return errno
	}
	off, n := p[1], p[2]
	switch {
	case n == 0:
		return ErrnoInval
	case off > math.MaxInt64 || n > math.MaxInt64-off:
		return ErrnoFbig
	}
	return s.errno(h.Allocate(int64(off), int64(n)))
}

// fdClose implements fd_close: fd. Preopens and standard streams may be closed too.
func fdClose(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	if _, errno := s.fd(uint32(p[0])); errno != ErrnoSuccess {
		return errno
	}
	return s.errno(s.unset(uint32(p[0])))
}

// fdDatasync implements fd_datasync: fd.
//   - EBADF, ENOTCAPABLE: not open, or without the right FD_DATASYNC (a directory never has it)
//   - EINVAL: a standard stream
func fdDatasync(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	return s.sync(uint32(p[0]), rightFdDatasync, true)
}

// fdSync implements fd_sync: fd. Errors as of fd_datasync, with the right FD_SYNC.
func fdSync(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	return s.sync(uint32(p[0]), rightFdSync, false)
}

func (s *State) sync(n uint32, need rights, dataOnly bool) Errno {
	d, errno := s.fd(n)
	if errno != ErrnoSuccess {
		return errno
	}
	if d.kind != kindFile && d.kind != kindDir {
		return ErrnoInval
	}
	if missing := need &^ d.rights; missing != 0 {
		return lacking(missing)
	}
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return errno
	}
	return s.errno(h.Sync(dataOnly))
}

// fdFdstatGet implements fd_fdstat_get: fd, result offset of an fdstat (24 bytes):
//
//	0 filetype u8 | 2 flags u16 | 8 rights_base u64 | 16 rights_inheriting u64
func fdFdstatGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess {
		return errno
	}
	out, errno := m.bytes(uint32(p[1]), 24)
	if errno != ErrnoSuccess {
		return errno
	}
	clear(out)
	switch d.kind {
	case kindFile:
		out[0] = filetypeRegular
	case kindDir:
		out[0] = filetypeDirectory
	default:
		out[0] = filetypeCharacter
	}
	binary.LittleEndian.PutUint16(out[2:], uint16(d.flags))
	binary.LittleEndian.PutUint64(out[8:], uint64(d.rights))
	binary.LittleEndian.PutUint64(out[16:], uint64(d.inheriting))
	return ErrnoSuccess
}

// fdFdstatSetFlags implements fd_fdstat_set_flags: fd, flags.
//   - EINVAL: no such flag
//   - ENOTCAPABLE: without the right FD_FDSTAT_SET_FLAGS
func fdFdstatSetFlags(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	d, errno := s.fdWith(uint32(p[0]), rightFdFdstatSetFlags)
	if errno != ErrnoSuccess {
		return errno
	}
	if uint32(p[1])&^uint32(fdflagsAll) != 0 {
		return ErrnoInval
	}
	d.flags = fdflags(p[1])
	return ErrnoSuccess
}

// fdFdstatSetRights implements fd_fdstat_set_rights: fd, rights_base, rights_inheriting. Rights can only be
// dropped.
//   - ENOTCAPABLE: a right that the descriptor does not have
func fdFdstatSetRights(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess {
		return errno
	}
	base, inheriting := rights(p[1]), rights(p[2])
	if base&^d.rights != 0 || inheriting&^d.inheriting != 0 {
		return ErrnoNotcapable
	}
	d.rights, d.inheriting = base, inheriting
	return ErrnoSuccess
}

// fdPrestatGet implements fd_prestat_get: fd, result offset of a prestat (8 bytes): 0 tag u8 (0) | 4 length u32.
//   - EBADF: not a preopen, by which guests know that there are no more
func fdPrestatGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess || !d.preopen {
		return ErrnoBadf
	}
	out, errno := m.bytes(uint32(p[1]), 8)
	if errno != ErrnoSuccess {
		return errno
	}
	clear(out)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(d.path.String())))
	return ErrnoSuccess
}

// fdPrestatDirName implements fd_prestat_dir_name: fd, path (offset), path_len.
//   - EBADF: not a preopen
//   - ENAMETOOLONG: the name is longer than path_len; nothing is stored
func fdPrestatDirName(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess || !d.preopen {
		return ErrnoBadf
	}
	out, errno := m.bytes(uint32(p[1]), uint32(p[2]))
	if errno != ErrnoSuccess {
		return errno
	}
	name := d.path.String()
	if len(out) < len(name) {
		return ErrnoNametoolong
	}
	copy(out, name)
	return ErrnoSuccess
}

const direntBytes = 24

// fdReaddir implements fd_readdir: fd, buf, buf_len, cookie, result offset of the number of bytes used. Fewer than
// buf_len mean the end; the last entry is cut off where the buffer ends. A dirent is followed by its name:
//
//	0 next cookie u64 | 8 ino u64 | 16 name length u32 | 20 filetype u8
//
// Cookie 0 takes a new listing; others are places in it, so that no entry is seen twice or left out however the
// directory changes meanwhile.
//   - EBADF, ENOTDIR: not open, no directory
//   - EINVAL: a cookie that was never given out
//   - ENOTCAPABLE: without the right FD_READDIR
//   - EOVERFLOW: more than vfs.MaxListing entries
func fdReaddir(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	_, h, errno := s.dir(uint32(p[0]), rightFdReaddir)
	if errno != ErrnoSuccess {
		return errno
	}
	buf, errno := m.bytes(uint32(p[1]), uint32(p[2]))
	if errno != ErrnoSuccess {
		return errno
	}
	result, errno := m.word(uint32(p[4]))
	if errno != ErrnoSuccess {
		return errno
	}
	cookie := p[3]
	entries, err := h.Entries(cookie == 0)
	if err != nil {
		return s.errno(err)
	}
	if cookie > uint64(len(entries)) {
		return ErrnoInval
	}
	size := len(buf)
	for i := int(cookie); i < len(entries) && len(buf) > 0; i++ {
		buf = putDirent(buf, uint64(i)+1, &entries[i])
	}
	binary.LittleEndian.PutUint32(result, uint32(size-len(buf)))
	return ErrnoSuccess
}

// putDirent stores one entry, cut off where buf ends, and returns what is left of buf.
func putDirent(buf []byte, next uint64, e *vfs.DirEntry) []byte {
	var cut [direntBytes]byte
	head := cut[:]
	if len(buf) >= direntBytes {
		head = buf[:direntBytes]
	}
	binary.LittleEndian.PutUint64(head, next)
	binary.LittleEndian.PutUint64(head[8:], e.Ino)
	binary.LittleEndian.PutUint32(head[16:], uint32(len(e.Name)))
	head[20], head[21], head[22], head[23] = filetype(e.Kind), 0, 0, 0
	if len(buf) < direntBytes {
		return buf[copy(buf, head):]
	}
	buf = buf[direntBytes:]
	return buf[copy(buf, e.Name):]
}

// fdRenumber implements fd_renumber: from, to. Number to, which must be open, is closed and becomes what from was.
// from is closed; nothing happens when they are the same.
//   - EBADF: one of them is not open
func fdRenumber(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	from, to := uint32(p[0]), uint32(p[1])
	d, errno := s.fd(from)
	if errno != ErrnoSuccess {
		return errno
	}
	if _, errno := s.fd(to); errno != ErrnoSuccess {
		return errno
	}
	if from == to {
		return ErrnoSuccess
	}
	moved := *d
	*d = descriptor{kind: kindClosed}
	s.open--
	s.lowest = min(s.lowest, int(from))
	old := s.fds[to]
	s.fds[to] = moved
	return s.errno(s.release(old))
}

// fdSeek implements fd_seek: fd, offset (signed), whence (0 start, 1 current, 2 end), result offset of the new one.
//   - EBADF, EISDIR, ESPIPE: not open, a directory, a standard stream
//   - EINVAL: no such whence, or a place before the start
//   - EOVERFLOW: a place beyond 2^63-1
//   - ENOTCAPABLE: without the right FD_SEEK (FD_TELL is enough to ask where it is)
func fdSeek(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	delta, whence := int64(p[1]), uint32(p[2])
	return s.seek(m, uint32(p[0]), delta, whence, uint32(p[3]))
}

// fdTell implements fd_tell: fd, result offset. Errors as of fd_seek.
func fdTell(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	return s.seek(m, uint32(p[0]), 0, whenceCurrent, uint32(p[1]))
}

const (
	whenceStart   = 0
	whenceCurrent = 1
	whenceEnd     = 2
)

func (s *State) seek(m guestMemory, n uint32, delta int64, whence, resultOff uint32) Errno {
	d, h, errno := s.file(n, 0)
	if errno != ErrnoSuccess {
		return errno
	}
	need := rightFdSeek
	if whence == whenceCurrent && delta == 0 && d.rights&rightFdTell != 0 {
		need = 0
	}
	if need&^d.rights != 0 {
		return ErrnoNotcapable
	}
	base := int64(0)
	switch whence {
	case whenceStart:
	case whenceCurrent:
		base = d.offset
	case whenceEnd:
		st, err := h.Stat()
		if err != nil {
			return s.errno(err)
		}
		base = st.Size
	default:
		return ErrnoInval
	}
	switch {
	case delta > 0 && base > math.MaxInt64-delta:
		return ErrnoOverflow
	case base+delta < 0:
		return ErrnoInval
	}
	if errno := m.putUint64(resultOff, uint64(base+delta)); errno != ErrnoSuccess {
		return errno
	}
	d.offset = base + delta
	return ErrnoSuccess
}
