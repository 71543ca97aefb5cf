"""Threads and pools in an interpreter that has one thread.

Pools run their work in line: the same results, no parallelism. A thread that the program waits for
anyway (any but a daemon) runs to its end when it is started; if it waits for another before it has taken
anything from a queue, it begins anew when it is waited for, and what it has said already is not said again. A daemon and a Timer run when the program
waits: to the end of that wait, or until they wait for ever themselves. What cannot work that way says so in
one sentence. This must be imported before anything that takes a lock from `threading`: a lock of
the interpreter's own traps when it would have to wait, so Python ones stand in for it.
"""

import _thread
import bisect
import collections
import contextlib
import functools
import queue
import sys
import threading
import time

from . import streams

_NO_THREADS = "can't start new thread: threads are not available in this sandbox"


class WaitsForever(RuntimeError):
    """Raised where the only thread there is would wait for another one. Programs see a RuntimeError."""


class _Stuck(RuntimeError):
    """Raised where a thread was started that waits for another."""

    def __init__(self, why):
        super().__init__(f"{_NO_THREADS}, and this one would wait for another: {why}")


for kind in (WaitsForever, _Stuck):
    kind.__name__ = kind.__qualname__ = "RuntimeError"
    kind.__module__ = "builtins"


class _Parked(BaseException):
    """Takes a daemon off the stack that waits for longer than the program below it does; with an argument, for ever."""


def _never():
    return False


def wait(timeout, what, come, again=False):
    """Waits for what come() tells of. Nobody else runs but the threads that wait to be run: what does not come with them never
    will, which is an error without a timeout. again: whoever waits looks for himself after each of them."""
    if timeout is not None and timeout >= 0:
        _pass_time(timeout, come)
        return come()
    while not come():
        if not _bring(come):
            for thread in later.parked if later.starting is None else ():  # what one waits for that starts is said of it
                if "_cloche_stuck" in vars(thread):
                    raise thread._cloche_stuck.with_traceback(None)
            raise WaitsForever(f"waiting for {what} would never end: threads are not available in this sandbox")
        if again:
            break
    return True


def _bring(come):
    """Runs the next thread that waits to be run. False: there is none."""
    if later.run_next(None, come) or (later.again() and later.run_next(None, come)):
        return True
    if later.below:
        raise _Parked(True)
    return False


def idle(timeout, come, ends):
    """The wait of an event loop: until come(), or for a time. Threads that run in it are cut short when the loop ends().
    False: what it waits for nobody brings."""
    if timeout is not None:
        _pass_time(timeout, come, ends)
        return True
    while not come():
        if not later.run_next(None, ends) and not later.again():
            if later.below:
                raise _Parked(True)
            return False
    return True


def run_due(come, ends):
    """Runs the threads that wait to be run, without waiting, until come()."""
    later.again()
    now = time.monotonic()
    while not come() and later.run_next(now, ends, None):
        pass


# The event loops below the thread that runs, each with the thread that it is of, innermost last.
loops = []
_MOST_TURNS = 16  # of loops inside each other


def _turn(seconds):
    """Lets the loop that a thread runs in go on while that thread waits, one round of it. False: it cannot."""
    if not loops or _turn.depth >= _MOST_TURNS:
        return False
    loop, thread = loops.pop()
    ident = threading.get_ident()
    me, threading._active[ident] = threading._active[ident], thread
    _turn.depth += 1
    try:
        loop.turn(seconds)
    finally:
        _turn.depth -= 1
        threading._active[ident] = me
        loops.append((loop, thread))
    return True


_turn.depth = 0


