"""shutil and tarfile: copying, moving, removing and packing trees."""

import io
import os
import shutil
import tarfile
from pathlib import Path

from answers import show, tree


def make(top):
    for name, text in {"a.txt": "a", "b.py": "bb", "sub/c.txt": "ccc", "sub/deep/d.py": "dddd", "empty/": None}.items():
        p = Path(top, name)
        if text is None:
            p.mkdir(parents=True)
        else:
            p.parent.mkdir(parents=True, exist_ok=True)
            p.write_text(text)
    os.symlink("a.txt", Path(top, "link"))


make("t")
show("copyfile", shutil.copyfile, "t/a.txt", "x")
show("copyfile to itself", lambda: shutil.copyfile("x", "x"))
show("copyfile to folder", lambda: shutil.copyfile("x", "t"))
show("copyfile of nothing", shutil.copyfile, "nothing", "y")
show("copyfile of link", lambda: (shutil.copyfile("t/link", "lc", follow_symlinks=False), os.readlink("lc"))[-1])
show("copy to folder", shutil.copy, "x", "t/sub")
show("copy2 times", lambda: (os.utime("x", (1e9, 1.1e9)), shutil.copy2("x", "x2"), os.stat("x2").st_mtime)[1:])
show("copy mode", lambda: (os.chmod("x", 0o600), shutil.copy("x", "x3"), oct(os.stat("x3").st_mode & 0o777))[1:])
show("copystat", lambda: (shutil.copystat("x", "t/b.py"), os.stat("t/b.py").st_mtime)[-1])
show("copyfileobj", lambda: [(shutil.copyfileobj(io.BytesIO(b"z" * 100_000), f, 1000), f.tell()) for f in [open("big", "wb")]])
show("copytree", lambda: (shutil.copytree("t", "c"), tree("c")))
show("copytree again", shutil.copytree, "t", "c")
show("copytree into", lambda: shutil.copytree("t", "c", dirs_exist_ok=True, symlinks=False) and "done")
show("copytree links", lambda: (shutil.copytree("t", "cl", symlinks=True), os.path.islink("cl/link"))[-1])
show("copytree ignore", lambda: (shutil.copytree("t", "ci", ignore=shutil.ignore_patterns("*.py", "deep")), tree("ci"))[-1])
show("copytree of nothing", shutil.copytree, "nothing", "cn")
show("copytree dangling", lambda: (os.symlink("gone", "cl/dangling"), shutil.copytree("cl", "cd", ignore_dangling_symlinks=True), os.path.lexists("cd/dangling"))[-1])
show("move file", shutil.move, "x2", "moved")
show("move into folder", shutil.move, "moved", "t/sub")
show("move over", shutil.move, "x3", "t/sub")
show("move onto taken", lambda: shutil.move("x", "t/sub"))
show("move folder", lambda: (shutil.move("cl", "m"), os.path.exists("cl"), len(tree("m"))))
show("move folder into", lambda: (shutil.move("m", "ci"), os.path.isdir("ci/m")))
show("move into itself", lambda: shutil.move("ci", "ci/m"))
show("move to tmp", lambda: (os.makedirs("keep/k"), shutil.move("keep", "keep2"), tree("keep2"))[1:])
show("rmtree", lambda: (shutil.rmtree("ci"), os.path.exists("ci")))
show("rmtree of file", shutil.rmtree, "big")
show("rmtree of nothing", shutil.rmtree, "nothing")
show("rmtree ignore", shutil.rmtree, "nothing", ignore_errors=True)
show("rmtree of link", lambda: (os.symlink("t", "tl"), shutil.rmtree("tl")))
show("still there", lambda: (os.unlink("tl"), len(tree("t"))))
show("which", shutil.which, "no-such-program")
show("disk_usage", lambda: [u.total > 0 and 0 <= u.used <= u.total and u.free <= u.total for u in [shutil.disk_usage(".")]])

# Archives.
for kind, ending in (("zip", ".zip"), ("tar", ".tar"), ("gztar", ".tar.gz"), ("bztar", ".tar.bz2"), ("xztar", ".tar.xz")):
    show(f"make {kind}", lambda: os.path.basename(shutil.make_archive("arch", kind, "t")) + (" " if os.path.getsize("arch" + ending) else ""))
    show(f"unpack {kind}", lambda: (shutil.unpack_archive("arch" + ending, "out-" + kind, **({} if kind == "zip" else {"filter": "data"})), tree("out-" + kind))[-1])
show("make below", lambda: (shutil.make_archive("base", "zip", ".", "t/sub"), shutil.unpack_archive("base.zip", "bo"), tree("bo"))[-1])
show("unknown", shutil.make_archive, "x", "rar", "t")
show("unpack unknown", shutil.unpack_archive, "big", "y")
show("formats", lambda: sorted(n for n, _ in shutil.get_archive_formats()))

# tarfile itself.


def outside(tar):
    try:
        tar.extractall("h", filter="data")
    except tarfile.TarError as e:
        return e


with tarfile.open("h.tar.gz", "w:gz") as tar:
    tar.add("t/a.txt", arcname="a")
    info = tarfile.TarInfo("memory")
    info.size = 3
    tar.addfile(info, io.BytesIO(b"mem"))
    evil = tarfile.TarInfo("../evil")
    evil.size = 1
    tar.addfile(evil, io.BytesIO(b"x"))
    link = tarfile.TarInfo("sym")
    link.type, link.linkname = tarfile.SYMTYPE, "a"
    tar.addfile(link)
with tarfile.open("h.tar.gz") as tar:
    show("names", tar.getnames)
    show("member", lambda: tar.extractfile("memory").read())
    show("mode", lambda: oct(tar.getmember("a").mode & 0o600))
    show("missing", lambda: tar.getmember("none"))
    show("data filter", lambda: [type(e).__name__ for e in [outside(tar)]])
    show("member to folder", lambda: (tar.extract("a", "h2", filter="data"), tree("h2"))[-1])


def failing(f, *args):
    try:
        f(*args)
    except Exception as e:
        return e


show("is_tarfile", lambda: (tarfile.is_tarfile("h.tar.gz"), tarfile.is_tarfile("t/a.txt")))
show("not a tar", lambda: type(failing(tarfile.open, "t/a.txt")).__name__)
show("stream", lambda: [m.name for m in tarfile.open(fileobj=open("h.tar.gz", "rb"), mode="r|gz")])
show("append", lambda: (tarfile.open("arch.tar", "a").add("t/b.py", "added"), "added" in tarfile.open("arch.tar").getnames())[-1])
