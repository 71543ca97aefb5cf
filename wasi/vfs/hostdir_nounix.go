//go:build !unix

package vfs

import "os"

// renameAt moves a name within a folder; between folders it is not possible here without paths.
func renameAt(from *os.Root, name string, to *os.Root, newName string) error {
	if from != to {
		return ErrCrossDevice
	}
	return from.Rename(name, newName)
}

// linkAcross is not possible here without paths.
func linkAcross(*os.Root, string, *os.Root, string) error { return ErrCrossDevice }
