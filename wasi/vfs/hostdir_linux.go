package vfs

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNoAtime keeps reading from changing the access time. Only the owner may use it.
const openNoAtime = unix.O_NOATIME

// hostStat describes a file by what stat says.
func hostStat(fi fs.FileInfo) (Stat, hostID) { return statOf(fi.Sys().(*syscall.Stat_t)) }

// statFile is hostStat of an open file, without the allocations of os.File.Stat.
func statFile(f *os.File) (Stat, hostID, error) {
	var buf syscall.Stat_t
	for {
		err := syscall.Fstat(int(f.Fd()), &buf)
		if err != syscall.EINTR {
			runtime.KeepAlive(f)
			st, id := statOf(&buf)
			return st, id, err
		}
	}
}

var kindsOfModes = [...]Kind{
	syscall.S_IFREG >> 12:  KindRegular,
	syscall.S_IFDIR >> 12:  KindDir,
	syscall.S_IFLNK >> 12:  KindLink,
	syscall.S_IFCHR >> 12:  KindChar,
	syscall.S_IFBLK >> 12:  KindBlock,
	syscall.S_IFSOCK >> 12: KindSocket,
	15:                     KindUnknown,
}

func statOf(st *syscall.Stat_t) (Stat, hostID) {
	return Stat{
		Ino:   st.Ino,
		Nlink: uint64(st.Nlink),
		Size:  st.Size,
		Atime: syscall.TimespecToNsec(st.Atim),
		Mtime: syscall.TimespecToNsec(st.Mtim),
		Ctime: syscall.TimespecToNsec(st.Ctim),
		Kind:  kindsOfModes[st.Mode&syscall.S_IFMT>>12],
	}, hostID{uint64(st.Dev), st.Ino}
}

// readHostDir reads the folder from its descriptor. The kernel gives number and kind with each name, so no
// file needs to be asked about, but on file systems that do not tell the kind.
func readHostDir(root *os.Root, f *os.File, list []DirEntry) ([]DirEntry, error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.ReadDirent(int(f.Fd()), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return list, nil
		}
		if list, err = parseDirents(root, buf[:n], list); err != nil {
			return nil, err
		}
	}
}

// parseDirents reads records of struct linux_dirent64: ino 8 bytes, off 8, reclen 2, type 1, name up to a NUL.
func parseDirents(root *os.Root, b []byte, list []DirEntry) ([]DirEntry, error) {
	const header = 19
	names := string(b) // one allocation for all of them
	for len(b) >= header {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size < header || size > len(b) {
			return nil, ErrIO
		}
		e := DirEntry{Ino: binary.NativeEndian.Uint64(b), Kind: direntKind(b[18])}
		name, _, _ := strings.Cut(names[header:size], "\x00")
		b, names = b[size:], names[size:]
		if name == "." || name == ".." || !legalName(name) {
			continue
		}
		e.Name = name
		if e.Kind == KindUnknown {
			if fi, err := root.Lstat(name); err == nil {
				e.Kind = kindOf(fi.Mode())
			}
		}
		if len(list) >= MaxListing {
			return nil, ErrOverflow
		}
		list = append(list, e)
	}
	return list, nil
}

func direntKind(t byte) Kind {
	switch t {
	case syscall.DT_REG:
		return KindRegular
	case syscall.DT_DIR:
		return KindDir
	case syscall.DT_LNK:
		return KindLink
	case syscall.DT_CHR:
		return KindChar
	case syscall.DT_BLK:
		return KindBlock
	case syscall.DT_SOCK:
		return KindSocket
	}
	return KindUnknown
}

// timespecs turns a change of times into what utimensat wants.
func timespecs(t Times) [2]unix.Timespec {
	pick := func(set, now TimeFlags, ns int64) unix.Timespec {
		switch {
		case t.Flags&set != 0:
			return unix.NsecToTimespec(ns)
		case t.Flags&now != 0:
			return unix.Timespec{Nsec: unix.UTIME_NOW}
		}
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	return [2]unix.Timespec{pick(SetAtime, SetAtimeNow, t.Atime), pick(SetMtime, SetMtimeNow, t.Mtime)}
}

// setTimesAt sets the times of a single name in a folder, of a link itself. os.Root would follow a link; the
// system call is given one name and told not to follow, so it cannot act on anything outside the folder.
func setTimesAt(root *os.Root, name string, t Times) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	ts := timespecs(t)
	return unix.UtimesNanoAt(int(dir.Fd()), name, ts[:], unix.AT_SYMLINK_NOFOLLOW)
}

// setFileTimes is futimens. Kernels before 5.8 cannot do it this way.
func setFileTimes(f *os.File, t Times) error {
	ts := timespecs(t)
	return control(f, func(fd int) error { return unix.UtimesNanoAt(fd, "", ts[:], unix.AT_EMPTY_PATH) })
}

// control runs a system call on the descriptor of f.
func control(f *os.File, call func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = call(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// allocate gives a range of a file storage and makes the file long enough.
func allocate(f *os.File, size, off, n int64) error {
	err := control(f, func(fd int) error { return unix.Fallocate(fd, 0, off, n) })
	if errors.Is(err, unix.EOPNOTSUPP) && off+n > size {
		return f.Truncate(off + n)
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}
