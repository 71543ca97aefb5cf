"""tempfile: files and folders that go away."""

import os
import tempfile
from pathlib import Path

from answers import show

show("file", lambda: [(f.write(b"abc"), f.seek(0), f.read()) for f in [tempfile.TemporaryFile()]])
show("text", lambda: [(f.write("é"), f.seek(0), f.read()) for f in [tempfile.TemporaryFile("w+", encoding="utf-8")]])


def named(**options):
    with tempfile.NamedTemporaryFile(dir=".", **options) as f:
        name = f.name
        f.write(b"x")
        f.flush()
        inside = os.path.getsize(name)
    return inside, os.path.exists(name), os.path.basename(name)[:3]


show("named", lambda: named()[:2])
show("named kept", lambda: named(delete=False)[:2])
show("prefix and suffix", lambda: named(prefix="abc", suffix=".txt"))
show("many", lambda: len({tempfile.mkstemp(dir=".")[1] for _ in range(50)}))
show("mkstemp", lambda: [(os.write(fd, b"hi"), os.close(fd), Path(name).read_text()) for fd, name in [tempfile.mkstemp(suffix=".t")]])
show("mkstemp text", lambda: tempfile.mkstemp(prefix="p", suffix="s", text=True)[1][-1])
show("mkdtemp nowhere", lambda: os.path.exists(tempfile.mktemp(dir="nowhere", prefix="p")))
show("mkdtemp", lambda: [(os.path.isdir(d), os.listdir(d), os.rmdir(d)) for d in [tempfile.mkdtemp()]])


def folder():
    with tempfile.TemporaryDirectory() as d:
        p = Path(d)
        (p / "a" / "b").mkdir(parents=True)
        (p / "a" / "f").write_text("x")
        os.symlink("a", p / "l")
        was = p.is_dir()
    return was, p.exists()


show("folder", folder)
show("folder cleaned twice", lambda: [(d.cleanup(), d.cleanup(), os.path.exists(d.name)) for d in [tempfile.TemporaryDirectory()]])
show("folder kept", lambda: [(os.path.exists(d.name), d.cleanup()) for d in [tempfile.TemporaryDirectory()]])
show("spooled", lambda: [(f.write(b"x" * 5), f._rolled, f.write(b"x" * 10), f._rolled, f.seek(0), len(f.read())) for f in [tempfile.SpooledTemporaryFile(max_size=10)]])
show("spooled text", lambda: [(f.write("ü\n"), f.rollover(), f.seek(0), f.readline()) for f in [tempfile.SpooledTemporaryFile(mode="w+", encoding="utf-8")]])
show("tempdir", lambda: os.path.isdir(tempfile.gettempdir()))
show("bytes", lambda: isinstance(tempfile.gettempdirb(), bytes))
show("closed by with", lambda: [f.closed for f in [tempfile.TemporaryFile()] if f.__enter__() and not f.__exit__(None, None, None)])
show("iterate", lambda: [(f.writelines(["a\n", "b\n"]), f.seek(0), list(f)) for f in [tempfile.NamedTemporaryFile("w+")]])
show("reopened", lambda: [(f.write(b"x"), f.flush(), open(f.name, "rb").read()) for f in [tempfile.NamedTemporaryFile()]])
show("unlinked first", lambda: [(os.unlink(f.name), f.write(b"x"), f.seek(0), f.read()) for f in [tempfile.NamedTemporaryFile(delete=False)]])
