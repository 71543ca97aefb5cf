"""Errors of the operating system, told with the numbers that Linux has.

WASI numbers its errors in another order: a missing file is 44, and what a program says of it would not be what its
readers know. Only the text is Linux's (`str(e)`, `repr(e)`); `e.errno` and the names of module errno stay WASI's, so that
the interpreter and the libraries agree on what they mean.
"""

import errno
import os

from . import statictypes

_LINUX = """
    E2BIG 7 EACCES 13 EADDRINUSE 98 EADDRNOTAVAIL 99 EAFNOSUPPORT 97 EAGAIN 11 EALREADY 114 EBADF 9 EBADMSG 74 EBUSY 16
    ECANCELED 125 ECHILD 10 ECONNABORTED 103 ECONNREFUSED 111 ECONNRESET 104 EDEADLK 35 EDESTADDRREQ 89 EDOM 33 EDQUOT 122
    EEXIST 17 EFAULT 14 EFBIG 27 EHOSTUNREACH 113 EIDRM 43 EILSEQ 84 EINPROGRESS 115 EINTR 4 EINVAL 22 EIO 5 EISCONN 106
    EISDIR 21 ELOOP 40 EMFILE 24 EMLINK 31 EMSGSIZE 90 ENAMETOOLONG 36 ENETDOWN 100 ENETRESET 102 ENETUNREACH 101 ENFILE 23
    ENOBUFS 105 ENODEV 19 ENOENT 2 ENOEXEC 8 ENOLCK 37 ENOMEM 12 ENOPROTOOPT 92 ENOSPC 28 ENOSYS 38 ENOTCONN 107 ENOTDIR 20
    ENOTEMPTY 39 ENOTRECOVERABLE 131 ENOTSOCK 88 ENOTSUP 95 ENOTTY 25 ENXIO 6 EOVERFLOW 75 EOWNERDEAD 130 EPERM 1 EPIPE 32
    EPROTO 71 EPROTONOSUPPORT 93 EPROTOTYPE 91 ERANGE 34 EROFS 30 ESPIPE 29 ESRCH 3 ESTALE 116 ETIMEDOUT 110 ETXTBSY 26 EXDEV 18
"""
_words = _LINUX.split()
# Where Linux has other words for an error than WASI's C library.
_OTHER_TEXT = {
    "EBUSY": "Device or resource busy", "EIO": "Input/output error", "ELOOP": "Too many levels of symbolic links", "EMFILE": "Too many open files",
    "ENAMETOOLONG": "File name too long", "ENFILE": "Too many open files in system", "ENOMEM": "Cannot allocate memory", "ENOSYS": "Function not implemented",
    "ENOTSUP": "Operation not supported", "ENOTTY": "Inappropriate ioctl for device", "ESPIPE": "Illegal seek",
    "ETIMEDOUT": "Connection timed out", "EXDEV": "Invalid cross-device link",
}  # fmt: skip
# The interpreter's number -> (its text, Linux's number and text). An error with another text was made by the program, which chose the number.
_told = {
    (number := getattr(errno, name)): (text := os.strerror(number), int(n), _OTHER_TEXT.get(name, text))
    for name, n in zip(_words[::2], _words[1::2])
    if hasattr(errno, name)
}

_str, _repr = OSError.__str__, OSError.__repr__


def _linux(error):
    """Linux's number and text of an error that the system made, or None twice."""
    raw = error.errno
    text, *linux = _told.get(raw, (None, None, None)) if type(raw) is int else (None, None, None)
    return linux if text is not None and error.strerror == text else (None, None)


def __str__(self):
    number, text = _linux(self)
    if number is None:
        return _str(self)
    if self.filename is None:
        return f"[Errno {number}] {text}"
    if self.filename2 is None:
        return f"[Errno {number}] {text}: {self.filename!r}"
    return f"[Errno {number}] {text}: {self.filename!r} -> {self.filename2!r}"


def __repr__(self):
    number, text = _linux(self)
    if number is None or self.args[:1] != (self.errno,):
        return _repr(self)
    return f"{type(self).__name__}{(number, text, *self.args[2:])!r}"


def install():
    statictypes.give(OSError, __str__=__str__, __repr__=__repr__)
    if str(OSError(errno.EBADF, os.strerror(errno.EBADF))) != "[Errno 9] Bad file descriptor":
        raise RuntimeError("OSError does not take its methods")