class _Later:
    """Daemons and timers that were started and have yet to run: (when, number, thread)."""

    def __init__(self):
        self.waiting = []
        self.below = []  # the waits in which threads are being run: (until when, come), innermost last
        self.parked = []  # daemons that wait for what nobody brings
        self.cut = []  # daemons that were stopped when the wait was over in which they ran
        self.told = self.told_then = 0  # how often threads were told something, in all and when the parked ones began again
        self.started = 0
        self.took = 0  # how much was taken from queues
        self.starting = None  # the thread that runs in its start()

    def add(self, thread, due):
        self.started += 1
        bisect.insort(self.waiting, (due, self.started, thread))

    def again(self):
        """Has the daemons that are parked begin again, as loops over a queue may, if there is something new for them."""
        if not self.parked or self.below or self.told == self.told_then:
            return False
        self.told_then = self.told
        for thread in self.parked:
            self.add(thread, time.monotonic())
        self.parked.clear()
        return True

    def run_next(self, until, come, horizon=...):
        """Runs the next one that is due until then (None: at any time), to the horizon (as a rule then). False: there is none."""
        if not self.waiting or (until is not None and self.waiting[0][0] > until):
            return False
        self.run(self.waiting[0], until if horizon is ... else horizon, come)
        return True

    def run(self, entry, until, come, ends=False):
        """ends: its end is waited for."""
        self.waiting.remove(entry)
        due, _, thread = entry
        self.below.append((until, come))
        work, took, told = _work(thread), self.took, self.told
        try:
            if isinstance(thread, threading.Timer):
                if not thread.finished.is_set() and (left := due - time.monotonic()) > 0:
                    sleep(left)
                thread.run = functools.partial(_ring, thread)
            with _silent(vars(thread).get("_cloche_said", ())):
                _run_in_line(thread)
        except _Parked as e:
            if took != self.took:
                vars(thread).pop("_cloche_stuck", None)
            else:
                self.told_then += self.told - told  # what it said itself is no news
                if e.args and ends and "_cloche_stuck" in vars(thread):
                    raise thread._cloche_stuck.with_traceback(None) from None  # for the second time
            vars(thread).update(work)
            (self.parked if e.args else self.cut).append(thread)
        finally:
            self.below.pop()

    def run_this(self, thread):
        """Runs a thread now that somebody waits for its end. One that was cut short begins anew: as a rule it is to find that it
        was told to stop."""
        self.unpark(thread)
        if thread in self.cut:
            self.cut.remove(thread)
            self.add(thread, time.monotonic())
        for entry in self.waiting:
            if entry[2] is thread:
                return self.run(entry, None, _never, ends=True)

    def unpark(self, thread):
        """Lets a thread that is no daemon begin anew."""
        if thread in self.parked and not thread.daemon:
            self.parked.remove(thread)
            self.add(thread, time.monotonic())

    def finish(self, session):
        """Runs what a program leaves behind; daemons end with it."""
        if not session:
            for thread in list(self.parked):
                self.unpark(thread)
        # One that runs may run others meanwhile, and start more.
        while entry := next((e for e in self.waiting if not e[2].daemon), None):
            self.run(entry, None, _never, ends=True)
        if not session:
            self.drop()

    def forget(self, thread):
        """Ends a thread that has yet to run, or to go on."""
        self.waiting = [entry for entry in self.waiting if entry[2] is not thread]
        for those in (self.parked, self.cut):
            if thread in those:
                those.remove(thread)
        thread._cloche_done = True

    def drop(self):
        """Ends the threads that have yet to run."""
        self.waiting.clear()
        self.parked.clear()
        self.cut.clear()


def _ring(timer):
    """Timer.run without its wait, which is over: it would park a timer that comes due as the program's own wait ends."""
    if not timer.finished.is_set():
        timer.function(*timer.args, **timer.kwargs)
    timer.finished.set()


def _work(thread):
    """What a thread forgets when it ends."""
    return {k: v for k, v in vars(thread).items() if k in ("_target", "_args", "_kwargs")}


@contextlib.contextmanager
def _silent(said):
    """Lets the pieces of text that were said already, which come first, not leave a second time."""
    if not said:
        yield
        return
    said = collections.deque(said)

    def tap(data):
        if said and said[0] == bytes(data):
            said.popleft()
            return False
        said.clear()
        return True

    with _tapped(tap):
        yield


@contextlib.contextmanager
def _tapped(tap):
    streams.flush()
    streams.tap = tap
    try:
        yield
    finally:
        streams.flush()
        streams.tap = None


later = _Later()
sleep = time.sleep
outside_loop = contextlib.nullcontext  # in which what a thread of an event loop starts is run


def _sleep(seconds, /):
    if later.waiting or later.parked or later.below or loops:
        _pass_time(seconds, _never)
    else:
        sleep(seconds)


_sleep.__name__ = _sleep.__qualname__ = "sleep"
_sleep.__module__, _sleep.__doc__ = "time", sleep.__doc__


def _pass_time(seconds, come, ends=None):
    """Lets time go by, in which threads run, until come(). With ends they run on after that."""
    later.again()
    until = time.monotonic() + seconds
    horizon, ends = (until, come) if ends is None else (None, ends)
    while not come() and later.run_next(until, ends, horizon):
        pass
    while not come() and not _cut() and (left := until - time.monotonic()) > 0 and _turn(left):
        pass
    if come():
        return
    if later.below:
        horizon = later.below[-1][0]
        if _cut():
            raise _Parked
        if horizon is not None and until > horizon:
            sleep(max(0, horizon - time.monotonic()))
            raise _Parked
    sleep(max(0, until - time.monotonic()))


def _cut():
    return any(come() for _, come in later.below)


