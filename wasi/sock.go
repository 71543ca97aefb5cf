package wasi

import "context"

// No descriptor of this host is a socket: what leaves a sandbox goes through the door (package hostfuncs). The
// four calls therefore tell a number that is not open (EBADF) from one that is no socket (ENOTSOCK), which is
// all that there is to tell, and touch no memory.

func notSocket(_ context.Context, s *State, _ guestMemory, p []uint64) Errno {
	if _, errno := s.fd(uint32(p[0])); errno != ErrnoSuccess {
		return errno
	}
	return ErrnoNotsock
}

// sockShutdown implements sock_shutdown: fd, how (1 read, 2 write, 3 both).
//   - EINVAL: how names no direction
//   - EBADF, ENOTSOCK: see above
func sockShutdown(ctx context.Context, s *State, m guestMemory, p []uint64) Errno {
	errno := notSocket(ctx, s, m, p)
	if how := uint32(p[1]); errno == ErrnoNotsock && (how == 0 || how > 3) {
		return ErrnoInval
	}
	return errno
}
