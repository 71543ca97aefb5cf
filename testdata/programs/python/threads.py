# Threads run in line, or say in one sentence why they cannot.
import queue
import threading
import time

done = []
thread = threading.Thread(target=lambda: done.append(threading.current_thread().name), name="w")
assert not thread.is_alive()
thread.start()
thread.join(5)
assert done == ["w"] and not thread.is_alive()
assert threading.current_thread() is threading.main_thread()
assert threading.active_count() == 1


# A worker that ends by itself.
jobs = queue.Queue()
results = []


def worker():
    while (job := jobs.get()) is not None:
        results.append(job * job)


for n in (1, 2, 3, None):
    jobs.put(n)
worker_thread = threading.Thread(target=worker)
worker_thread.start()
worker_thread.join()
assert results == [1, 4, 9]


def fails_with(text, call):
    try:
        call()
    except RuntimeError as e:
        assert text in str(e), str(e)
        assert type(e).__name__ == "RuntimeError"
    else:
        raise AssertionError(f"no error: {text}")


# What cannot run in line.
stuck = threading.Thread(target=queue.Queue().get)
stuck.start()
fails_with("can't start new thread", stuck.join)

# Nothing waits forever.
lock = threading.Lock()
with lock:
    assert lock.locked()
    assert not lock.acquire(blocking=False)
    start = time.monotonic()
    assert not lock.acquire(timeout=0.05)
    assert time.monotonic() - start >= 0.05
    fails_with("never end", lock.acquire)
assert not lock.locked()
fails_with("release unlocked lock", lock.release)
fails_with("never end", threading.Event().wait)
assert threading.Event().wait(0.01) is False
fails_with("never end", queue.Queue().get)
fails_with("never end", queue.SimpleQueue().get)
fails_with("never end", threading.Semaphore(0).acquire)
try:
    queue.Queue().get(timeout=0.01)
except queue.Empty:
    pass
else:
    raise AssertionError("an empty queue gave something")

relock = threading.RLock()
with relock, relock:
    pass

# An exception in a thread is told and goes no further.
told = []
hook, threading.excepthook = threading.excepthook, lambda args: told.append(args.exc_type)
threading.Thread(target=lambda: 1 / 0).start()
threading.excepthook = hook
assert told == [ZeroDivisionError]

local = threading.local()
local.x = 1
assert local.x == 1
timer = threading.Timer(0.01, done.append, ("timer",))
timer.start()
assert timer.is_alive() and done[-1] != "timer"
timer.join()
assert done[-1] == "timer" and not timer.is_alive()
