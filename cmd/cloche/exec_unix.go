//go:build unix

package main

import "golang.org/x/sys/unix"

// tryExecutableMemory asks the system for a page that can be executed, and gives it back.
func tryExecutableMemory() error {
	b, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer unix.Munmap(b)
	return unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC)
}
