# A Process is run in line, and tells of itself what a process would.
# stdout: P5 runs
# stderr: 7 rows are missing
import contextlib
import io
import multiprocessing
import os
import sys
import time
from multiprocessing import Event, Lock, Manager, Pipe, Process, Queue, Value


def square(n, results):
    results.put((n * n, multiprocessing.current_process().name, multiprocessing.parent_process() is not None))


results = Queue()
processes = [Process(target=square, args=(n,), kwargs={"results": results}) for n in (1, 2)]
for process in processes:
    process.start()
for process in processes:
    process.join()
assert [results.get() for _ in processes] == [(1, "Process-1", True), (4, "Process-2", True)]
assert [(p.exitcode, p.is_alive(), p.pid) for p in processes] == [(0, False, os.getpid())] * 2
results.close()
results.join_thread()
assert multiprocessing.current_process().name == "MainProcess" and multiprocessing.parent_process() is None


def ends(target, **settings):
    process = multiprocessing.get_context("spawn").Process(target=target, **settings)
    process.start()
    process.join(5)
    return process.exitcode


assert ends(sys.exit) == 0 and ends(sys.exit, args=(3,)) == 3 and ends(sys.exit, args=("7 rows are missing",)) == 1
with contextlib.redirect_stderr(io.StringIO()) as told:
    assert ends(int, args=("x",), name="reader") == 1
assert told.getvalue().startswith("Process reader:\nTraceback") and "ValueError: invalid literal" in told.getvalue()


class Counter(Process):
    def __init__(self, n):
        super().__init__(name=f"P{n}")
        self.n = n

    def run(self):
        print(self.name, "runs")
        self.n = 99


counter = Counter(5)
assert counter.exitcode is None
counter.start()
counter.join()
assert counter.n == 5 and "exitcode=0" in repr(counter)
counter.close()

total, lock = Value("i", 0), Lock()


def add():
    for _ in range(100):
        with lock:
            total.value += 1


for process in (adders := [Process(target=add) for _ in range(3)]):
    process.start()
for process in adders:
    process.join()
assert total.value == 300

# What one waits for that comes later.
with Manager() as manager:
    jobs, done, seen = manager.Queue(), manager.list(), manager.dict()

    def work():
        while (job := jobs.get()) is not None:
            done.append(job * 10)
            seen[job] = True

    worker = Process(target=work)
    worker.start()
    for job in (1, 2, None):
        jobs.put(job)
    worker.join()
    assert done == [10, 20] and seen == {1: True, 2: True} and worker.exitcode == 0
    assert manager.Namespace(a=1).a == 1 and manager.Value("i", 2).value == 2 and manager.Array("i", [1])[0] == 1
go = Event()
waits = Process(target=go.wait)
waits.start()
go.set()
waits.join()
assert waits.exitcode == 0


def answer(end):
    end.send([end.recv() + 1, {"a": None}])
    end.close()


ours, theirs = Pipe()
process = Process(target=answer, args=(theirs,))
process.start()
ours.send(41)
assert ours.poll(1) and ours.recv() == [42, {"a": None}] and not ours.poll()
process.join()
source, sink = Pipe(duplex=False)


def count():
    for n in range(3):
        sink.send(n)
    sink.close()


Process(target=count).start()
sink.close()
got = []
try:
    while True:
        got.append(source.recv())
except EOFError:
    assert got == [0, 1, 2] and source.poll()
for call in (lambda: source.send(1), lambda: sink.send(1)):
    try:
        call()
    except OSError as e:
        assert "read-only" in str(e) or "closed" in str(e)
    else:
        raise AssertionError("sent")

asleep = Process(target=time.sleep, args=(1000,), daemon=True)
asleep.start()
assert asleep.is_alive() and multiprocessing.active_children() == [asleep]
asleep.terminate()
asleep.join()
assert asleep.exitcode == -15 and not multiprocessing.active_children()
stuck = Process(target=Queue().get)
stuck.start()
try:
    stuck.join()
except RuntimeError as e:
    assert "never end" in str(e)
else:
    raise AssertionError("it came to an end")
stuck.kill()
assert stuck.exitcode == -9

from multiprocessing.managers import BaseManager

try:
    BaseManager().start()
except OSError as e:
    assert "processes are not available in this sandbox" in str(e)
else:
    raise AssertionError("a process was started")
