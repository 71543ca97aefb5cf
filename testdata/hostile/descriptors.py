# Attempts: to confuse descriptors: closes the first twenty, takes the numbers of the streams for its own files, uses
#   closed ones and numbers out of range, opens until there are no more.
# Stopped by: EBADF for what is not open, EMFILE at the limit on open files.
# run: status=ok,error timeout=60s open_files=64 mounts=rw
import os, sys

opened = []
try:
    while len(opened) < 100_000:
        opened.append(os.open("/data/f%d" % len(opened), os.O_CREAT | os.O_RDWR))
except OSError as e:
    if e.errno != 33:  # EMFILE of WASI
        print("BROKEN:", e)
if not 20 < len(opened) <= 64:
    print("BROKEN: opened", len(opened))
for fd in opened:
    os.close(fd)
for fd in [*opened, -1, -2**31, 2**31 - 1, 1 << 20, 99]:
    for how in (lambda: os.read(fd, 1), lambda: os.write(fd, b"x"), lambda: os.lseek(fd, 0, 0), lambda: os.fstat(fd), lambda: os.close(fd), lambda: os.ftruncate(fd, 0),
                lambda: os.fsync(fd), lambda: os.listdir(fd), lambda: os.open("a.txt", os.O_RDONLY, dir_fd=fd)):
        try:
            how()
            print("BROKEN: a closed descriptor works", fd)
        except (OSError, OverflowError, ValueError):
            pass
print("before", flush=True)
for fd in range(21):
    try:
        os.close(fd)
    except OSError:
        pass
# The lowest numbers are free now: what is opened takes the place of the streams.
got = [os.open("/data/taken%d" % n, os.O_CREAT | os.O_RDWR) for n in range(4)]
os.write(1, b"to a file\n")
print("where does this go?", flush=True)
print("and this?", file=sys.stderr, flush=True)
