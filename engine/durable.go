package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile writes the snapshot to a file that only its owner can read. It is there as a whole or not at all,
// whatever happens meanwhile: it is written under another name, made permanent and renamed.
func (sn *Snapshot) WriteFile(name string) error {
	err := writeDurably(name, func(w io.Writer) error {
		_, err := sn.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("write a snapshot file: %w", err)
	}
	return nil
}

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".writing-"

// writeDurably puts what write writes in the place of the named file.
func writeDurably(name string, write func(io.Writer) error) (err error) {
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
