# Attempts: to make the host work and hold after the run, for files that cost the sandbox nothing: sizes without contents,
#   paths longer than a path may be, names and targets as long as they may be, thousands of changes.
# Stopped by: the limits on bytes and inodes; the host reads a bounded number of bytes of what changed, and names the rest.
# run: status=ok timeout=60s disk=4MiB inodes=2000
import os
for n in range(300):
    with open(f"/data/s{n}", "wb") as f:
        f.truncate(1 << 40)
        f.seek(500 << 20)
        f.write(b"x")

def chain(name, n):
    path = "/data/" + name
    os.mkdir(path)
    for _ in range(n):
        path += "/" + "d" * 200
        os.mkdir(path)
    return path
a, b, c = chain("a", 15), chain("b", 15), chain("c", 15)
for n in range(20):
    open(f"{a}/{n}", "w").write("x")
os.rename("/data/a", b + "/a")
os.rename("/data/b", c + "/b")
n = 0
try:
    while True:
        os.symlink("t" * 4000, "/data/" + "n" * 240 + str(n))
        n += 1
except OSError:
    pass
for i in range(min(n, 100)):
    os.rename("/data/" + "n" * 240 + str(i), "/data/" + "m" * 240 + str(i))
print("end")
