"""An event loop without sockets: timers, tasks and queues work; waiting is time.sleep.

Nothing outside can wake this loop, so a loop in which every task waits for another is at once an
error instead of silence until the time limit.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import time
from asyncio import base_events, events, tasks

from . import closed

class _Clock:
    """What a loop calls its selector: here only a place to sleep."""

    def __init__(self):
        self._closed = False

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError(
                "the event loop would wait forever: every task waits for something that nothing"
                " in this sandbox can bring about"
            )
        if timeout > 0:
            time.sleep(timeout)
        return ()

    def close(self):
        self._closed = True

    def get_map(self):
        return {}


class Loop(base_events.BaseEventLoop):
    """The event loop of asyncio.run and asyncio.new_event_loop."""

    def __init__(self, selector=None):
        super().__init__()
        self._selector = _Clock()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass

    def run_forever(self):
        with _outside_turn():
            super().run_forever()

    def run_until_complete(self, future):
        with _outside_turn():
            return super().run_until_complete(future)

    def run_in_executor(self, executor, func, *args):
        self._check_closed()
        if executor is None:
            executor = concurrent.futures.ThreadPoolExecutor(1)
        return asyncio.wrap_future(executor.submit(func, *args), loop=self)

    async def shutdown_default_executor(self, timeout=None):
        self._executor_shutdown_called = True

    async def subprocess_exec(self, protocol_factory, program, *args, **kwargs):
        raise closed.no_processes([program, *args])

    async def subprocess_shell(self, protocol_factory, cmd, **kwargs):
        raise closed.no_processes(cmd)

    def close(self):
        if self.is_running():
            raise RuntimeError("Cannot close a running event loop")
        if not self.is_closed():
            super().close()
            self._selector.close()


@contextlib.contextmanager
def _outside_turn():
    """Steps out of the loop on which a turn's own awaits run, so that asyncio.run() works there too:
    a program that was told to write it need not know that its host understands a bare await. In
    a loop of the program's own it stays the error that it is in CPython."""
    loop = events._get_running_loop()
    if loop is None or loop is not _turns:
        yield
        return
    task = tasks._swap_current_task(loop, None)
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(loop)
        tasks._swap_current_task(loop, task)


def install():
    """Makes Loop the loop that everyone gets."""
    from asyncio import runners, unix_events

    unix_events._DefaultEventLoopPolicy._loop_factory = Loop
    for module in (asyncio, unix_events):
        for name in ("SelectorEventLoop", "EventLoop", "_UnixSelectorEventLoop"):
            if hasattr(module, name):
                setattr(module, name, Loop)

    def outside(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            with _outside_turn():
                return function(*args, **kwargs)

        return run

    run = outside(runners.run)
    runners.Runner.run = outside(runners.Runner.run)
    asyncio.run = runners.run = run


# The loop on which a session's own awaits run. It stays, so that tasks go on in the next turn.
_turns = None


def run_turn(coroutine):
    """Runs a coroutine that a turn's own text has become."""
    global _turns
    if _turns is None or _turns.is_closed():
        _turns = Loop()
    events.set_event_loop(_turns)
    return _turns.run_until_complete(coroutine)
