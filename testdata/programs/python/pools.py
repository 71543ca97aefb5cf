# Pools run their work in line, with the same results.
import asyncio
import multiprocessing
from concurrent import futures
from multiprocessing.dummy import Pool as DummyPool
from multiprocessing.pool import ThreadPool

for cls in (futures.ThreadPoolExecutor, futures.ProcessPoolExecutor):
    with cls(max_workers=4) as pool:
        assert list(pool.map(pow, [2, 3], [3, 2])) == [8, 9]
        jobs = [pool.submit(pow, n, 2) for n in range(4)]
        assert sorted(f.result() for f in futures.as_completed(jobs)) == [0, 1, 4, 9]
        assert futures.wait(jobs).done == set(jobs)
        failed = pool.submit(int, "x")
        assert isinstance(failed.exception(), ValueError)
        called = []
        pool.submit(abs, -1).add_done_callback(lambda f: called.append(f.result()))
        assert called == [1]
    try:
        pool.submit(abs, -1)
    except RuntimeError as e:
        assert "after shutdown" in str(e)
    else:
        raise AssertionError("a pool that was shut down took work")

made = []
with futures.ThreadPoolExecutor(2, initializer=made.append, initargs=(1,)):
    pass
assert made == [1]
try:
    futures.ThreadPoolExecutor(0)
except ValueError:
    pass

for make in (multiprocessing.Pool, multiprocessing.get_context("spawn").Pool, ThreadPool, DummyPool):
    with make(2) as pool:
        assert pool.map(abs, [-1, 2]) == [1, 2]
        assert pool.starmap(pow, [(2, 3)]) == [8]
        assert list(pool.imap_unordered(abs, [-3])) == [3]
        assert pool.apply(abs, (-4,)) == 4
        later = pool.map_async(abs, [-5])
        assert later.ready() and later.successful() and later.get(1) == [5]
        try:
            pool.apply_async(int, ("x",)).get()
        except ValueError:
            pass
        else:
            raise AssertionError("an error was lost")

assert multiprocessing.cpu_count() == 1
assert multiprocessing.Value("i", 3).value == 3
assert multiprocessing.Array("i", 2)[:] == [0, 0]
shared = multiprocessing.Queue()
shared.put(1)
assert shared.get() == 1
with multiprocessing.Lock():
    pass

from joblib import Parallel, delayed

for settings in ({}, {"prefer": "threads"}, {"backend": "threading"}):
    assert Parallel(n_jobs=2, **settings)(delayed(abs)(n) for n in (-1, -2)) == [1, 2]


async def main():
    loop = asyncio.get_running_loop()
    assert await asyncio.to_thread(abs, -1) == 1
    assert await loop.run_in_executor(None, abs, -2) == 2
    with futures.ThreadPoolExecutor() as pool:
        assert await loop.run_in_executor(pool, abs, -3) == 3


asyncio.run(main())

# An array has its type.
shared = multiprocessing.Array("d", [1, 2])
shared[1:] = [7]
assert shared[:] == [1.0, 7.0] and multiprocessing.Array("i", 3)[:] == [0, 0, 0]
