# Attempts: files without number: empty ones, folders, links, deep folders, long names; removed and made again.
# Stopped by: ENOSPC at the limit on inodes; ENAMETOOLONG for paths of more than 4096 bytes.
# run: status=ok timeout=60s inodes=500
import os

def many(make):
    n = 0
    try:
        while n < 100_000:
            make(n)
            n += 1
    except OSError:
        pass
    return n

os.mkdir("/tmp/x")
got = [many(lambda n: os.close(os.open("/tmp/x/" + "n" * 200 + str(n), os.O_CREAT | os.O_WRONLY)))]
for name in os.listdir("/tmp/x"):
    os.unlink("/tmp/x/" + name)
got.append(many(lambda n: os.mkdir("/tmp/x/" + str(n))))
for name in os.listdir("/tmp/x"):
    os.rmdir("/tmp/x/" + name)
got.append(many(lambda n: os.symlink("t", "/tmp/x/" + str(n))))
for name in os.listdir("/tmp/x"):
    os.unlink("/tmp/x/" + name)
os.chdir("/tmp/x")
def deeper(n):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
got.append(many(deeper))
os.chdir("/")
# An inode lives as long as a descriptor of it.
held = []
def hold(n):
    held.append(os.open("/tmp/h", os.O_CREAT | os.O_RDWR))
    os.unlink("/tmp/h")
got.append(many(hold))
for n in got:
    if not 10 < n <= 500:
        print("BROKEN:", got)
print(got)
