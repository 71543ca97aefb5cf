"""An event loop without sockets: timers, tasks and queues work; waiting is time.sleep, in which threads run.

Nothing outside can wake this loop, so a loop in which every task waits for another is at once an
error instead of silence until the time limit.
"""

import asyncio
import concurrent.futures
import contextlib
import errno
import functools
import signal
import threading
from asyncio import base_events, events, tasks

from . import aionet, calls, closed, net, threads, wire

__file__ = (lambda: None).__code__.co_filename


@contextlib.contextmanager
def uncounted():
    """Leaves the tasks that are made here out of the count by which tasks are named: a program's first is Task-1."""
    tasks.Task, counted = tasks._PyTask, tasks.Task
    try:
        yield
    finally:
        tasks.Task = counted


class _Wake(Exception):
    """Ends a sleep of the loop, so that it looks at what a signal handler asked for."""


class _Clock:
    """What a loop calls its selector: here only a place to sleep."""

    def __init__(self, loop):
        self.loop = loop
        self.sleeping = None  # the thread that does
        self.most = None  # seconds to wait, in a turn
        self.suspendable = False  # nothing but a turn's own awaits is on the stack

    def select(self, timeout):
        if self.most is not None:
            timeout = self.most if timeout is None else min(timeout, self.most)
        if calls.going():
            threads.run_due(self._come, self._end)
            if not self._come():
                calls.wait(timeout, self.suspendable)
        elif timeout is None or timeout > 0:
            self._sleep(timeout)
        return ()

    def _sleep(self, timeout):
        self.sleeping = threading.current_thread()
        try:
            if not threads.idle(timeout, self._come, self._end):
                raise threads.WaitsForever(
                    "the event loop would wait forever: every task waits for something that nothing"
                    " in this sandbox can bring about"
                )
        except _Wake:
            pass
        finally:
            self.sleeping = None

    def _come(self):
        return bool(self.loop._ready) or self.loop._stopping

    def _end(self):
        return self.loop._stopping

    def close(self):
        pass

    def get_map(self):
        return {}


class Loop(base_events.BaseEventLoop):
    """The event loop of asyncio.run and asyncio.new_event_loop."""

    def __init__(self, selector=None):
        super().__init__()
        self._selector = _Clock(self)
        self._handled = set()  # signals

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        threads.tell()  # the thread that this loop may be in
        # A thread that runs while the loop sleeps ends that sleep by what it has for the loop.
        if self._selector.sleeping is threading.current_thread():
            raise _Wake

    def run_forever(self):
        with _outside_turn():
            super().run_forever()

    def run_until_complete(self, future):
        with _outside_turn():
            return super().run_until_complete(future)

    def turn(self, seconds):
        """One round of the loop, of at most so many seconds, while a thread that is above it on the stack waits."""
        clock = self._selector
        kept, running = (clock.most, clock.suspendable, clock.sleeping), events._get_running_loop()
        clock.most, clock.suspendable = seconds, False
        events._set_running_loop(self)
        try:
            self._run_once()
        finally:
            events._set_running_loop(running)
            clock.most, clock.suspendable, clock.sleeping = kept

    def run_in_executor(self, executor, func, *args):
        self._check_closed()
        if executor is None:
            executor = concurrent.futures.ThreadPoolExecutor(1)
        return asyncio.wrap_future(executor.submit(func, *args), loop=self)

    async def shutdown_default_executor(self, timeout=None):
        self._executor_shutdown_called = True

    async def create_connection(
        self, protocol_factory, host=None, port=None, *, ssl=None, sock=None, server_hostname=None, **kwargs
    ):
        if sock is not None:
            host, port = sock.getpeername()
        elif not net.offered():
            closed.no_network()
        else:
            await wire.reach("https" if ssl else "http", (host, port))
        protocol = protocol_factory()
        transport = aionet.Transport(self, protocol, (host, port), bool(ssl))
        protocol.connection_made(transport)
        return transport, protocol

    async def start_tls(self, transport, protocol, sslcontext, **kwargs):
        transport._exchange.scheme = "https"
        await wire.reach("https", transport._exchange.peer)
        transport.set_protocol(protocol)
        return transport

    async def sock_connect(self, sock, address):
        sock.connect(address)

    async def sock_sendall(self, sock, data):
        sock.sendall(data)

    async def sock_recv(self, sock, n):
        return sock.recv(n)

    def add_reader(self, fd, callback, *args):
        raise PermissionError(errno.EPERM, "Operation not permitted")  # as Linux says of files: they are always ready

    add_writer = add_reader

    def remove_reader(self, fd):
        return False

    remove_writer = remove_reader

    async def create_server(self, *args, **kwargs):
        raise OSError(errno.EACCES, "nothing can be served from this sandbox")

    def add_signal_handler(self, sig, callback, *args):
        """Accepted, as programs that end in order do it; no signals come."""
        self._handled.add(sig)

    def remove_signal_handler(self, sig):
        found = sig in self._handled
        self._handled.discard(sig)
        return found

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
def _outside_loop(thread=None):
    """Steps out of the loop that runs, as a thread has none until it makes one. The loop may go on while what is
    started there waits, in the thread that is named."""
    loop = events._get_running_loop()
    if loop is None:
        yield
        return
    task = tasks._swap_current_task(loop, None)
    events._set_running_loop(None)
    turns = thread is not None and isinstance(loop, Loop)
    if turns:
        threads.loops.append((loop, thread))
        ready = len(loop._ready)
    try:
        yield
    finally:
        if turns:
            threads.loops.pop()
            # The round of the loop that led here takes as many as there were when it began.
            for _ in range(ready - len(loop._ready)):
                spent = events.Handle(loop.stop, (), loop)
                spent._cancelled = True
                loop._ready.append(spent)
        events._set_running_loop(loop)
        tasks._swap_current_task(loop, task)


