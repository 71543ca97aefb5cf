package wall

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// Calls that other machines do not have.
var (
	alwaysHere = []uintptr{unix.SYS_EPOLL_WAIT, unix.SYS_POLL}
	fatalHere  = []uintptr{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}
)
