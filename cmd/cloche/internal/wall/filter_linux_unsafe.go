//go:build linux && (amd64 || arm64)

package wall

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canFilter says whether the kernel (and the container around us) lets filters be installed.
func canFilter() bool {
	action := uint32(answerKill)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// install gives all threads the filter. Preconditions: the goroutine is locked to its thread, which has no_new_privs.
func install(program []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: unsafe.SliceData(program)}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("seccomp: thread %d has a filter of its own", thread)
	}
	return nil
}
