package wasi

import (
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

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
	_, h, errno := s.file(uint32(p[0]), rightFdRead|rightFdSeek)
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
	d, h, errno := s.file(uint32(p[0]), rightFdWrite|rightFdSeek)
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
