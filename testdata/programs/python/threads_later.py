# Daemons and timers run when the program waits, and producers before their consumers.
# stdout: at the end
# stdout: a timer that was left
# stdout: waits
# stdout: in between
# stdout: total 6
# stdout: starts
# stdout: stops
# stdout: one that was left
import copy
import queue
import threading
import time

# Workers over a queue, started first.
jobs, results = queue.Queue(), []


def work():
    while True:
        job = jobs.get()
        try:
            results.append(job * job)
        finally:
            jobs.task_done()


for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for n in range(10):
    jobs.put(n)
jobs.join()
assert results == [n * n for n in range(10)]

for n in range(3):  # for workers that found nothing any more
    jobs.put(n)
jobs.join()
assert results[10:] == [0, 1, 4]
try:
    queue.Queue().get()
except RuntimeError as e:
    assert "never end" in str(e)


# Workers that are no daemons, and are told to stop one by one; and threads that meet.
ended = []


def work_until_told():
    while (job := jobs.get()) is not None:
        ended.append(job)
        jobs.task_done()
    ended.append("stopped")


workers = [threading.Thread(target=work_until_told) for _ in range(3)]
for worker in workers:
    worker.start()
for n in range(4):
    jobs.put(n)
jobs.join()
for _ in workers:
    jobs.put(None)
for worker in workers:
    worker.join()
assert ended == [0, 1, 2, 3] + ["stopped"] * 3

meeting, met = threading.Barrier(3), []


def meet(n):
    meeting.wait()
    met.append(n)


meeters = [threading.Thread(target=meet, args=(n,)) for n in range(3)]
for meeter in meeters:
    meeter.start()
for meeter in meeters:
    meeter.join()
assert sorted(met) == [0, 1, 2]


# One that looks again and again.
def poll():
    while True:
        try:
            results.append(polled.get(timeout=0.01))
        except queue.Empty:
            continue
        polled.task_done()


polled = queue.Queue()
threading.Thread(target=poll, daemon=True).start()
polled.put("a")
polled.put("b")
polled.join()
assert results[-2:] == ["a", "b"]

# A queue that is too small for what comes before anybody takes it.
small, got = queue.Queue(maxsize=2), []
producer = threading.Thread(target=lambda: [small.put(n) for n in (1, 2, 3, 4, None)])
consumer = threading.Thread(target=lambda: got.extend(iter(small.get, None)))
producer.start()
consumer.start()
producer.join()
consumer.join()
assert got == [1, 2, 3, 4] and small.maxsize == 2

# A daemon runs in a sleep, and no longer.
beats = []


def beat():
    while True:
        beats.append(1)
        time.sleep(0.02)


heart = threading.Thread(target=beat, daemon=True)
heart.start()
begin = time.monotonic()
time.sleep(0.07)
assert 0.07 <= time.monotonic() - begin < 5 and 1 < len(beats) < 6 and heart.is_alive()


# One that goes on for ever does not keep the program from what it waited for.
def tell():
    event.set()
    while True:
        time.sleep(0.001)


event = threading.Event()
threading.Thread(target=tell, daemon=True).start()
assert event.wait()

# Timers.
fired = []
cancelled = threading.Timer(0.01, fired.append, ["never"])
cancelled.start()
cancelled.cancel()
cancelled.join()
threading.Timer(0.02, fired.append, ["second"]).start()
threading.Timer(0.01, fired.append, ["first"]).start()
time.sleep(0.03)
assert fired == ["first", "second"]
event.clear()
threading.Timer(0.01, event.set).start()
assert event.wait(5) and not threading.Event().wait(0.001)
lock = threading.Lock()
lock.acquire()
threading.Timer(0.01, lock.release).start()
assert lock.acquire(timeout=5)

# Conditions and semaphores.
condition, items = threading.Condition(), []


def take():
    with condition:
        while not items:
            condition.wait()
        results.append(items.pop())


taker = threading.Thread(target=take, daemon=True)
taker.start()
with condition:
    items.append("item")
    condition.notify()
taker.join()
assert results[-1] == "item"
semaphore = threading.Semaphore(0)
threading.Thread(target=semaphore.release, daemon=True).start()
assert semaphore.acquire()

try:
    copy.deepcopy(lock)
except TypeError as e:
    assert "cannot pickle" in str(e)
else:
    raise AssertionError("a lock was copied")

threading.Timer(0.01, print, ["a timer that was left"]).start()
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
print("at the end")

# A worker that was parked, went on and came to its end is over for whoever joins it.
tasks = queue.Queue()


def until_none():
    while tasks.get() is not None:
        tasks.task_done()


worker = threading.Thread(target=until_none, daemon=True)
worker.start()
tasks.put(1)
tasks.join()
tasks.put(None)
worker.join()
assert not worker.is_alive()

# A thread that is started before whoever it waits for. What it says first is said once.
def consume():
    print("waits")
    total = 0
    while (item := late.get()) is not None:
        total += item
    print("total", total)


late = queue.Queue()
taker = threading.Thread(target=consume)
giver = threading.Thread(target=lambda: [late.put(n) for n in (1, 2, 3, None)])
taker.start()
assert taker.is_alive()
print("in between")
giver.start()
giver.join()
taker.join()
assert not taker.is_alive() and late.empty()

gate, passed = threading.Event(), []
walker = threading.Thread(target=lambda: gate.wait() and passed.append(1))
walker.start()
gate.set()
walker.join(5)
assert passed == [1] and not walker.is_alive()


# One that took something would lose it.
def take_two():
    two.get()
    two.get()


two = queue.Queue()
two.put(1)


def begin_again(thread):
    thread.start()
    thread.join()


for run in (threading.Thread(target=take_two).start, lambda: begin_again(threading.Thread(target=queue.Queue().get))):
    try:
        run()
    except RuntimeError as e:
        assert str(e).startswith("can't start new thread: ") and "would never end" in str(e), e
    else:
        raise AssertionError("a thread waited for nobody")


# One that goes on until it is told to stop.
def beat_until():
    print("starts")
    while not stop.is_set():
        time.sleep(0.1)
    print("stops")


stop = threading.Event()
beating = threading.Thread(target=beat_until)
beating.start()
stop.set()
beating.join()

left = threading.Thread(target=lambda: gate.wait() and print("one that was left"))
gate.clear()
left.start()
gate.set()


# A daemon that was cut short finds that it was told to stop when it is joined.
def beat():
    while not stop.wait(0.02):
        beats.append(1)
    ends.append(1)


for timeout in (None, 5):
    beats, ends = [], []
    stop = threading.Event()
    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    time.sleep(0.1)
    assert beats and not ends and beating.is_alive()
    stop.set()
    beating.join(timeout)
    assert ends == [1] and not beating.is_alive()
