"""zipfile and the compression modules."""

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib

from answers import show, tree

with open("plain.txt", "w") as f:
    f.write("line\n" * 1000)
os.makedirs("d/e")
open("d/e/f", "w").write("deep")

for name in ("STORED", "DEFLATED", "BZIP2", "LZMA"):
    method = getattr(zipfile, "ZIP_" + name)

    def pack():
        with zipfile.ZipFile(name + ".zip", "w", method) as z:
            z.write("plain.txt")
            z.writestr("made/ü.txt", "text é")
            z.writestr(zipfile.ZipInfo("info", (2020, 1, 2, 3, 4, 6)), b"\0\1")
            return [(i.filename, i.file_size, i.compress_type == method, i.CRC) for i in z.infolist()]

    show(f"write {name}", pack)

    def unpack():
        with zipfile.ZipFile(name + ".zip") as z:
            return z.testzip(), z.namelist(), len(z.read("plain.txt")), z.read("made/ü.txt").decode(), z.getinfo("info").date_time

    show(f"read {name}", unpack)

show("level", lambda: [zipfile.ZipFile("lv.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9).write("plain.txt"), os.path.getsize("lv.zip") > 0])
show("append", lambda: [z.writestr("more", "m") or z.close() for z in [zipfile.ZipFile("STORED.zip", "a")]] and zipfile.ZipFile("STORED.zip").namelist())
show("twice", lambda: [(z.writestr("x", "1"), z.writestr("x", "2"), z.read("x")) for z in [zipfile.ZipFile(io.BytesIO(), "w")] if not __import__("warnings").simplefilter("ignore")])
show("exclusive", zipfile.ZipFile, "STORED.zip", "x")
show("nothing", zipfile.ZipFile, "none.zip")
show("not a zip", zipfile.ZipFile, "plain.txt")
show("is_zipfile", lambda: (zipfile.is_zipfile("STORED.zip"), zipfile.is_zipfile("plain.txt"), zipfile.is_zipfile("none")))
show("missing member", lambda: zipfile.ZipFile("STORED.zip").read("none"))
show("folder", lambda: [(z.write("d"), z.write("d/e/f"), z.mkdir("m"), z.namelist(), z.getinfo("d/").is_dir()) for z in [zipfile.ZipFile("f.zip", "w")]])
show("extract", lambda: (zipfile.ZipFile("DEFLATED.zip").extractall("out"), tree("out"))[-1])
show("extract one", lambda: os.path.relpath(zipfile.ZipFile("DEFLATED.zip").extract("made/ü.txt", "one")))


def evil():
    with zipfile.ZipFile("evil.zip", "w") as z:
        for name in ("../up", "/abs", "a/../../b"):
            z.writestr(name, "x")
    zipfile.ZipFile("evil.zip").extractall("jail")
    return tree("jail")


show("evil names", evil)
show("modes", lambda: [oct(i.external_attr >> 16 & 0o600) for i in zipfile.ZipFile("DEFLATED.zip").infolist()])
show("open member", lambda: [(m.readline(), m.seek(5), m.tell(), m.read(4)) for m in [zipfile.ZipFile("DEFLATED.zip").open("plain.txt")]])
show("write member", lambda: [[m.write(b"s" * 10) for _ in range(3)] and m.close() or z.read("s") for z in [zipfile.ZipFile(io.BytesIO(), "w")] for m in [z.open("s", "w")]])
show("corrupt", lambda: (lambda b: zipfile.ZipFile(io.BytesIO(b[:40] + b"???" + b[43:])).testzip())(open("STORED.zip", "rb").read()))
show("Path", lambda: [(sorted(p.name for p in z.iterdir()), (z / "made" / "ü.txt").read_text(encoding="utf-8"), (z / "none").exists()) for z in [zipfile.Path("DEFLATED.zip")]])
show("password", lambda: zipfile.ZipFile("DEFLATED.zip").setpassword(b"x"))
show("comment", lambda: [setattr(z, "comment", b"hello") or z.close() for z in [zipfile.ZipFile("LZMA.zip", "a")]] and zipfile.ZipFile("LZMA.zip").comment)

# Compression alone.
data = b"abc" * 10_000
for module in (gzip, bz2, lzma, zlib):
    show(module.__name__, lambda: (module.decompress(module.compress(data)) == data, len(module.compress(data)) < 500))
for module in (gzip, bz2, lzma):
    show(f"{module.__name__} file", lambda: [[f.write("é\n" * 3) for f in [module.open("c", "wt", encoding="utf-8")] if f] and f.close() for f in [None] if f] or
         (module.open("c", "wb").write(data), None)[1])

    def roundtrip():
        with module.open("rt", "wt", encoding="utf-8") as f:
            f.write("é\n" * 3)
        with module.open("rt", "at", encoding="utf-8") as f:
            f.write("more")
        with module.open("rt", "rt", encoding="utf-8") as f:
            return f.read()

    show(f"{module.__name__} text", roundtrip)
    show(f"{module.__name__} damaged", lambda: module.open(io.BytesIO(b"not compressed")).read())
show("zlib damaged", lambda: zlib.decompress(b"x"))
show("crc", lambda: (zlib.crc32(b"abc"), zlib.adler32(b"abc")))
show("zlib stream", lambda: [d.decompress(zlib.compress(b"a" * 100), 10) for d in [zlib.decompressobj()]])
show("gzip seek", lambda: [(f.seek(9000), f.read(6), f.seek(3), f.read(3)) for f in [gzip.open(io.BytesIO(gzip.compress(data)))]])
