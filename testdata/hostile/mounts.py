# Attempts: to leave its mounts by "..", by links it finds or makes, by descriptors of folders that it moves, and by
#   renames and hard links between a read-only and a writable mount.
# Stopped by: ENOENT, EACCES or ENOTCAPABLE for what lies outside, EXDEV between mounts, EROFS in the read-only one.
# run: status=ok timeout=60s mounts=ro,rw
import itertools, os

def reads(*how):
    for f in how:
        try:
            got = f()
        except (OSError, ValueError, NotImplementedError, TypeError):
            continue
        if b"CANARY" in got or "CANARY" in str(got):
            print("BROKEN: read from outside", got)

def read(path, flags=0, **kw):
    fd = os.open(path, os.O_RDONLY | flags, **kw)
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)

up = ["..", "./..", "sub/../..", "a.txt/..", "../rw/..", "//..", "out", "out/.", "out/dir/..", "abs/..", "%2e%2e", "..\\", "..;", ".. ", "\u2025", ".\u200b."]
for mount, way in itertools.product(("/ro", "/rw"), up):
    for tail in ("outside/secret.txt", "secret.txt", "dir/secret.txt", "../outside/secret.txt", "../../outside/secret.txt"):
        path = f"{mount}/{way}/{tail}"
        reads(lambda: read(path), lambda: read(path + "/"), lambda: read(path, os.O_NOFOLLOW if hasattr(os, "O_NOFOLLOW") else 0))
        for outside in (f"{mount}/{way}/outside", f"{mount}/{way}"):
            try:
                names = os.listdir(outside)
            except OSError:
                continue
            if "secret.txt" in names or "outside" in names:
                print("BROKEN: listed", outside, names)

# A folder that is moved while it is open: ".." from it must not be where it was.
os.makedirs("/rw/a/b/c")
fd = os.open("/rw/a/b/c", os.O_RDONLY | os.O_DIRECTORY)
os.rename("/rw/a/b/c", "/rw/c")
for depth in range(1, 6):
    reads(lambda: read("../" * depth + "outside/secret.txt", dir_fd=fd))
os.rename("/rw/c", "/rw/a/c")
os.rmdir("/rw/a/c")
for depth in range(0, 6):
    reads(lambda: read("../" * depth + "outside/secret.txt", dir_fd=fd), lambda: read("../" * depth + "secret.txt", dir_fd=fd))
os.close(fd)

# Links of every kind, made and followed, replaced between one call and the next.
for n, target in enumerate(("/", "/..", "..", "../..", "../outside", "../../outside/secret.txt", "out", "/rw/out", "/proc/self/root", "/dev/fd/3", "a/../../outside", ".")):
    link = f"/rw/link{n}"
    try:
        os.symlink(target, link)
    except OSError:
        continue
    for tail in ("", "/", "/secret.txt", "/outside/secret.txt", "/dir/secret.txt", "/../outside/secret.txt"):
        reads(lambda: read(link + tail))
        for flags in (os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_TRUNC, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_CREAT | os.O_EXCL):
            try:
                made = os.open(link + tail, flags)
                os.write(made, b"x")
                os.close(made)
            except OSError:
                pass
    for name in ("made", "secret.txt", "dir/made"):
        for how in (lambda: os.mkdir(f"{link}/{name}"), lambda: os.unlink(f"{link}/{name}"), lambda: os.rmdir(f"{link}/{name}"), lambda: os.truncate(f"{link}/{name}", 0),
                    lambda: os.utime(f"{link}/{name}", (1, 1)), lambda: os.rename("/rw/a.txt", f"{link}/outside/{name}"), lambda: os.link("/rw/a.txt", f"{link}/outside/{name}"),
                    lambda: os.symlink("x", f"{link}/outside/{name}"), lambda: os.rename(f"{link}/outside/secret.txt", "/rw/stolen"), lambda: os.link(f"{link}/outside/secret.txt", "/rw/stolen")):
            try:
                how()
            except OSError:
                pass
reads(lambda: read("/rw/stolen"), lambda: read("/data/stolen"))

# Between mounts, and the mounts themselves.
for src, dst in itertools.product(("/ro/a.txt", "/rw/a.txt", "/ro/sub", "/ro", "/rw", "/data"), ("/ro/x", "/rw/x", "/data/x", "/ro", "/rw", "/rw/a", "/x")):
    for how in (os.link, os.rename, os.replace):
        try:
            how(src, dst)
        except (OSError, NotImplementedError):
            continue
        if src.startswith("/ro"):
            print("BROKEN:", how.__name__, src, dst)
        elif src.startswith("/rw") and not dst.startswith("/rw"):
            print("BROKEN:", how.__name__, src, dst)
for path in ("/ro", "/rw", "/", "/data", "/tmp", "/usr"):
    for how in (os.rmdir, os.unlink):
        try:
            how(path)
        except OSError:
            continue
        if path in ("/ro", "/rw"):
            print("BROKEN:", how.__name__, path)
print("end")
