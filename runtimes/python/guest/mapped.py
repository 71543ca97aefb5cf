"""mmap.mmap, for which WASI has no call: a file's bytes, read when the map is made.

What is written through the map goes to the file at once, as long as its descriptor is open. Arrays that lie over the map
(numpy.memmap) see a file's bytes and cannot change them.
"""

import mmap as _module
import os


class mmap:
    __module__ = "mmap"

    def __init__(self, fileno, length, flags=1, prot=3, access=0, offset=0, *, trackfd=True):
        if length < 0 or offset < 0:
            raise OverflowError("memory mapped length must be positive" if length < 0 else "memory mapped offset must be positive")
        self._access = access or (_module.ACCESS_READ if not prot & 2 else _module.ACCESS_WRITE if flags & 1 else _module.ACCESS_COPY)
        self._file, self._offset, self._at = fileno, offset, 0
        if fileno == -1:
            self._access = _module.ACCESS_COPY
            self._bytes = bytearray(length)
            return
        size = os.fstat(fileno).st_size
        if length == 0:
            if size == 0:
                raise ValueError("cannot mmap an empty file")
            if offset >= size:
                raise ValueError("mmap offset is greater than file size")
            length = size - offset
        elif offset + length > size:
            raise ValueError("mmap length is greater than file size")
        data = bytearray()
        while len(data) < length and (part := os.pread(fileno, length - len(data), offset + len(data))):
            data += part
        self._bytes = data if self._access != _module.ACCESS_READ else bytes(data)

    def _open(self):
        if self._bytes is None:
            raise ValueError("mmap closed or invalid")
        return self._bytes

    def _put(self, at, data):
        data = bytes(data)
        held = self._open()
        if self._access == _module.ACCESS_READ:
            raise TypeError("mmap can't modify a readonly memory map.")
        if at < 0 or at + len(data) > len(held):
            raise ValueError("data out of range")
        held[at : at + len(data)] = data
        if self._access == _module.ACCESS_WRITE:
            os.pwrite(self._file, data, self._offset + at)

    def __buffer__(self, flags):
        view = memoryview(self._open())
        return view if self._access == _module.ACCESS_COPY else view.toreadonly()

    def __len__(self):
        return len(self._open())

    def __getitem__(self, key):
        got = self._open()[key]
        return bytes(got) if isinstance(key, slice) else got

    def __setitem__(self, key, value):
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1 or len(value) != max(stop - start, 0):
                raise IndexError("mmap slice assignment is wrong size")
            self._put(start, value)
        else:
            self._put(key if key >= 0 else key + len(self), (value,))

    def __iter__(self):
        return (self[i : i + 1] for i in range(len(self)))

    def read(self, n=None):
        start = self._at
        self._at = len(self) if n is None or n < 0 else min(start + n, len(self))
        return self[start : self._at]

    def read_byte(self):
        if self._at >= len(self):
            raise ValueError("read byte out of range")
        return self.read(1)[0]

    def readline(self):
        end = self._open().find(b"\n", self._at)
        return self.read(None if end < 0 else end + 1 - self._at)

    def write(self, data):
        self._put(self._at, data)
        self._at += len(data)
        return len(data)

    def write_byte(self, byte):
        self.write((byte,))

    def seek(self, pos, whence=os.SEEK_SET):
        to = pos + (0, self._at, len(self))[whence]
        if not 0 <= to <= len(self):
            raise ValueError("seek out of range")
        self._at = to
        return to

    def tell(self):
        return self._at

    def seekable(self):
        return True

    def find(self, sub, start=None, end=None):
        return self._open().find(sub, self._at if start is None else start, len(self) if end is None else end)

    def rfind(self, sub, start=None, end=None):
        return self._open().rfind(sub, self._at if start is None else start, len(self) if end is None else end)

    def move(self, dest, src, count):
        self._put(dest, self[src : src + count])

    def size(self):
        return len(self) if self._file == -1 else os.fstat(self._file).st_size

    def resize(self, newsize):
        raise SystemError("mmap: resizing not available--no mremap()")

    def flush(self, offset=0, size=0, /):
        self._open()

    def madvise(self, option, start=0, length=None, /):
        self._open()

    def close(self):
        self._bytes = None

    @property
    def closed(self):
        return self._bytes is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def install():
    for name, value in dict(
        ACCESS_DEFAULT=0, ACCESS_READ=1, ACCESS_WRITE=2, ACCESS_COPY=3, MAP_SHARED=1, MAP_PRIVATE=2, MAP_ANON=32,
        MAP_ANONYMOUS=32, PROT_READ=1, PROT_WRITE=2, PROT_EXEC=4, PAGESIZE=65536, ALLOCATIONGRANULARITY=65536,
    ).items():  # fmt: skip
        setattr(_module, name, value)
    _module.mmap, _module.error = mmap, OSError
