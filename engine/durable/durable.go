// Package durable writes files that are there as a whole or not at all, whatever becomes of the process or the machine
// meanwhile.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".writing-"

// Write puts what write writes in the place of the named file, which only its owner can read. It is written under another
// name, made permanent and renamed.
func Write(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), tempPrefix) // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return err
	}
	_ = syncFolder(filepath.Dir(name)) // some systems cannot; the rename is the whole of one or the other name then
	return nil
}

// syncFolder makes the names in a folder permanent.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Clean removes from a folder what a process left there that was ended while it wrote. Nobody may be writing into the folder.
func Clean(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
