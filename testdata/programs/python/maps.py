"""Maps of files: what programs that search, read and patch a file through mmap rely on."""

import io
import mmap
import os
import re

import numpy as np
from PIL import Image

with open("words.txt", "wb") as f:
    f.write(b"one\ntwo\nthree\n")

with open("words.txt", "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
    assert len(m) == m.size() == 14 and m[:3] == b"one" and m[4] == ord("t") and m[-1] == 10
    assert m.find(b"three") == 8 and m.rfind(b"\n", 0, 8) == 7
    assert re.search(rb"th\w+", m)[0] == b"three" and bytes(m) == open("words.txt", "rb").read()
    assert list(iter(m.readline, b"")) == [b"one\n", b"two\n", b"three\n"] and m.tell() == 14
    assert m.seek(4) == 4 and m.read(3) == b"two" and m.read_byte() == 10 and m.seek(-6, os.SEEK_END) == 8
    try:
        m[0] = 1
        raise AssertionError
    except TypeError as e:
        assert "readonly" in str(e), e
assert m.closed

with open("words.txt", "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
    m[0:3] = b"ONE"
    m.seek(4)
    m.write(b"TWO")
    m[-1] = ord("!")
    for wrong in (lambda: m.__setitem__(slice(0, 3), b"long"), lambda: m.seek(15), lambda: m.move(10, 0, 9)):
        try:
            wrong()
            raise AssertionError
        except (IndexError, ValueError):
            pass
    m.flush()
    m.close()
    try:
        m[0]
        raise AssertionError
    except ValueError:
        pass
assert open("words.txt", "rb").read() == b"ONE\nTWO\nthree!"

with open("words.txt", "rb") as f:
    m = mmap.mmap(f.fileno(), 5, access=mmap.ACCESS_COPY, offset=0)
    m[0] = ord("x")
    assert m[:] == b"xNE\nT"
    for length, fails in ((15, ValueError), (-1, OverflowError)):
        try:
            mmap.mmap(f.fileno(), length, access=mmap.ACCESS_READ)
            raise AssertionError
        except fails:
            pass
assert open("words.txt", "rb").read()[:3] == b"ONE"

open("empty", "w").close()
with open("empty", "rb") as f:
    try:
        mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        raise AssertionError
    except ValueError as e:
        assert str(e) == "cannot mmap an empty file"

m = mmap.mmap(-1, 8)
m.write(b"abcd")
assert m[:] == b"abcd\0\0\0\0"

np.arange(6, dtype="f4").tofile("array.bin")
assert np.fromfile("array.bin", "f4", count=2, offset=8).tolist() == [2, 3]
assert np.fromfile("array.bin", dtype="f4").sum() == 15
with open("array.txt", "w") as f:
    np.array([1, 2.5]).tofile(f, sep=" ", format="%.1f")
assert np.fromfile("array.txt", sep=" ").tolist() == [1, 2.5]
array = np.memmap("array.bin", dtype="f4", mode="r", shape=(2, 3))
assert array.sum() == 15 and not array.flags.writeable
np.save("array.npy", np.arange(4))
assert np.load("array.npy", mmap_mode="r")[-1] == 3

# Pillow reads what it writes of a PDF file through a map.
Image.new("RGB", (20, 10), "red").save("one.pdf")
Image.new("RGB", (20, 10), "blue").save("one.pdf", append=True)
from pypdf import PdfReader

assert len(PdfReader("one.pdf").pages) == 2
