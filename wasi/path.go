package wasi

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Where a path leads is decided in package vfs alone: a path that is absolute, or climbs above the directory it
// starts from, is ENOTCAPABLE there. All functions below may also return:
//   - EBADF, ENOTDIR: the directory's descriptor is not open, or is no directory
//   - ENOTCAPABLE: it lacks the right named PATH_ and the function
//   - EFAULT: a range lies outside linear memory
//   - ENOENT, ENOTDIR, ELOOP, EACCES: what a path names is not there, or cannot be walked through
//   - EILSEQ, EINVAL, ENAMETOOLONG: a path that is not UTF-8, holds a NUL, or is too long
//   - EROFS, ENOSPC, EIO: the mount is read-only, the quota is used up, the host failed

const (
	lookupFollow = 1

	oflagCreate    = 1
	oflagDirectory = 2
	oflagExclusive = 4
	oflagTruncate  = 8
	oflagsAll      = 15
)

// path copies and checks a guest's path.
func (s *State) path(m guestMemory, off, n uint64) (vfs.Path, Errno) {
	b, errno := m.bytes(uint32(off), uint32(n))
	if errno != ErrnoSuccess {
		return vfs.Path{}, errno
	}
	p, err := vfs.ParsePath(b)
	return p, s.errno(err)
}

// at returns directory n, if it has the rights of need, and the path that starts there.
func (s *State) at(m guestMemory, n uint64, need rights, off, length uint64) (*vfs.Handle, vfs.Path, Errno) {
	_, h, errno := s.dir(uint32(n), need)
	if errno != ErrnoSuccess {
		return nil, vfs.Path{}, errno
	}
	p, errno := s.path(m, off, length)
	return h, p, errno
}

// pathCreateDirectory implements path_create_directory: fd, path, path_len.
//   - EEXIST: the name is taken
func pathCreateDirectory(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathCreateDirectory, p[1], p[2])
	if errno != ErrnoSuccess {
		return errno
	}
	return s.errno(s.fs.Mkdir(dir, path))
}

// pathFilestatGet implements path_filestat_get: fd, flags, path, path_len, result offset of a filestat.
//   - EINVAL: no such lookup flag
func pathFilestatGet(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathFilestatGet, p[2], p[3])
	if errno != ErrnoSuccess {
		return errno
	}
	if uint32(p[1]) > lookupFollow {
		return ErrnoInval
	}
	out, errno := m.bytes(uint32(p[4]), filestatBytes)
	if errno != ErrnoSuccess {
		return errno
	}
	st, err := s.fs.Stat(dir, path, uint32(p[1]) == lookupFollow)
	if err != nil {
		return s.errno(err)
	}
	putFilestat(out, &st)
	return ErrnoSuccess
}

// pathFilestatSetTimes implements path_filestat_set_times: fd, flags, path, path_len, atim, mtim, fst_flags.
//   - EINVAL: no such flag, or a time is to be set in two ways
func pathFilestatSetTimes(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathFilestatSetTimes, p[2], p[3])
	if errno != ErrnoSuccess {
		return errno
	}
	if uint32(p[1]) > lookupFollow {
		return ErrnoInval
	}
	t, errno := times(p[4], p[5], p[6])
	if errno != ErrnoSuccess {
		return errno
	}
	return s.errno(s.fs.SetTimes(dir, path, uint32(p[1]) == lookupFollow, t))
}

// pathLink implements path_link: old_fd, old_flags, old_path, old_path_len, new_fd, new_path, new_path_len.
//   - EEXIST: the new name is taken
//   - EPERM: a directory
//   - EXDEV: the names lie in different mounts
//   - EINVAL: no such lookup flag
func pathLink(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathLinkSource, p[2], p[3])
	if errno != ErrnoSuccess {
		return errno
	}
	newDir, newPath, errno := s.at(m, p[4], rightPathLinkTarget, p[5], p[6])
	if errno != ErrnoSuccess {
		return errno
	}
	if uint32(p[1]) > lookupFollow {
		return ErrnoInval
	}
	return s.errno(s.fs.Link(dir, path, uint32(p[1]) == lookupFollow, newDir, newPath))
}

