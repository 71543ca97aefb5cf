//go:build unix

package runtimes

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// checksModes says that permission bits mean something on this system.
const checksModes = true

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// fileLock is a held lock on a file. The system gives it back when the process ends, however that happens.
type fileLock struct{ f *os.File }

// tryLock takes the exclusive lock on the named file. It returns nil without an error when another holds it.
func tryLock(name string) (*fileLock, error) {
	return flock(name, syscall.LOCK_EX|syscall.LOCK_NB)
}

// lockShared takes a shared lock. It waits for an exclusive one, which the cache holds on such files only
// while it removes an entry.
func lockShared(name string) (*fileLock, error) {
	return flock(name, syscall.LOCK_SH)
}

func flock(name string, how int) (*fileLock, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, &fs.PathError{Op: "flock", Path: name, Err: err}
	}
	return &fileLock{f}, nil
}

func (l *fileLock) unlock() { l.f.Close() }

// syncDir makes the names in a folder permanent.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some filesystems cannot
		return err
	}
	return nil
}
