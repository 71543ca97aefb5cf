//go:build !unix

package runtimes

import (
	"io/fs"
	"os"
)

// checksModes says that permission bits mean something on this system. On Windows the folder inherits the
// access rules of the user's profile.
const checksModes = false

func ownerOf(fs.FileInfo) (uid int, ok bool) { return 0, false }

// fileLock does not exclude anybody here: two processes may build the same entry at once. Each builds in a
// folder of its own, and the one that is renamed last stays.
type fileLock struct{ f *os.File }

func tryLock(name string) (*fileLock, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileLock{f}, nil
}

func lockShared(name string) (*fileLock, error) { return tryLock(name) }

func (l *fileLock) unlock() { l.f.Close() }

// syncDir does nothing: folders cannot be synced.
func syncDir(string) error { return nil }