class lock:
    """A lock as threading.Lock() gives it."""

    __slots__ = ("_held", "__weakref__")

    def __init__(self):
        self._held = False

    def acquire(self, blocking=True, timeout=-1):
        if not self._held:
            self._held = True
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if not wait(timeout, "a lock that is held", lambda: not self._held):
            return False
        self._held = True
        return True

    def __reduce__(self):
        raise TypeError("cannot pickle '_thread.lock' object")

    def release(self):
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False

    def locked(self):
        return self._held

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *exc):
        self.release()

    def __repr__(self):
        state = "locked" if self._held else "unlocked"
        return f"<{state} _thread.lock object at {id(self):#x}>"

    def _at_fork_reinit(self):
        self._held = False

    acquire_lock = acquire
    release_lock = release
    locked_lock = locked


lock.__module__ = "_thread"


def _condition_wait(self, timeout=None):
    if not self._is_owned():
        raise RuntimeError("cannot wait on un-acquired lock")
    waiter = lock()
    waiter.acquire()
    self._waiters.append(waiter)  # whose notify() releases it
    state = self._release_save()  # for those who run meanwhile
    try:
        come = lambda: not waiter._held
        return wait(timeout, "a condition", come, again=True)
    finally:
        self._acquire_restore(state)
        if waiter in self._waiters:
            self._waiters.remove(waiter)


_notify = threading.Condition.notify


def tell():
    """There may be something new for the threads that are parked."""
    later.told += 1


def _condition_notify(self, n=1):
    tell()
    _notify(self, n)


def _event_wait(self, timeout=None):
    return self._flag or wait(timeout, "an event that is not set", lambda: self._flag) or _in_vain(self)


def _event_is_set(self):
    return self._flag or _in_vain(self)


_VAIN_LOOKS, _VAIN_SECONDS = 10, 5


def _in_vain(event):
    """An event is not set. A thread that looks at it again and again in its start() keeps whoever would set it from doing so."""
    thread = later.starting
    if thread is None or later.below or threading.current_thread() is not thread:
        return False
    looks, since = vars(thread).setdefault("_cloche_vain", {}).get(id(event), (0, time.monotonic()))
    thread._cloche_vain[id(event)] = looks + 1, since
    if looks >= _VAIN_LOOKS and time.monotonic() - since > _VAIN_SECONDS:
        raise WaitsForever("looking at an event that is not set would never end: threads are not available in this sandbox")
    return False


def _counting(get):
    @functools.wraps(get)
    def counted(self, *args, **kwargs):
        item = get(self, *args, **kwargs)
        later.took += 1
        return item

    return counted


_put = queue.Queue.put


def _queue_put(self, item, block=True, timeout=None):
    if block and 0 < self.maxsize <= self._qsize() and threading.current_thread() is not threading.main_thread():
        # Whoever would make room runs later: the queue grows instead.
        most, self.maxsize = self.maxsize, 0
        try:
            return _put(self, item)
        finally:
            self.maxsize = most
    return _put(self, item, block, timeout)


def _thread_start(self):
    if not self._initialized:
        raise RuntimeError("thread.__init__() not called")
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    self._started.set()
    if type(self).run is threading.Timer.run:
        later.add(self, time.monotonic() + self.interval)
    elif self.daemon:
        later.add(self, time.monotonic())
    elif later.starting is not None or later.below or streams.tap is not None:
        _run_in_line(self)
    else:
        _start_now(self)


def _start_now(thread):
    work, took, said = _work(thread), later.took, []
    later.starting = thread
    try:
        with _tapped(lambda data: said.append(bytes(data)) or True):
            _run_in_line(thread)
    except _Stuck as e:
        if took != later.took:
            raise
        vars(thread).update(work, _cloche_said=said, _cloche_stuck=e, _cloche_told=later.told, _cloche_done=False)
        later.parked.append(thread)
    finally:
        later.starting = None


def _run_in_line(thread):
    """Runs a thread as its start() does, with its own name, context and excepthook."""
    main = threading.current_thread()
    ident = threading.get_ident()
    context = getattr(thread, "_context", None)
    thread._ident = ident
    threading._active[ident] = thread
    done = True
    try:
        with outside_loop(main):
            if context is None:
                thread.run()
            else:
                # A context can be entered once at a time; a thread may be started inside another.
                context.copy().run(thread.run)
    except _Parked:
        done = False
        raise
    except WaitsForever as e:
        raise _Stuck(e) from None
    except SystemExit:
        pass
    except Exception as e:
        tb = e.__traceback__.tb_next  # without this function
        threading.excepthook(threading.ExceptHookArgs((type(e), e, tb, thread)))
    finally:
        threading._active[ident] = main
        thread._cloche_done = done


