"""numpy's raw files. Its C code duplicates the file's descriptor, which WASI does not offer; here Python's own files are used."""

import contextlib
import functools
import gc
import os
import sys

from .ints import counts_in_64, spelt


@contextlib.contextmanager
def _opened(file, mode):
    """The binary file under a path, or that of a file that the program has open."""
    if isinstance(file, (str, bytes, os.PathLike)):
        with open(file, mode) as opened:
            yield opened
    else:
        yield getattr(file, "buffer", file)  # numpy writes bytes to text files, too


def install():
    import numpy as np

    fromfile_, wide = np.fromfile, np.dtype("i8")

    def fromfile(file, dtype=float, count=-1, sep="", offset=0, *, like=None):
        dtype = np.dtype(spelt(dtype, wide) if counts_in_64(sys._getframe(1)) else dtype)
        if dtype.hasobject:
            raise ValueError("Cannot read into object array")
        if offset and sep:
            raise TypeError("'offset' argument only permitted for binary files")
        with _opened(file, "rb") as opened:
            if offset:
                opened.seek(offset, os.SEEK_CUR)
            if sep:
                return np.fromstring(opened.read().decode(), dtype, count, sep=sep)
            data = opened.read() if count < 0 else opened.read(count * dtype.itemsize)
            return np.frombuffer(data, dtype, len(data) // dtype.itemsize).copy()

    functools.update_wrapper(fromfile, fromfile_)
    np.fromfile = fromfile

    def tofile(self, fid, /, sep="", format="%s"):
        with _opened(fid, "wb") as opened:
            opened.write(self.tobytes() if not sep else sep.join([format % item for item in self.ravel().tolist()]).encode())

    tofile.__doc__, tofile.__qualname__ = np.ndarray.tofile.__doc__, "ndarray.tofile"
    gc.get_referents(np.ndarray.__dict__)[0]["tofile"] = tofile  # setattr is refused
    sys._clear_type_cache()
