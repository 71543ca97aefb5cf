//go:build unix

package engine_test

import (
	"syscall"
	"time"
)

// computed is for how long this process has had a processor.
func computed() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