def _thread_join(self, timeout=None):
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if self is threading.current_thread():
        raise RuntimeError("cannot join current thread")
    if not self.is_alive():
        return
    if timeout is None:
        later.run_this(self)
        if self.is_alive():
            wait(None, "a thread that waits for ever", lambda: not self.is_alive())
    else:
        if self in later.cut or vars(self).get("_cloche_told", later.told) != later.told:
            later.run_this(self)
        _pass_time(max(timeout, 0), lambda: not self.is_alive())


def _thread_is_alive(self):
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if self is threading.main_thread():
        return True
    return self._started.is_set() and not getattr(self, "_cloche_done", False)


def _start_new_thread(function, args, kwargs=None):
    raise RuntimeError(_NO_THREADS)


def install():
    """Puts the stand-ins in place. Everything that is imported later gets them."""
    for name in ("allocate_lock", "allocate", "lock", "LockType"):
        setattr(_thread, name, lock)
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        setattr(_thread, name, _start_new_thread)
    threading.Lock = threading._allocate_lock = threading._LockType = lock
    threading._start_joinable_thread = _start_new_thread

    threading.Condition.wait = _condition_wait
    threading.Condition.notify = _condition_notify
    time.sleep = _sleep
    threading.Event.wait = _event_wait
    threading.Event.is_set = _event_is_set
    queue.Queue.put = _queue_put
    for kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue):
        kind._get = _counting(kind._get)
    queue._PySimpleQueue.get = _counting(queue._PySimpleQueue.get)
    threading.Thread.start = _thread_start
    threading.Thread.join = _thread_join
    threading.Thread.is_alive = _thread_is_alive

    # Its C twin waits inside the interpreter.
    queue.SimpleQueue = queue._PySimpleQueue


# Pools of concurrent.futures; those of multiprocessing are in processes.


def _executor_class(base, name, module):
    """A pool of that name which runs each call when it is submitted."""

    class InLine(base):
        def __init__(self, max_workers=None, *args, initializer=None, initargs=(), **kwargs):
            if max_workers is not None and max_workers <= 0:
                raise ValueError("max_workers must be greater than 0")
            self._max_workers = max_workers or 1
            self._shut = False
            # Positional like ThreadPoolExecutor(2, "prefix", init, initargs).
            if len(args) > 1 and initializer is None:
                initializer = args[1]
            if len(args) > 2 and not initargs:
                initargs = args[2]
            if initializer is not None:
                initializer(*initargs)

        def submit(self, fn, /, *args, **kwargs):
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future = _base.Future()
            future.set_running_or_notify_cancel()
            try:
                with outside_loop(threading.current_thread()):
                    result = fn(*args, **kwargs)
            except (KeyboardInterrupt, SystemExit, MemoryError):
                raise
            except BaseException as e:
                future.set_exception(e)
            else:
                future.set_result(result)
            return future

        def shutdown(self, wait=True, *, cancel_futures=False):
            self._shut = True

        def terminate_workers(self):
            self._shut = True

        kill_workers = terminate_workers

    InLine.__name__ = InLine.__qualname__ = name
    InLine.__module__ = module
    return InLine


_base = None


def _settling(original):
    @functools.wraps(original)
    def settled(self, timeout=None):
        """Has the loop that the thread runs in bring what the thread waits for."""
        if loops and not self.done():
            until = None if timeout is None else time.monotonic() + timeout
            while not self.done() and _turn(timeout):
                if until is not None and (timeout := until - time.monotonic()) <= 0:
                    break
        return original(self, timeout)

    return settled


def install_futures():
    """Replaces the executors of concurrent.futures."""
    global _base
    import concurrent.futures as futures
    import concurrent.futures._base as base
    import types

    _base = base
    for name in ("result", "exception"):
        setattr(base.Future, name, _settling(getattr(base.Future, name)))
    for module, names in (
        ("thread", ("ThreadPoolExecutor",)),
        ("process", ("ProcessPoolExecutor",)),
        ("interpreter", ("InterpreterPoolExecutor",)),
    ):
        full = "concurrent.futures." + module
        try:
            mod = __import__(full, fromlist=["*"])
        except ImportError:
            mod = sys.modules[full] = types.ModuleType(full)
        for name in names:
            cls = _executor_class(base.Executor, name, full)
            setattr(mod, name, cls)
            setattr(futures, name, cls)
        setattr(futures, module, mod)
    if not hasattr(futures.process, "BrokenProcessPool"):

        class BrokenProcessPool(base.BrokenExecutor):
            pass

        futures.process.BrokenProcessPool = BrokenProcessPool
