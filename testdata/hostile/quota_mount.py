# Attempts: to fill the host's disk through a folder that it may write: files that it unlinks and keeps open, files renamed
#   over open ones, empty files, folders and links without number, sizes without contents.
# Stopped by: ENOSPC when what it added is as much as the limits on bytes and inodes allow; what it removes comes back.
# run: status=ok timeout=60s mounts=rw disk=1MiB inodes=500
import os

def fill(fd):
    n = 0
    try:
        while n < 10 << 20:
            n += os.write(fd, b"x" * 65536)
    except OSError:
        pass
    return n

def many(make):
    n = 0
    try:
        while n < 20_000:
            make(n)
            n += 1
    except OSError:
        pass
    return n

held, total = [], 0
for n in range(20):
    try:
        held.append(os.open("/rw/held", os.O_CREAT | os.O_RDWR))
        total += fill(held[-1])
        os.unlink("/rw/held")
    except OSError:
        break
for n in range(20):
    try:
        held.append(os.open("/rw/over", os.O_CREAT | os.O_RDWR))
        total += fill(held[-1])
        os.close(os.open("/rw/empty", os.O_CREAT | os.O_RDWR))
        os.rename("/rw/empty", "/rw/over")
    except OSError:
        break
if total > 1 << 20:
    print("BROKEN: bytes held", total)
for fd in held:
    os.close(fd)
fd = os.open("/rw/again", os.O_CREAT | os.O_RDWR)
if fill(fd) < 512 << 10:
    print("BROKEN: what was closed did not come back")
for size in (1 << 30, 1 << 40, 1 << 60):
    try:
        os.ftruncate(fd, size)
        print("BROKEN: size", size)
    except OSError:
        pass
    try:
        os.posix_fallocate(fd, 0, size)
        print("BROKEN: allocated", size)
    except (OSError, AttributeError):
        pass
names = many(lambda n: os.close(os.open(f"/rw/f{n}", os.O_CREAT | os.O_WRONLY))) + many(lambda n: os.mkdir(f"/rw/d{n}")) + many(lambda n: os.symlink("x", f"/rw/s{n}")) + many(lambda n: os.link("/rw/a.txt", f"/rw/l{n}"))
if not 100 < names <= 500:
    print("BROKEN: names", names)
print(names)