def _outside_turn():
    """Steps out of the loop on which a turn's own awaits run, so that asyncio.run() works there too:
    a program that was told to write it need not know that its host understands a bare await. In
    a loop of the program's own it stays the error that it is in CPython."""
    loop = events._get_running_loop()
    if loop is None or _turns is None or loop is not _turns._loop:
        return contextlib.nullcontext()
    return _outside_loop()


def install():
    """Makes Loop the loop that everyone gets."""
    from asyncio import runners, unix_events

    threads.outside_loop = _outside_loop
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
    runners.Runner._on_sigint = _on_sigint
    _nest()


def _nest():
    """A module nest_asyncio, by which notebooks make asyncio.run() work: here it does."""
    import sys
    import types
    from importlib.machinery import ModuleSpec

    module = sys.modules["nest_asyncio"] = types.ModuleType("nest_asyncio", "asyncio.run() works in a turn as it is.")
    module.__spec__ = ModuleSpec("nest_asyncio", None, origin="cloche")
    module.apply = lambda loop=None: None


def _on_sigint(self, signum, frame, main_task):
    """The handler of an interrupt while a Runner runs. Code that computes gets the exception where it
    is; the loop itself, which an exception would leave in pieces, cancels the main task instead."""
    self._interrupt_count += 1
    file = frame.f_code.co_filename if frame is not None else ""
    in_loop = "/asyncio/" in file or file.startswith("<cloche/")
    if self._interrupt_count == 1 and in_loop and not main_task.done():
        main_task.cancel()
        self._loop.call_soon_threadsafe(lambda: None)
        return
    raise KeyboardInterrupt


# What a session's own awaits run on. It stays, so that tasks go on in the next turn.
_turns = None


# What of a suspended turn is left: the task that waits, and an iterator over the code that comes after it.
_task = _rest = None


def run_turn(coroutine, rest):
    """Runs a coroutine that a turn's own text has become. It may be suspended unless rest, what comes after it, is None."""
    global _turns
    if _turns is None or _turns.get_loop().is_closed():
        _turns = asyncio.Runner(loop_factory=Loop)
    loop = _turns.get_loop()
    return _finish(loop.create_task(coroutine, context=_turns._context), rest)


def resume():
    """Goes on with a suspended turn: what its await gives, and what comes after it."""
    global _task, _rest
    task, rest, _task, _rest = _task, _rest, None, None
    return _finish(task, rest), rest


def _finish(task, rest):
    """What Runner.run does with a task, but here the task may be left and met again."""
    global _task, _rest
    loop = task.get_loop()
    events.set_event_loop(loop)
    interrupt = functools.partial(_turns._on_sigint, main_task=task)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    _turns._interrupt_count = 0
    loop._selector.suspendable = rest is not None
    try:
        return loop.run_until_complete(task)
    except calls.Suspended:
        _task, _rest = task, rest
        raise
    except asyncio.CancelledError:
        if _turns._interrupt_count > 0 and task.uncancel() == 0:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop._selector.suspendable = False
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)