// pathOpen implements path_open: fd, dirflags, path, path_len, oflags, rights_base, rights_inheriting, fdflags, result
// offset of the new descriptor, which is the lowest free number. It has the rights asked for that make sense for
// what it is. A [vfs.DeviceFS] may give one of the standard streams.
//   - EINVAL: no such flag
//   - EEXIST: CREAT and EXCL, and the name is taken
//   - EISDIR: a directory, and a right to write is asked for, or CREAT or TRUNC
//   - EACCES: standard input for writing only, or standard output for reading only
//   - ELOOP: a link, and dirflags do not say to follow it
//   - EMFILE, ENFILE: the run, or the host, has no descriptor left
//   - ENOTCAPABLE: a right that the directory cannot pass on, CREAT without its PATH_CREATE_FILE, or TRUNC without
//     its PATH_FILESTAT_SET_SIZE
func pathOpen(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dirflags, oflags, flags := uint32(p[1]), uint32(p[4]), uint32(p[7])
	base, inheriting := rights(p[5])&rightsAll, rights(p[6])&rightsAll
	need := rightPathOpen
	if oflags&oflagCreate != 0 {
		need |= rightPathCreateFile
	}
	if oflags&oflagTruncate != 0 {
		need |= rightPathFilestatSetSize
	}
	parent, dir, errno := s.dir(uint32(p[0]), need)
	if errno != ErrnoSuccess {
		return errno
	}
	if dirflags > lookupFollow || oflags&^oflagsAll != 0 || flags&^uint32(fdflagsAll) != 0 {
		return ErrnoInval
	}
	if (base|inheriting)&^parent.inheriting != 0 {
		return ErrnoNotcapable
	}
	path, errno := s.path(m, p[2], p[3])
	if errno != ErrnoSuccess {
		return errno
	}
	result, errno := m.word(uint32(p[8]))
	if errno != ErrnoSuccess {
		return errno
	}
	fd, errno := s.free() // parent is no longer valid
	if errno != ErrnoSuccess {
		return errno
	}
	d := descriptor{flags: fdflags(flags), access: access(base), rights: base, inheriting: inheriting}
	h, err := s.fs.Open(dir, path, d.access|openFlags(dirflags, oflags))
	if errors.Is(err, vfs.ErrReadOnly) && base&(rightFdRead|rightFdWrite) == rightFdRead && oflags&(oflagCreate|oflagTruncate) == 0 {
		// Go's programs ask for the right to cut even what they open for reading.
		base &^= rightFdAllocate | rightFdFilestatSetSize
		d.rights, d.access = base, access(base)
		h, err = s.fs.Open(dir, path, d.access|openFlags(dirflags, oflags))
	}
	if err != nil {
		return s.errno(err)
	}
	d.handle = h
	switch device, _ := h.Device(); {
	case device != vfs.DeviceNull:
		if err := h.Close(); err != nil {
			return s.errno(err)
		}
		const ways = rightFdRead | rightFdWrite
		d = s.stream(streams[device])
		if base&ways != 0 && base&ways&d.rights == 0 {
			return ErrnoAcces
		}
		d.flags, d.rights = fdflags(flags), d.rights&^ways|d.rights&base
	case h.Kind() == vfs.KindDir:
		d.kind, d.rights, d.access = kindDir, base&rightsDir, d.access|vfs.OpenDirectory
	default:
		d.kind, d.rights = kindFile, base&rightsFile
	}
	s.set(fd, d)
	binary.LittleEndian.PutUint32(result, fd)
	return ErrnoSuccess
}

// streams are those that devices stand for.
var streams = map[vfs.Device]kind{vfs.DeviceStdin: kindStdin, vfs.DeviceStdout: kindStdout, vfs.DeviceStderr: kindStderr}

