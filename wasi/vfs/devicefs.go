package vfs

import (
	"io"
	"time"
)

// A Device says what a [DeviceFS] stands for.
type Device uint8

// What is opened of a stream is empty, and forgets what is written to it: who opens it for a program looks at [Handle.Device] and
// gives the stream.
const (
	DeviceNull Device = iota // forgets what is written to it and is always empty
	DeviceStdin
	DeviceStdout
	DeviceStderr
)

// DeviceFS is an [FS] that is one file which has no contents of its own. It is mounted with ModeReadWrite, and may be shared.
type DeviceFS struct {
	oneFile
	Device Device
}

// Devices are the mounts of what programs expect below /dev.
func Devices() []Mount {
	var mounts []Mount
	for d, name := range []string{DeviceNull: "null", DeviceStdin: "stdin", DeviceStdout: "stdout", DeviceStderr: "stderr"} {
		mounts = append(mounts, Mount{Path: "/dev/" + name, FS: DeviceFS{Device: Device(d)}, Mode: ModeReadWrite})
	}
	return mounts
}

var deviceStat = func() Stat {
	t := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	return Stat{Ino: 1, Nlink: 1, Atime: t, Mtime: t, Ctime: t, Kind: KindRegular}
}()

// ReadOnly implements FS.
func (DeviceFS) ReadOnly() bool { return false }

// Stat implements FS.
func (DeviceFS) Stat(Node) (Stat, error) { return deviceStat, nil }

// SetTimes implements FS.
func (DeviceFS) SetTimes(Node, Times) error { return nil }

// Open implements FS.
func (f DeviceFS) Open(Node, OpenFlags) (File, error) { return deviceFile{f.Device}, nil }

// deviceFile is an open one.
type deviceFile struct{ device Device }

func (deviceFile) ReadAt([]byte, int64) (int, error)           { return 0, io.EOF }
func (deviceFile) WriteAt(p []byte, _ int64) (int, error)      { return len(p), nil }
func (deviceFile) Append(p []byte) (n int, end int64, e error) { return len(p), 0, nil }
func (deviceFile) Stat() (Stat, error)                         { return deviceStat, nil }
func (deviceFile) SetTimes(Times) error                        { return nil }
func (deviceFile) Truncate(int64) error                        { return nil }
func (deviceFile) Allocate(int64, int64) error                 { return nil }
func (deviceFile) Sync(bool) error                             { return nil }
func (deviceFile) Close() error                                { return nil }
