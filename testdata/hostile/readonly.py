# Attempts: every change to a read-only mount, by name, by descriptor and by flags that a reader may give.
# Stopped by: EROFS (or ENOENT, ENOTDIR where the name is no such thing).
# run: status=ok timeout=60s mounts=ro
import os, pathlib, shutil, sqlite3, mmap

fd = os.open("/ro/a.txt", os.O_RDONLY)
folder = os.open("/ro", os.O_RDONLY | os.O_DIRECTORY)
for flags in range(0, 1 << 14, 1):
    if bin(flags).count("1") > 3:
        continue
    try:
        made = os.open("/ro/a.txt", flags)
    except (OSError, ValueError, OverflowError):
        continue
    try:
        os.write(made, b"changed")
        print("BROKEN: written with flags", flags)
    except OSError:
        pass
    for how in (lambda: os.ftruncate(made, 0), lambda: os.posix_fallocate(made, 0, 100), lambda: os.fchmod(made, 0o777), lambda: os.utime(made, (1, 1))):
        try:
            how()
            print("BROKEN: changed with flags", flags)
        except (OSError, AttributeError, NotImplementedError):
            pass
    os.close(made)
for how in (
    lambda: os.write(fd, b"x"), lambda: os.ftruncate(fd, 0), lambda: os.utime(fd, (1, 1)), lambda: os.fsync(fd) or 1 / 0, lambda: os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=folder),
    lambda: os.mkdir("new", dir_fd=folder), lambda: os.unlink("a.txt", dir_fd=folder), lambda: os.rename("a.txt", "b.txt", src_dir_fd=folder, dst_dir_fd=folder),
    lambda: os.link("a.txt", "b.txt", src_dir_fd=folder, dst_dir_fd=folder), lambda: os.symlink("a.txt", "l", dir_fd=folder), lambda: os.rmdir("sub", dir_fd=folder),
    lambda: os.unlink("out", dir_fd=folder), lambda: os.rename("/ro/sub", "/ro/sub2"), lambda: os.rename("/ro/a.txt", "/ro/a.txt"), lambda: shutil.rmtree("/ro/sub"),
    lambda: shutil.copy("/ro/a.txt", "/ro/c.txt"), lambda: shutil.move("/ro/sub", "/tmp/moved"), lambda: pathlib.Path("/ro/t").touch(),
    lambda: sqlite3.connect("/ro/db.sqlite").execute("create table t (x)"), lambda: os.utime("/ro"), lambda: os.utime("/ro/out", (1, 1), follow_symlinks=False),
    lambda: os.truncate("/ro/out/secret.txt", 0), lambda: os.mkdir("/ro/out/new"), lambda: open("/ro/abs", "r+"),
):
    try:
        how()
        print("BROKEN:", how.__code__.co_names)
    except (OSError, NotImplementedError, AttributeError, ZeroDivisionError, shutil.Error, sqlite3.Error):
        pass
print("end")
