package wasi

import (
	"context"
	"encoding/binary"
	"io"
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

// fdAdvise implements fd_advise: fd, offset, len, advice (0 to 5). Advice changes nothing here.
//   - EBADF, EISDIR, ESPIPE: not open, a directory, a standard stream
//   - EINVAL: no such advice, or a range beyond 2^63-1
//   - ENOTCAPABLE: without the right FD_ADVISE
func fdAdvise(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	if _, _, errno := s.file(uint32(p[0]), rightFdAdvise, ErrnoSpipe); errno != ErrnoSuccess {
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
	_, h, errno := s.file(uint32(p[0]), rightFdAllocate, ErrnoSpipe)
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

// begin checks all that a guest passed to one of the four calls that move bytes: the buffers, which it leaves in
// s.buffers until finish, and the place of the result.
func (s *State) begin(m guestMemory, iovsOff, iovsLen, resultOff uint64) (result []byte, errno Errno) {
	if s.buffers, errno = m.iovecs(s.buffers, uint32(iovsOff), uint32(iovsLen)); errno != ErrnoSuccess {
		return nil, errno
	}
	return m.word(uint32(resultOff))
}

// finish stores how many bytes were moved. An error counts only when there were none: else the next call meets it.
func (s *State) finish(result []byte, n int, errno Errno) Errno {
	if len(s.buffers) == 1 {
		s.buffers[0] = nil // costs a tenth of clear
	} else {
		clear(s.buffers)
	}
	if n == 0 && errno != ErrnoSuccess {
		return errno
	}
	binary.LittleEndian.PutUint32(result, uint32(n))
	return ErrnoSuccess
}

// eachPiece calls move, a method of h, for the bytes of s.buffers and the places in the file from off on, in pieces of at
// most pieceBytes. It ends when one moves fewer bytes than it was given or fails, and looks between them whether the run
// may go on.
func (s *State) eachPiece(ctx context.Context, h *vfs.Handle, off int64, move func(h *vfs.Handle, p []byte, off int64) (int, error)) (total int, errno Errno) {
	unchecked := 0
	for _, buf := range s.buffers {
		for len(buf) > 0 {
			if unchecked >= pieceBytes {
				s.stopIfOver(ctx)
				unchecked = 0
			}
			piece := buf[:min(len(buf), pieceBytes)]
			n, err := move(h, piece, off+int64(total))
			total += n
			if err != nil && err != io.EOF {
				return total, s.errno(err)
			}
			if n < len(piece) {
				return total, ErrnoSuccess
			}
			unchecked += n
			buf = buf[n:]
		}
	}
	return total, ErrnoSuccess
}

// fdRead implements fd_read: fd, iovs, iovs_len, result offset of the number of bytes. Zero bytes mean the end.
//   - EBADF: not open for reading
//   - EISDIR: a directory
//   - EFAULT, EINVAL: an iovec leaves memory; more than 1,024 of them or 2^31-1 bytes
//   - EINTR, EAGAIN: standard input: interrupted, or nothing there and NONBLOCK set
func fdRead(ctx context.Context, s *State, m guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess {
		return errno
	}
	if d.kind == kindDir {
		return ErrnoIsdir
	}
	if d.rights&rightFdRead == 0 {
		return ErrnoBadf
	}
	result, errno := s.begin(m, p[1], p[2], p[3])
	if errno != ErrnoSuccess {
		return errno
	}
	if d.kind == kindStdin {
		n, errno := s.readInput(ctx, d.flags&fdflagNonblock != 0)
		return s.finish(result, n, errno)
	}
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return errno
	}
	n, errno := s.eachPiece(ctx, h, d.offset, (*vfs.Handle).ReadAt)
	d.offset += int64(n)
	return s.finish(result, n, errno)
}

// readInput reads what there is, waiting for the first bytes only.
func (s *State) readInput(ctx context.Context, nonblock bool) (int, Errno) {
	total := 0
	for _, buf := range s.buffers {
		if len(buf) == 0 {
			continue
		}
		if total > 0 && !s.stdin.more() {
			break
		}
		n, errno := s.stdin.read(ctx, s.clock, buf, nonblock)
		total += n
		if errno != ErrnoSuccess || n < len(buf) {
			return total, errno
		}
	}
	return total, ErrnoSuccess
}

// fdPread implements fd_pread: fd, iovs, iovs_len, offset, result offset. The descriptor's own offset stays.
// Errors as of fd_read, and:
//   - ESPIPE: standard input
//   - EINVAL: an offset beyond 2^63-1
//   - ENOTCAPABLE: without the right FD_SEEK
func fdPread(ctx context.Context, s *State, m guestMemory, p []uint64) Errno {
	_, h, errno := s.file(uint32(p[0]), rightFdRead|rightFdSeek, ErrnoSpipe)
	if errno != ErrnoSuccess {
		return errno
	}
	if p[3] > math.MaxInt64 {
		return ErrnoInval
	}
	result, errno := s.begin(m, p[1], p[2], p[4])
	if errno != ErrnoSuccess {
		return errno
	}
	n, errno := s.eachPiece(ctx, h, int64(p[3]), (*vfs.Handle).ReadAt)
	return s.finish(result, n, errno)
}

// fdWrite implements fd_write: fd, iovs, iovs_len, result offset of the number of bytes. Fewer bytes than given
// mean that an error cut the write; the next call meets it.
//   - EBADF: not open for writing, as a directory never is
//   - EFAULT, EINVAL: an iovec leaves memory; more than 1,024 of them or 2^31-1 bytes
//   - ENOSPC, EFBIG: over the quota, or beyond the largest file
//   - EIO: a standard stream's writer failed
func fdWrite(ctx context.Context, s *State, m guestMemory, p []uint64) Errno {
	d, errno := s.fd(uint32(p[0]))
	if errno != ErrnoSuccess {
		return errno
	}
	if d.rights&rightFdWrite == 0 {
		return ErrnoBadf
	}
	result, errno := s.begin(m, p[1], p[2], p[3])
	if errno != ErrnoSuccess {
		return errno
	}
	switch d.kind {
	case kindStdout:
		n, errno := s.writeOutput(ctx, s.stdout)
		return s.finish(result, n, errno)
	case kindStderr:
		n, errno := s.writeOutput(ctx, s.stderr)
		return s.finish(result, n, errno)
	}
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return errno
	}
	var n int
	if d.flags&fdflagAppend == 0 {
		n, errno = s.eachPiece(ctx, h, d.offset, (*vfs.Handle).WriteAt)
		d.offset += int64(n)
	} else {
		n, errno = s.eachPiece(ctx, h, 0, func(h *vfs.Handle, p []byte, _ int64) (int, error) {
			n, end, err := h.Append(p)
			if n > 0 {
				d.offset = end
			}
			return n, err
		})
	}
	return s.finish(result, n, syncWrite(d, h, n, errno))
}

// syncWrite brings n written bytes to stable storage if the descriptor's flags want it.
func syncWrite(d *descriptor, h *vfs.Handle, n int, errno Errno) Errno {
	if n > 0 && d.flags&(fdflagDsync|fdflagSync) != 0 {
		if e := toErrno(h.Sync(d.flags&fdflagSync == 0)); errno == ErrnoSuccess {
			errno = e
		}
	}
	return errno
}

// gatherBytes is the size up to which scattered output is passed on as one write, so that a line that a C
// library hands over in two parts stays one event of a stream.
const gatherBytes = 16 << 10

func (s *State) writeOutput(ctx context.Context, w io.Writer) (int, Errno) {
	switch {
	case len(s.buffers) == 1 && len(s.buffers[0]) <= pieceBytes:
		n, err := write(w, s.buffers[0])
		return n, toErrno(err)
	case s.gather():
		n, err := write(w, s.gathered)
		return n, toErrno(err)
	}
	return s.eachPiece(ctx, nil, 0, func(_ *vfs.Handle, p []byte, _ int64) (int, error) { return write(w, p) })
}

// gather copies the bytes of all buffers into s.gathered, if they are few.
func (s *State) gather() bool {
	s.gathered = s.gathered[:0]
	for _, buf := range s.buffers {
		if len(s.gathered)+len(buf) > gatherBytes {
			return false
		}
		s.gathered = append(s.gathered, buf...)
	}
	return true
}

func write(w io.Writer, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.Write(p)
	if n = max(0, min(n, len(p))); err != nil || n < len(p) {
		return n, vfs.ErrIO
	}
	return n, nil
}

// fdPwrite implements fd_pwrite: fd, iovs, iovs_len, offset, result offset. It writes at offset even with APPEND
// set, as POSIX says; the descriptor's own offset stays. Errors as of fd_write, and those of fd_pread.
func fdPwrite(ctx context.Context, s *State, m guestMemory, p []uint64) Errno {
	d, h, errno := s.file(uint32(p[0]), rightFdWrite|rightFdSeek, ErrnoSpipe)
	if errno == ErrnoIsdir {
		return ErrnoBadf
	}
	if errno != ErrnoSuccess {
		return errno
	}
	if p[3] > math.MaxInt64 {
		return ErrnoInval
	}
	result, errno := s.begin(m, p[1], p[2], p[4])
	if errno != ErrnoSuccess {
		return errno
	}
	n, errno := s.eachPiece(ctx, h, int64(p[3]), (*vfs.Handle).WriteAt)
	return s.finish(result, n, syncWrite(d, h, n, errno))
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
	d, h, errno := s.file(n, 0, ErrnoSpipe)
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

// sizeOf is the size of a regular file.
func (s *State) sizeOf(d *descriptor) (int64, Errno) {
	h, errno := s.handle(d)
	if errno != ErrnoSuccess {
		return 0, errno
	}
	st, err := h.Stat()
	return st.Size, s.errno(err)
}