// access is how a file must be opened for a descriptor with these rights.
func access(base rights) vfs.OpenFlags {
	var f vfs.OpenFlags
	if base&(rightFdWrite|rightFdAllocate|rightFdFilestatSetSize) != 0 {
		f |= vfs.OpenWrite
	}
	if base&(rightFdRead|rightFdReaddir) != 0 || f == 0 {
		f |= vfs.OpenRead
	}
	return f
}

func openFlags(dirflags, oflags uint32) vfs.OpenFlags {
	var f vfs.OpenFlags
	if dirflags&lookupFollow == 0 {
		f |= vfs.OpenNoFollow
	}
	if oflags&oflagCreate != 0 {
		f |= vfs.OpenCreate
	}
	if oflags&oflagDirectory != 0 {
		f |= vfs.OpenDirectory
	}
	if oflags&oflagExclusive != 0 {
		f |= vfs.OpenExclusive
	}
	if oflags&oflagTruncate != 0 {
		f |= vfs.OpenTruncate
	}
	return f
}

// pathReadlink implements path_readlink: fd, path, path_len, buf, buf_len, result offset of the number of bytes. A
// text that is longer than buf is cut off there.
//   - EINVAL: no link
func pathReadlink(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathReadlink, p[1], p[2])
	if errno != ErrnoSuccess {
		return errno
	}
	out, errno := m.bytes(uint32(p[3]), uint32(p[4]))
	if errno != ErrnoSuccess {
		return errno
	}
	result, errno := m.word(uint32(p[5]))
	if errno != ErrnoSuccess {
		return errno
	}
	text, err := s.fs.Readlink(dir, path)
	if err != nil {
		return s.errno(err)
	}
	binary.LittleEndian.PutUint32(result, uint32(copy(out, text)))
	return ErrnoSuccess
}

// pathRemoveDirectory implements path_remove_directory: fd, path, path_len.
//   - ENOTEMPTY, EBUSY: it has entries; it is a mount point or above one
func pathRemoveDirectory(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathRemoveDirectory, p[1], p[2])
	if errno != ErrnoSuccess {
		return errno
	}
	return s.errno(s.fs.Rmdir(dir, path))
}

// pathRename implements path_rename: fd, old_path, old_path_len, new_fd, new_path, new_path_len.
//   - EXDEV: the names lie in different mounts
//   - ENOTEMPTY, EISDIR, ENOTDIR: the new name is a directory with entries, or of the other type
//   - EINVAL: a directory into itself
//   - EBUSY: a mount point, or a directory above one
func pathRename(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathRenameSource, p[1], p[2])
	if errno != ErrnoSuccess {
		return errno
	}
	newDir, newPath, errno := s.at(m, p[3], rightPathRenameTarget, p[4], p[5])
	if errno != ErrnoSuccess {
		return errno
	}
	return s.errno(s.fs.Rename(dir, path, newDir, newPath))
}

// pathSymlink implements path_symlink: old_path (the text), old_path_len, fd, new_path, new_path_len.
//   - EEXIST: the name is taken
//   - ENOTCAPABLE: the text is absolute, and Config.AbsoluteLinks is off
//   - EPERM: the mount allows no links
func pathSymlink(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[2], rightPathSymlink, p[3], p[4])
	if errno != ErrnoSuccess {
		return errno
	}
	text, errno := m.bytes(uint32(p[0]), uint32(p[1]))
	if errno != ErrnoSuccess {
		return errno
	}
	target, err := vfs.ParseTarget(text)
	if err != nil {
		return s.errno(err)
	}
	if target.Absolute() && !s.absoluteLinks {
		return ErrnoNotcapable
	}
	return s.errno(s.fs.Symlink(target, dir, path))
}

// pathUnlinkFile implements path_unlink_file: fd, path, path_len.
//   - EISDIR: a directory
func pathUnlinkFile(_ context.Context, s *State, m guestMemory, p []uint64) Errno {
	dir, path, errno := s.at(m, p[0], rightPathUnlinkFile, p[1], p[2])
	if errno != ErrnoSuccess {
		return errno
	}
	return s.errno(s.fs.Unlink(dir, path))
}
