//go:build linux

package wall

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Capabilities by which root enters the folders of other users. They are kept for mounts: Landlock says where.
const keptForMounts = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER

// The arguments of capset(2), which all threads read: variables of the package, since what is on a stack can move. The
// sets are two times 32 capabilities.
var (
	capHeader = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	capWanted [2]unix.CapUserData
)

// dropCapabilities gives up what a process of root's may do beyond others, on all threads.
func dropCapabilities(c Config) (Layer, error) {
	l := Layer{Name: "capabilities", Is: "no capabilities"}
	var has [2]unix.CapUserData
	if err := unix.Capget(&capHeader, &has[0]); err != nil {
		return l, fmt.Errorf("capget: %w", err)
	}
	if len(c.Read)+len(c.Write) > 0 {
		capWanted[0].Permitted = has[0].Permitted & keptForMounts
		capWanted[0].Effective = capWanted[0].Permitted
	}
	if n := bits.OnesCount32(capWanted[0].Permitted); n > 0 {
		l.Is = fmt.Sprintf("no capabilities but %d for mounted folders of other users", n)
	}
	if has == capWanted {
		return l, nil
	}
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&capHeader)), uintptr(unsafe.Pointer(&capWanted)), 0)
	if errno != 0 {
		return l, fmt.Errorf("capset: %w", errno)
	}
	return l, nil
}
