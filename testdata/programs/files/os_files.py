"""os: descriptors, positions, sizes, times and folders as they are read."""

import os
import stat
import time

from answers import show

flags = os.O_RDWR | os.O_CREAT


def fd(name, f=flags):
    return os.open(name, f, 0o666)


# Opening.
show("exclusive", lambda: os.close(fd("a", flags | os.O_EXCL)))
show("exclusive again", fd, "a", flags | os.O_EXCL)
show("no create", os.open, "none", os.O_RDWR)
show("folder to write", os.open, ".", os.O_WRONLY)
show("folder to read", lambda: os.close(os.open(".", os.O_RDONLY | os.O_DIRECTORY)))
show("file as folder", os.open, "a", os.O_RDONLY | os.O_DIRECTORY)
show("no follow", lambda: (os.symlink("a", "l"), os.open("l", os.O_RDONLY | os.O_NOFOLLOW)))
show("open folder", open, ".")
show("open folder to write", open, ".", "w")
show("trailing slash", open, "a/")
show("exclusive over link", lambda: (os.symlink("x", "dl"), fd("dl", flags | os.O_EXCL)))

# Reading and writing.
f = fd("b")
show("write", os.write, f, b"0123456789")
show("seek", os.lseek, f, 2, os.SEEK_SET)
show("read", os.read, f, 3)
show("tell", os.lseek, f, 0, os.SEEK_CUR)
show("seek end", os.lseek, f, -1, os.SEEK_END)
show("seek before start", os.lseek, f, -1, os.SEEK_SET)
show("seek whence", os.lseek, f, 0, 99)
show("pread", os.pread, f, 4, 6)
show("pread past end", os.pread, f, 4, 100)
show("pwrite", os.pwrite, f, b"XY", 4)
show("position stays", os.lseek, f, 0, os.SEEK_CUR)
show("readv", lambda: (lambda a, b: (os.lseek(f, 0, 0), os.readv(f, [a, b]), bytes(a), bytes(b)))(bytearray(3), bytearray(4)))
show("writev", lambda: (os.lseek(f, 0, 0), os.writev(f, [b"ab", b"", b"cd"]), os.pread(f, 10, 0))[1:])
show("preadv", lambda: (lambda a: (os.preadv(f, [a], 2), bytes(a)))(bytearray(3)))
show("pwritev", lambda: (os.pwritev(f, [b"!", b"?"], 8), os.pread(f, 20, 0)))
show("sparse", lambda: (os.pwrite(f, b"end", 1000), os.fstat(f).st_size, os.pread(f, 4, 500)))
show("ftruncate", lambda: (os.ftruncate(f, 4), os.fstat(f).st_size, os.pread(f, 10, 0))[1:])
show("ftruncate longer", lambda: (os.ftruncate(f, 8), os.pread(f, 10, 0))[1:])
show("truncate", lambda: (os.truncate("b", 2), os.path.getsize("b"))[-1])
show("truncate negative", os.ftruncate, f, -1)
show("truncate of nothing", os.truncate, "none", 0)
show("truncate of folder", os.truncate, ".", 0)
show("sync", lambda: (os.fsync(f), os.fdatasync(f)))
show("isatty", os.isatty, f)
show("close", os.close, f)
show("closed", os.read, f, 1)
show("close again", os.close, f)
show("read only", lambda: os.write(os.open("b", os.O_RDONLY), b"x"))
show("write only", lambda: os.read(os.open("b", os.O_WRONLY), 1))
show("bad number", os.fstat, 200)

