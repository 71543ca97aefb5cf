"""Errors of the operating system, told with the numbers that Linux has.

WASI numbers its errors in another order: a missing file is 44, and what a program says of it would not be what its
readers know. Only the text is Linux's (`str(e)`, `repr(e)`); `e.errno` and the names of module errno stay WASI's, so that
the interpreter and the libraries agree on what they mean.
"""

import errno
import os

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
# The interpreter's number -> (its text, Linux's number). An error with another text was made by the program, which chose the number.
_told = {getattr(errno, name): (os.strerror(getattr(errno, name)), int(n)) for name, n in zip(_words[::2], _words[1::2]) if hasattr(errno, name)}

_str, _repr = OSError.__str__, OSError.__repr__


def _number(error):
    """Linux's number of an error that the system made, or None."""
    raw = error.errno
    text, number = _told.get(raw, (None, None)) if type(raw) is int else (None, None)
    return number if text is not None and error.strerror == text else None


def __str__(self):
    number = _number(self)
    if number is None:
        return _str(self)
    if self.filename is None:
        return f"[Errno {number}] {self.strerror}"
    if self.filename2 is None:
        return f"[Errno {number}] {self.strerror}: {self.filename!r}"
    return f"[Errno {number}] {self.strerror}: {self.filename!r} -> {self.filename2!r}"


def __repr__(self):
    number = _number(self)
    if number is None or self.args[:1] != (self.errno,):
        return _repr(self)
    return f"{type(self).__name__}{(number, *self.args[1:])!r}"


_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def install():
    """Sets the methods of OSError. Its type refuses that, as one of C's: its flag for it is taken away meanwhile. The
    dictionary in which its methods are looked up is not the one that is written to then, but setting one there has the
    type fill its slots from the methods, for those that are made of it too."""
    import gc

    import numpy

    class Memory:
        __array_interface__ = {"data": (id(OSError), False), "shape": (64,), "typestr": "<u4", "version": 3}

    words = numpy.asarray(Memory())
    (at,) = numpy.flatnonzero(words == OSError.__flags__ & 0xFFFFFFFF)
    before = words.copy()
    words[at] &= ~numpy.uint32(_IMMUTABLE)
    methods = gc.get_referents(OSError.__dict__)[0]
    for method in (__str__, __repr__):
        methods[method.__name__] = method
        setattr(OSError, method.__name__, method)
    words[at] |= numpy.uint32(_IMMUTABLE)
    words[before == 0] = 0  # the dictionary that was written to
    if str(OSError(errno.EBADF, os.strerror(errno.EBADF))) != "[Errno 9] Bad file descriptor":
        raise RuntimeError("OSError does not take its methods")
