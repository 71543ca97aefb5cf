package wasi

import (
	"context"
	"io"
)

// pieceBytes is how much a long copy moves between two looks at whether the run may go on. One piece takes well under a
// millisecond, during which Go cannot preempt it.
const pieceBytes = 1 << 20

// randomGet implements random_get: buf (offset), buf_len.
//   - EFAULT: the buffer lies outside linear memory; nothing is stored
//   - EIO: the source of randomness failed
func randomGet(ctx context.Context, s *State, m guestMemory, p []uint64) Errno {
	buf, errno := m.bytes(uint32(p[0]), uint32(p[1]))
	if errno != ErrnoSuccess {
		return errno
	}
	for len(buf) > 0 {
		n := min(len(buf), pieceBytes)
		if _, err := io.ReadFull(s.random, buf[:n]); err != nil {
			return ErrnoIo
		}
		if buf = buf[n:]; len(buf) > 0 {
			s.stopIfOver(ctx)
		}
	}
	return ErrnoSuccess
}