# Append.
f = fd("log", flags | os.O_APPEND)
show("append", lambda: (os.write(f, b"one"), os.lseek(f, 0, 0), os.write(f, b"two"), os.pread(f, 10, 0)))
os.close(f)
show("append text", lambda: (open("log", "a").write("three"), open("log").read()))
show("append tell", lambda: open("log", "a").tell())
show("exclusive text", open, "log", "x")
show("update", lambda: (lambda f: (f.read(3), f.seek(3), f.write("TWO"), f.flush(), f.seek(0), f.read()))(open("log", "r+")))
show("write and read", lambda: (lambda f: (f.write("héllo\n"), f.seek(0), f.read()))(open("u", "w+", encoding="utf-8")))
show("newlines", lambda: (open("nl", "w", newline="\r\n").write("a\nb\n"), open("nl", "rb").read(), open("nl").read(), open("nl", newline="").read()))

# Files without a name.
f = fd("gone")
show("unlink open", lambda: (os.unlink("gone"), os.write(f, b"still"), os.pread(f, 9, 0), os.fstat(f).st_nlink, os.path.exists("gone")))
g = fd("gone")
show("new of that name", lambda: (os.fstat(g).st_size, os.path.sameopenfile(f, g)))
os.close(f), os.close(g)
f = fd("moving")
show("rename open", lambda: (os.rename("moving", "moved"), os.write(f, b"x"), open("moved").read()))
show("replaced open", lambda: (open("new", "w").write("new"), os.replace("new", "moved"), os.pread(f, 9, 0), open("moved").read()))
os.close(f)

# Stat.
st = os.stat("b")
show("kinds", lambda: (stat.S_ISREG(st.st_mode), stat.S_ISDIR(os.stat(".").st_mode), stat.S_ISLNK(os.lstat("l").st_mode)))
show("size", lambda: (st.st_size, os.lstat("l").st_size))
show("same", lambda: (os.stat("b").st_ino == st.st_ino, os.stat("a").st_ino == st.st_ino, os.path.samestat(os.stat("l"), os.stat("a"))))
show("dir link stat", lambda: os.stat("nothing"))
show("lstat slash", lambda: stat.S_ISDIR(os.lstat("./").st_mode))
show("access", lambda: [os.access("b", os.F_OK), os.access("b", os.R_OK), os.access("nothing", os.F_OK)])
show("chmod", lambda: [(os.chmod("b", m), oct(os.stat("b").st_mode & 0o777), oct(os.stat(f).st_mode & 0o777)) for m in (0o640, 0o700) for f in [os.open("b", os.O_RDONLY)]])
show("modes", lambda: (os.umask(0o22), [oct(os.stat(n).st_mode & 0o777) for n in ("u", ".")][:1], oct(os.lstat("l").st_mode)))
show("fchmod", lambda: [(os.fchmod(f, 0o600), oct(os.fstat(f).st_mode)) for f in [os.open("b", os.O_RDWR)]])
show("chown", lambda: (os.chown("b", -1, -1), os.chown("b", os.getuid(), os.getgid()), os.stat("b").st_uid == os.getuid()))
show("statvfs", lambda: [s.f_frsize > 0 and s.f_blocks >= s.f_bavail >= 0 and s.f_namemax for s in [os.statvfs(".")]])
show("chmod of nothing", os.chmod, "nothing", 0o644)

# Times.
show("utime", lambda: (os.utime("b", (1_000_000_000, 1_100_000_000)), os.stat("b").st_atime, os.stat("b").st_mtime))
show("utime ns", lambda: (os.utime("b", ns=(1, 1_234_567_890_123_456_789)), os.stat("b").st_mtime_ns))
show("utime both", os.utime, "b", (1, 2), ns=(1, 2))
show("utime now", lambda: (os.utime("b"), abs(os.stat("b").st_mtime - time.time()) < 10)[-1])
show("utime of link", lambda: (os.utime("l", (5, 6), follow_symlinks=False), os.lstat("l").st_mtime, os.stat("l").st_mtime > 1e9))
show("writing sets mtime", lambda: (os.utime("b", (1, 1)), open("b", "a").write("x"), os.stat("b").st_mtime > 1e9)[-1])
show("reading does not", lambda: (os.utime("b", (1, 1)), open("b").read(), os.stat("b").st_mtime)[-1])
show("names set a folder's", lambda: (os.mkdir("td"), os.utime("td", (1, 1)), open("td/x", "w").close(), os.stat("td").st_mtime > 1e9)[-1])

