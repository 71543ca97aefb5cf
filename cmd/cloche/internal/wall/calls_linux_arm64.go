package wall

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// Calls that other machines do not have.
var alwaysHere, fatalHere []uintptr
