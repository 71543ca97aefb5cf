package vfs

import (
	"io"
	"time"
)

// NullFS is an [FS] that is one file which takes all that is written to it and is always empty. It is mounted with
// ModeReadWrite, and may be shared.
type NullFS struct{ oneFile }

var nullStat = func() Stat {
	t := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	return Stat{Ino: 1, Nlink: 1, Atime: t, Mtime: t, Ctime: t, Kind: KindRegular}
}()

// ReadOnly implements FS.
func (NullFS) ReadOnly() bool { return false }

// Stat implements FS.
func (NullFS) Stat(Node) (Stat, error) { return nullStat, nil }

// SetTimes implements FS.
func (NullFS) SetTimes(Node, Times) error { return nil }

// Open implements FS.
func (f NullFS) Open(Node, OpenFlags) (File, error) { return nullFile{}, nil }

type nullFile struct{}

func (nullFile) ReadAt([]byte, int64) (int, error)           { return 0, io.EOF }
func (nullFile) WriteAt(p []byte, _ int64) (int, error)      { return len(p), nil }
func (nullFile) Append(p []byte) (n int, end int64, e error) { return len(p), 0, nil }
func (nullFile) Stat() (Stat, error)                         { return nullStat, nil }
func (nullFile) SetTimes(Times) error                        { return nil }
func (nullFile) Truncate(int64) error                        { return nil }
func (nullFile) Allocate(int64, int64) error                 { return nil }
func (nullFile) Sync(bool) error                             { return nil }
func (nullFile) Close() error                                { return nil }

func (f nullFile) Dup(fs FS) (File, error) {
	if _, ok := fs.(NullFS); !ok {
		return nil, ErrStale
	}
	return f, nil
}