# Folders.
os.makedirs("w/b/c")
for name in ("w/1", "w/b/2", "w/b/c/3"):
    open(name, "w").close()
os.symlink("b", "w/link")
show("listdir", lambda: sorted(os.listdir("w")))
show("listdir of file", os.listdir, "w/1")
show("listdir of nothing", os.listdir, "nothing")
show("scandir", lambda: sorted((e.name, e.is_dir(), e.is_file(), e.is_symlink(), e.is_dir(follow_symlinks=False)) for e in os.scandir("w")))
show("scandir stat", lambda: {e.name: e.inode() == os.lstat(e.path).st_ino for e in os.scandir("w")}.values())
show("scandir of file", os.scandir, "w/1")
show("walk", lambda: [(d, sorted(s), sorted(f)) for d, s, f in os.walk("w")])
show("walk up", lambda: [d for d, s, f in os.walk("w", topdown=False)])
show("walk links", lambda: sorted(d for d, s, f in os.walk("w", followlinks=True)))
show("walk pruned", lambda: [d for d, s, f in os.walk("w") if not s.clear()])
show("walk of nothing", lambda: list(os.walk("nothing")))
show("removed while listed", lambda: ([os.mkdir("many")], [open(f"many/{i}", "w").close() for i in range(300)], [os.unlink(e.path) for e in os.scandir("many")], os.listdir("many"))[-1])
show("chdir", lambda: (os.chdir("w/b"), os.path.basename(os.getcwd()), sorted(os.listdir())))
show("relative", lambda: (open("../up", "w").close(), os.path.exists("../../w/up"), os.chdir("../.."))[1])
show("chdir to file", os.chdir, "b")
show("chdir to nothing", os.chdir, "nothing")
d = os.open("w", os.O_RDONLY)
show("dir_fd", lambda: (os.mkdir("df", dir_fd=d), os.stat("df", dir_fd=d).st_nlink > 0, os.rename("df", "dg", src_dir_fd=d, dst_dir_fd=d), os.path.isdir("w/dg"), os.rmdir("dg", dir_fd=d)))
show("dir_fd open", lambda: os.read(os.open("1", os.O_RDONLY, dir_fd=d), 9))
show("dir_fd symlink", lambda: (os.symlink("1", "ds", dir_fd=d), os.readlink("ds", dir_fd=d), os.unlink("ds", dir_fd=d)))
show("dir_fd of file", lambda: os.stat("x", dir_fd=os.open("b", os.O_RDONLY)))

# Environment and the rest.
os.environ["CLOCHE_TEST"] = "ä"
show("environ", lambda: (os.getenv("CLOCHE_TEST"), os.environb[b"CLOCHE_TEST"], os.environ.pop("CLOCHE_TEST"), os.getenv("CLOCHE_TEST")))
show("missing", lambda: os.environ["CLOCHE_NONE"])
show("fsencode", lambda: (os.fsencode("ä"), os.fsdecode(b"\xff"), os.fspath(b"x")))
show("urandom", lambda: (len(os.urandom(7)), os.urandom(8) != os.urandom(8)))
show("strerror", lambda: os.strerror(2) != os.strerror(13))
show("path", lambda: (os.path.join("a", "/b", "c"), os.path.normpath("a/../b/./c//"), os.path.splitext("x.tar.gz"), os.path.commonpath(["/a/b", "/a/c"])))
show("expanduser", lambda: os.path.expanduser("~") == os.environ.get("HOME"))
show("expandvars", lambda: (os.environ.__setitem__("V", "v"), os.path.expandvars("$V/${V}/$NONE"))[-1])
show("terminal size", lambda: __import__("shutil").get_terminal_size().lines > 0)
show("umask", lambda: (os.umask(0o27), os.umask(0o22)))
