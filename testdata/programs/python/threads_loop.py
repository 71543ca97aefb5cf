# Threads that work for an event loop, and loops in threads. Both programs run under CPython, too.
# stdout: ['started', 'a', 'b']
import asyncio
import concurrent.futures
import queue
import threading
import time

said = []


class Worker(threading.Thread):
    """Takes work from a queue and gives its results to the loop that asked for them."""

    def __init__(self, loop, daemon, kind=queue.Queue):
        super().__init__(daemon=daemon)
        self.loop, self.jobs, self.done = loop, kind(), 0

    def run(self):
        while (job := self.jobs.get()) is not None:
            function, future = job
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                raise AssertionError("a thread has no loop")
            result = function()
            self.done += 1
            self.loop.call_soon_threadsafe(future.set_result, result)

    def ask(self, function):
        future = self.loop.create_future()
        self.jobs.put((function, future))
        return future


async def with_workers(daemon, kind):
    loop = asyncio.get_running_loop()
    worker = Worker(loop, daemon, kind)
    worker.start()
    assert await worker.ask(lambda: 1) == 1
    # While a timer is pending, and next to other tasks.
    async with asyncio.timeout(20):
        assert await worker.ask(lambda: 2) == 2
        before = time.monotonic()
        slow = asyncio.create_task(asyncio.sleep(5))
        assert await worker.ask(lambda: 3) == 3
        assert time.monotonic() - before < 4, "the loop slept for its timer"
        slow.cancel()
        assert await asyncio.gather(worker.ask(lambda: 4), asyncio.sleep(0.01, 5), worker.ask(lambda: 6)) == [4, 5, 6]
    worker.jobs.put(None)
    return worker


for daemon in (False, True):
    for kind in (queue.Queue, queue.SimpleQueue):
        worker = asyncio.run(with_workers(daemon, kind))
        worker.join()
        assert worker.done == 5 and not worker.is_alive()


# What is started inside a loop has none, and may run one of its own.
async def double(n):
    await asyncio.sleep(0.001)
    return 2 * n


async def inside():
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, double(1)).result() == 2
    assert await asyncio.to_thread(lambda: asyncio.run(double(2))) == 4
    results = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(double(3))))
    thread.start()
    thread.join()
    assert results == [6]
    assert asyncio.get_running_loop() is loop and asyncio.current_task() is task
    return await double(4)


assert asyncio.run(inside()) == 8


# A loop in a thread, which the program gives work.
def behind(daemon):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=daemon)
    thread.start()
    assert asyncio.run_coroutine_threadsafe(double(5), loop).result() == 10
    assert asyncio.run_coroutine_threadsafe(double(6), loop).result(timeout=20) == 12
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    assert not thread.is_alive() and not loop.is_running()
    loop.close()


behind(True)
behind(False)


# A callback of a thread that finds the loop asleep.
async def timed():
    loop, come = asyncio.get_running_loop(), asyncio.Event()
    threading.Timer(0.01, lambda: loop.call_soon_threadsafe(come.set)).start()
    await come.wait()
    async with asyncio.timeout(20):
        come.clear()
        threading.Timer(0.01, lambda: loop.call_soon_threadsafe(come.set)).start()
        await come.wait()


asyncio.run(timed())


# A producer that is a thread, and a task that takes what it gives.
async def feed():
    loop, items = asyncio.get_running_loop(), asyncio.Queue()

    def produce():
        said.append("started")
        for x in "ab":
            time.sleep(0.001)
            loop.call_soon_threadsafe(items.put_nowait, x)
        loop.call_soon_threadsafe(items.put_nowait, None)

    threading.Thread(target=produce, daemon=True).start()
    while (item := await items.get()) is not None:
        said.append(item)


asyncio.run(feed())
print(said)

# With nobody to bring what it waits for, a loop says so, in a thread too.
if __import__("sys").platform == "wasi":
    thread = threading.Thread(target=lambda: asyncio.run(asyncio.Event().wait()))
    thread.start()
    try:
        thread.join()
    except RuntimeError as e:
        assert "the event loop would wait forever" in str(e), e
    else:
        raise AssertionError("it waited")
