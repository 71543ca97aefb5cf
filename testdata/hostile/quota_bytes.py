# Attempts: to hold more in its in-memory files than the disk limit: sparse files, huge sizes, unlinked files that are
#   still open, hard links, a file renamed over an open one, growth by truncation, link targets.
# Stopped by: ENOSPC (or EFBIG) at the disk limit; what is freed comes back.
# run: status=ok timeout=60s disk=1MiB inodes=1000 memory=256MiB
import errno, os

LIMIT = 1 << 20

def fill(f):
    n = 0
    try:
        while n < 4 * LIMIT:
            n += os.write(f, b"x" * 4096)
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            print("BROKEN:", e)
    return n

def new(name, flags=os.O_RDWR | os.O_CREAT):
    return os.open(name, flags)

a = new("/data/a")
if fill(a) > LIMIT:
    print("BROKEN: more than the limit in one file")
os.unlink("/data/a")
if fill(new("/data/b")) > 64 << 10:
    print("BROKEN: an unlinked open file was not counted")
os.close(a)
b = new("/data/b")
if not fill(b):
    print("BROKEN: what was freed did not come back")
os.ftruncate(b, 0)
# A rename over an open file keeps its bytes.
c = new("/data/c")
fill(c)
new("/data/d")
os.rename("/data/d", "/data/c")
if fill(new("/data/e")) > 64 << 10:
    print("BROKEN: a file that another was renamed over was not counted")
os.close(c)
# Links to one file are one file; the last one frees it.
f = new("/data/f")
fill(f)
for n in range(10):
    os.link("/data/f", f"/data/f{n}")
os.unlink("/data/f")
os.close(f)
if fill(new("/data/g")) > 64 << 10:
    print("BROKEN: a file with links was not counted")
for n in range(10):
    os.unlink(f"/data/f{n}")
g = new("/data/g")
if not fill(g):
    print("BROKEN: the last link did not free its file")
os.ftruncate(g, 0)
# Sizes without contents, then contents in the holes.
h = new("/data/h")
for size in (1 << 21, 1 << 31, 1 << 33, 1 << 40, 1 << 62, (1 << 63) - 1):
    for how in (lambda: os.ftruncate(h, size), lambda: os.posix_fallocate(h, 0, size), lambda: os.pwrite(h, b"x", size - 1), lambda: (os.lseek(h, size - 1, 0), os.write(h, b"x"))):
        try:
            how()
        except (OSError, OverflowError, AttributeError):
            pass
os.ftruncate(h, 0)
try:
    os.posix_fallocate(h, 0, 2 * LIMIT)
    print("BROKEN: allocated", 2 * LIMIT)
except OSError:
    pass
written = 0
for at in range(0, 1 << 28, 1 << 16):
    try:
        written += os.pwrite(h, b"x" * 65536, at)
    except OSError:
        break
if written > LIMIT:
    print("BROKEN: holes were filled beyond the limit:", written)
os.ftruncate(h, 0)
os.close(h)
# Names and link targets are not free either: inodes bound them.
made = 0
try:
    while made < 100_000:
        os.symlink("t" * 4000, "/tmp/l%d" % made)
        made += 1
except OSError as e:
    pass
if made > 1000:
    print("BROKEN: links without number:", made)
print("end")
