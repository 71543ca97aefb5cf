"""What WASI leaves out of files: permissions, vectored reads and writes, the room that is left.

Nothing enforces permissions in a sandbox. But archives and copies carry them to where something does, so files have the
usual ones, and chmod is remembered.
"""

import errno
import json
import os
import posix
import shutil
import stat as _stat

from . import host

_FILE, _FOLDER, _LINK = 0o644, 0o755, 0o777
_USER = 1000

_modes = {}  # what chmod said, by device and inode


def _whole(st):
    """A stat_result with permissions and owner."""
    kind, (numbers, rest) = st.__reduce__()
    mode = numbers[0]
    asked = _modes.get((numbers[2], numbers[1])) if _modes else None
    if asked is None:
        if _stat.S_ISDIR(mode):
            asked = _FOLDER
        else:
            asked = _LINK if _stat.S_ISLNK(mode) else _FILE
    return kind((mode | asked, *numbers[1:4], _USER, _USER, *numbers[6:]), rest)


def stat(path, *, dir_fd=None, follow_symlinks=True):
    return _whole(posix.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks))


def lstat(path, *, dir_fd=None):
    return _whole(posix.lstat(path, dir_fd=dir_fd))


def fstat(fd):
    return _whole(posix.fstat(fd))


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    st = posix.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    _modes[st.st_dev, st.st_ino] = mode & 0o7777


def lchmod(path, mode):
    chmod(path, mode, follow_symlinks=False)


def fchmod(fd, mode):
    chmod(fd, mode)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    posix.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    if uid not in (-1, _USER) or gid not in (-1, _USER):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)


def lchown(path, uid, gid):
    chown(path, uid, gid, follow_symlinks=False)


def fchown(fd, uid, gid):
    chown(fd, uid, gid)


def readv(fd, buffers, /):
    total = 0
    for buffer in buffers:
        view = memoryview(buffer).cast("B")
        n = posix.readinto(fd, view)
        total += n
        if n < len(view):
            break
    return total


def preadv(fd, buffers, offset, flags=0, /):
    total = 0
    for buffer in buffers:
        view = memoryview(buffer).cast("B")
        data = posix.pread(fd, len(view), offset + total)
        view[: len(data)] = data
        total += len(data)
        if len(data) < len(view):
            break
    return total


def writev(fd, buffers, /):
    return posix.write(fd, b"".join(buffers))


def pwritev(fd, buffers, offset, flags=0, /):
    return posix.pwrite(fd, b"".join(buffers), offset)


def posix_fallocate(fd, offset, length, /):
    if offset < 0 or length <= 0:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    size, end = posix.fstat(fd).st_size, offset + length
    try:
        for at in range(size, end, _CHUNK):
            posix.pwrite(fd, bytes(min(_CHUNK, end - at)), at)
    except OSError:
        posix.ftruncate(fd, size)
        raise


_CHUNK = 1 << 20


def mkfifo(path, mode=0o666, *, dir_fd=None):
    raise OSError(errno.ENOTSUP, "pipes are not available in this sandbox", path)


class statvfs_result(tuple):
    """os.statvfs_result."""

    __slots__ = ()
    __match_args__ = tuple("f_" + n for n in "bsize frsize blocks bfree bavail files ffree favail flag namemax".split())

    def __repr__(self):
        return f"os.statvfs_result({', '.join(f'{n}={v!r}' for n, v in zip(self.__match_args__, self))})"


for i, name in enumerate(statvfs_result.__match_args__):
    setattr(statvfs_result, name, property(lambda self, i=i: self[i]))
statvfs_result.f_fsid = property(lambda self: 0)


def statvfs(path):
    posix.stat(path)
    size = 512
    left = json.loads(host.call(host.DISK))
    free = left["free_bytes"] // size
    blocks = left["bytes"] // size
    return statvfs_result((size, size, blocks, free, free, left["inodes"], left["free_inodes"], left["free_inodes"], 0, 255))


def disk_usage(path):
    """Return disk usage statistics about the given path."""
    st = statvfs(path)
    total, free = st.f_blocks * st.f_frsize, st.f_bavail * st.f_frsize
    return _Usage(total, total - free, free)


def install():
    from collections import namedtuple

    global _Usage
    _Usage = shutil._ntuple_diskusage = namedtuple("usage", "total used free")
    _Usage.__module__ = "shutil"
    shutil.disk_usage = disk_usage
    disk_usage.__module__ = "shutil"
    shutil._stat = lambda fn: _whole(fn.stat()) if isinstance(fn, os.DirEntry) else stat(fn)

    here = globals()
    names = """stat lstat fstat chmod lchmod fchmod chown lchown fchown readv preadv writev pwritev posix_fallocate
        mkfifo statvfs statvfs_result"""
    for name in names.split():
        new, old = here[name], getattr(posix, name, None)
        new.__module__ = "posix"
        new.__doc__ = getattr(old, "__doc__", new.__doc__)
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if old in able:
                able.add(new)
        setattr(os, name, new)
    os.fstatvfs = os.statvfs
    os.supports_follow_symlinks.update((chmod, chown))
    os.supports_fd.update((chmod, chown))
    os.sync = lambda: None
    os.getloadavg = lambda: (0.0, 0.0, 0.0)
    os.nice = lambda increment, /: 0
    os.getpriority = lambda which, who: 0
    os.getpgid = os.getsid = lambda pid, /: os.getpid()
    os.getpgrp = lambda: os.getpid()
