# asyncio, without sockets.
import asyncio
import time


async def job(name, delay, order):
    await asyncio.sleep(delay)
    order.append(name)
    return name.upper()


async def main():
    order = []
    start = time.monotonic()
    assert await asyncio.gather(job("slow", 0.1, order), job("fast", 0.02, order)) == ["SLOW", "FAST"]
    assert order == ["fast", "slow"]
    assert 0.09 < time.monotonic() - start < 5

    queue = asyncio.Queue()
    got = []

    async def worker():
        while True:
            got.append(await queue.get())
            queue.task_done()

    task = asyncio.create_task(worker())
    for n in range(3):
        queue.put_nowait(n)
    await queue.join()
    task.cancel()
    assert got == [0, 1, 2]

    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(10)
    except TimeoutError:
        pass
    else:
        raise AssertionError("no timeout")

    async with asyncio.TaskGroup() as group:
        one = group.create_task(asyncio.sleep(0, 1))
    assert one.result() == 1

    event = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, event.set)
    await event.wait()

    for watch in (asyncio.get_running_loop().add_reader, asyncio.get_running_loop().add_writer):
        try:
            watch(0, print)
        except PermissionError:
            assert not asyncio.get_running_loop().remove_reader(0)
        else:
            raise AssertionError("an input that is given whole is waited for")

    for closed in (
        asyncio.open_connection("example.com", 80),
        asyncio.create_subprocess_exec("ls"),
        asyncio.create_subprocess_shell("ls"),
    ):
        try:
            await closed
        except OSError as e:
            assert "sandbox" in str(e), e
        else:
            raise AssertionError("the sandbox is open")
    return 7


assert asyncio.run(main()) == 7
with asyncio.Runner() as runner:
    assert runner.run(asyncio.sleep(0, 3)) == 3
loop = asyncio.new_event_loop()
assert loop.run_until_complete(asyncio.sleep(0, 4)) == 4
loop.close()


async def waits():
    await asyncio.Event().wait()


try:
    asyncio.run(waits())
except RuntimeError as e:
    assert "wait forever" in str(e)
else:
    raise AssertionError("it waited")


async def nested():
    coroutine = asyncio.sleep(0)
    try:
        asyncio.run(coroutine)
    finally:
        coroutine.close()


try:
    asyncio.run(nested())
except RuntimeError as e:
    assert str(e) == "asyncio.run() cannot be called from a running event loop"
else:
    raise AssertionError("nested loops")

# At top level it may, also where the program awaits by itself.
assert await asyncio.sleep(0, 5) == 5
assert asyncio.run(asyncio.sleep(0, 6)) == 6
