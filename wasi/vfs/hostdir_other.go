//go:build !linux

package vfs

import (
	"io"
	"io/fs"
	"os"
	"reflect"
	"time"
)

const openNoAtime = 0

// readHostDir reads the folder and asks about each name; the kind that ReadDir reports is not relied on.
func readHostDir(root *os.Root, f *os.File, list []DirEntry) ([]DirEntry, error) {
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			if !legalName(name) {
				continue
			}
			fi, err := root.Lstat(name)
			if err != nil {
				continue // gone since
			}
			if len(list) >= MaxListing {
				return nil, ErrOverflow
			}
			st, _ := hostStat(fi)
			list = append(list, DirEntry{name, st.Ino, st.Kind})
		}
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// newTimes fills in the times that stay.
func newTimes(fi fs.FileInfo, t Times) (atime, mtime time.Time) {
	st, _ := hostStat(fi)
	pick := func(set, now TimeFlags, ns, old int64) time.Time {
		switch {
		case t.Flags&set != 0:
			return time.Unix(0, ns)
		case t.Flags&now != 0:
			return time.Now()
		}
		return time.Unix(0, old)
	}
	return pick(SetAtime, SetAtimeNow, t.Atime, st.Atime), pick(SetMtime, SetMtimeNow, t.Mtime, st.Mtime)
}

// setTimesAt sets the times of a file or folder; those of a link are not supported here.
func setTimesAt(root *os.Root, name string, t Times) error {
	fi, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		return ErrNotSupported
	}
	atime, mtime := newTimes(fi, t)
	return root.Chtimes(name, atime, mtime)
}

// setFileTimes is not supported here: there is no portable way by descriptor.
func setFileTimes(*os.File, Times) error { return ErrNotSupported }

// allocate makes the file long enough; storage is not reserved.
func allocate(f *os.File, size, off, n int64) error {
	if off+n > size {
		return f.Truncate(off + n)
	}
	return nil
}

// statFile is hostStat of an open file.
func statFile(f *os.File) (Stat, hostID, error) {
	fi, err := f.Stat()
	if err != nil {
		return Stat{}, hostID{}, err
	}
	st, id := hostStat(fi)
	return st, id, nil
}

// hostStat describes a file by what Go knows on every system, and by the numbers of device and file where the
// system has them in its own structure.
func hostStat(fi fs.FileInfo) (Stat, hostID) {
	t := fi.ModTime().UnixNano()
	st := Stat{Nlink: 1, Size: fi.Size(), Atime: t, Mtime: t, Ctime: t, Kind: kindOf(fi.Mode())}
	v := reflect.Indirect(reflect.ValueOf(fi.Sys()))
	if v.Kind() != reflect.Struct {
		return st, hostID{}
	}
	number := func(name string) uint64 {
		f := v.FieldByName(name)
		switch {
		case f.IsValid() && f.CanUint():
			return f.Uint()
		case f.IsValid() && f.CanInt():
			return uint64(f.Int())
		}
		return 0
	}
	id := hostID{number("Dev"), number("Ino")}
	st.Ino, st.Nlink = id.ino, max(1, number("Nlink"))
	return st, id
}
