//go:build unix

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// across opens two folders for a system call that takes a single name in each.
func across(a, b *os.Root, call func(a, b int) error) error {
	da, err := a.Open(".")
	if err != nil {
		return err
	}
	defer da.Close()
	if a == b {
		return call(int(da.Fd()), int(da.Fd()))
	}
	db, err := b.Open(".")
	if err != nil {
		return err
	}
	defer db.Close()
	return call(int(da.Fd()), int(db.Fd()))
}

// renameAt moves a name, to another folder perhaps. os.Root moves only between paths below one root, which
// could have changed since, and not over an empty folder. The system call gets single names and follows no link.
func renameAt(from *os.Root, name string, to *os.Root, newName string) error {
	return across(from, to, func(a, b int) error { return unix.Renameat(a, name, b, newName) })
}

// linkAcross makes a hard link in another folder. A link is not followed.
func linkAcross(from *os.Root, name string, to *os.Root, newName string) error {
	return across(from, to, func(a, b int) error { return unix.Linkat(a, name, b, newName, 0) })
}
