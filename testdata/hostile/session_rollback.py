# Attempts: to keep from a turn that was stopped what the session should not have: variables, objects changed in place,
#   files, open files and their offsets, the working folder, the environment, modules.
# Stopped by: a turn that had to be stopped is rolled back whole, after each kind of end.
# run: status=ok timeout=60s disk=8MiB memory=512MiB
import json, os, random, sys
log = open("/data/log", "w+"); log.write("one\n"); log.flush()
x = {"list": [1]}; os.environ["A"] = "1"; os.mkdir("/data/sub"); os.chdir("/data/sub")
def state():
    log.seek(0)
    text = log.read()
    return (x, text, os.getcwd(), dict(os.environ)["A"], sorted(os.listdir("/data")), sorted(os.listdir("/tmp")), hasattr(json, "mark"), "mark" in sys.modules, sys.getrecursionlimit(), os.fstat(log.fileno()).st_size, os.path.exists("/data/sub"))
before = repr(state())
def spoil():
    x["list"].append(2); x["new"] = 1; json.mark = 1; sys.modules["mark"] = json; os.environ["A"] = "2"; sys.setrecursionlimit(500)
    log.seek(0, 2); log.write("two\n"); log.flush(); os.chdir("/tmp"); os.rename("/data/log", "/data/moved"); os.rmdir("/data/sub")
    open("/data/new", "w").write("new"); open("/tmp/new", "w").write("new"); global extra; extra = [open("/data/new") for _ in range(5)]
# turn: status=out_of_fuel fuel=50000000
spoil()
while True: pass
# turn: status=ok
if repr(state()) != before or "extra" in globals(): print("BROKEN by fuel:", state(), before)
# turn: status=timeout timeout=300ms
spoil()
while True:
    try:
        while True: pass
    except BaseException: pass
# turn: status=ok
if repr(state()) != before or "extra" in globals(): print("BROKEN by time:", state(), before)
# turn: status=trapped
spoil(); log.close()
os.abort()
# turn: status=ok
if repr(state()) != before or "extra" in globals(): print("BROKEN by abort:", state(), before)
# turn: status=trapped,error,timeout timeout=2s
spoil()
import numpy as np
class Lie: __array_interface__ = {"data": (4096, False), "shape": (100 << 20,), "typestr": "|u1", "version": 3}
np.asarray(Lie())[:] = 0
# turn: status=ok
if repr(state()) != before or "extra" in globals(): print("BROKEN by a damaged interpreter:", state(), before)
# turn: status=error
spoil(); os.close(log.fileno())
os._exit(7)
# turn: status=ok
if repr(state()) != before or "extra" in globals(): print("BROKEN by exit:", state(), before)
# turn: status=timeout timeout=300ms
spoil(); os.unlink("/data/moved")
import time
while True:
    try:
        time.sleep(100)
    except BaseException: pass
# turn: status=ok
if repr(state()) != before or "extra" in globals(): print("BROKEN by sleeping:", state(), before)
log.write("three\n"); log.flush(); log.seek(0)
if log.read() != "one\nthree\n": print("BROKEN: the log cannot be written")
# turn: status=error
y = x["list"]; y.append(3)
raise ValueError("an exception alone rolls nothing back")
# turn: status=ok
if x["list"] != [1, 3] or y is not x["list"]: print("BROKEN: an exception rolled back", x)
