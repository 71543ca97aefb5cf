"""Threads and pools in an interpreter that has one thread.

Pools run their work in line: the same results, no parallelism. A thread that the program waits for
anyway (any but a daemon) runs to its end when it is started. What cannot work that way says so in
one sentence. This must be imported before anything that takes a lock from `threading`: a lock of
the interpreter's own traps when it would have to wait, so Python ones stand in for it.
"""

import _thread
import queue
import sys
import threading
import time

_NO_THREADS = "can't start new thread: threads are not available in this sandbox"


class WaitsForever(RuntimeError):
    """Raised where the only thread there is would wait for another one. Programs see a RuntimeError."""


WaitsForever.__name__ = WaitsForever.__qualname__ = "RuntimeError"
WaitsForever.__module__ = "builtins"


def _wait(timeout, what):
    """Nobody else runs, so what is waited for will not come: sleeps for the timeout, or raises."""
    if timeout is None or timeout < 0:
        raise WaitsForever(f"waiting for {what} would never end: threads are not available in this sandbox")
    time.sleep(timeout)
    return False


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
        return _wait(timeout, "a lock that is held")

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
    return _wait(timeout, "a condition")


def _event_wait(self, timeout=None):
    return self._flag or _wait(timeout, "an event that is not set")


def _thread_start(self):
    if not self._initialized:
        raise RuntimeError("thread.__init__() not called")
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    if self.daemon:
        raise RuntimeError(
            _NO_THREADS + "; one that is no daemon is run to its end by start(),"
            " and concurrent.futures runs its work in line"
        )
    _run_in_line(self)


def _run_in_line(thread):
    """Runs a thread as its start() does, with its own name, context and excepthook."""
    main = threading.current_thread()
    ident = threading.get_ident()
    context = getattr(thread, "_context", None)
    thread._ident = ident
    thread._started.set()
    threading._active[ident] = thread
    try:
        if context is None:
            thread.run()
        else:
            # A context can be entered once at a time; a thread may be started inside another.
            context.copy().run(thread.run)
    except WaitsForever as e:
        raise RuntimeError(f"{_NO_THREADS}, and this one would wait for another: {e}") from None
    except SystemExit:
        pass
    except Exception as e:
        tb = e.__traceback__.tb_next  # without this function
        threading.excepthook(threading.ExceptHookArgs((type(e), e, tb, thread)))
    finally:
        threading._active[ident] = main
        thread._cloche_done = True


def _thread_join(self, timeout=None):
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if self is threading.current_thread():
        raise RuntimeError("cannot join current thread")


def _thread_is_alive(self):
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if self is threading.main_thread():
        return True
    return self._started.is_set() and not hasattr(self, "_cloche_done")


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
    threading.Event.wait = _event_wait
    threading.Thread.start = _thread_start
    threading.Thread.join = _thread_join
    threading.Thread.is_alive = _thread_is_alive

    # Its C twin waits inside the interpreter.
    queue.SimpleQueue = queue._PySimpleQueue


# Pools: concurrent.futures and multiprocessing.


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


def install_futures():
    """Replaces the executors of concurrent.futures."""
    global _base
    import concurrent.futures as futures
    import concurrent.futures._base as base
    import types

    _base = base
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


class Result:
    """What apply_async and map_async of a pool give: work that is already done."""

    def __init__(self, value=None, error=None):
        self._value, self._error = value, error

    def ready(self):
        return True

    def successful(self):
        return self._error is None

    def wait(self, timeout=None):
        pass

    def get(self, timeout=None):
        if self._error is not None:
            raise self._error
        return self._value


class Pool:
    """multiprocessing.Pool, run in line."""

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._open = True
        if initializer is not None:
            initializer(*initargs)

    def _check(self):
        if not self._open:
            raise ValueError("Pool not running")

    def apply(self, func, args=(), kwds={}):
        self._check()
        return func(*args, **kwds)

    def map(self, func, iterable, chunksize=None):
        self._check()
        return [func(x) for x in iterable]

    def starmap(self, func, iterable, chunksize=None):
        self._check()
        return [func(*x) for x in iterable]

    def imap(self, func, iterable, chunksize=1):
        self._check()
        return map(func, list(iterable))

    imap_unordered = imap

    def _later(self, work, callback, error_callback):
        self._check()
        try:
            value = work()
        except Exception as e:
            if error_callback is not None:
                error_callback(e)
            return Result(error=e)
        if callback is not None:
            callback(value)
        return Result(value)

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        return self._later(lambda: func(*args, **kwds), callback, error_callback)

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self._later(lambda: [func(x) for x in iterable], callback, error_callback)

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self._later(lambda: [func(*x) for x in iterable], callback, error_callback)

    def close(self):
        self._open = False

    terminate = close

    def join(self):
        if self._open:
            raise ValueError("Pool is still running")

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, *exc):
        self.terminate()


Pool.__module__ = "multiprocessing.pool"
Result.__module__ = "multiprocessing.pool"


class SharedValue:
    """multiprocessing.Value: one process shares with nobody."""

    def __init__(self, typecode, *args, lock=True):
        self.value = args[0] if args else 0
        self._lock = threading.RLock()

    def get_lock(self):
        return self._lock

    def get_obj(self):
        return self


def install_multiprocessing(no_processes):
    """Replaces what multiprocessing offers; no_processes() makes the error for the rest."""
    import multiprocessing
    import multiprocessing.context as context
    import multiprocessing.dummy as dummy
    import types

    pool = types.ModuleType("multiprocessing.pool", "Pools that run their work in line.")
    pool.Pool = Pool
    pool.ThreadPool = type("ThreadPool", (Pool,), {"__module__": "multiprocessing.pool"})
    pool.AsyncResult = pool.ApplyResult = pool.MapResult = Result
    sys.modules["multiprocessing.pool"] = multiprocessing.pool = pool

    def of(cls):
        return lambda self, *args, **kwargs: cls(*args, **kwargs)

    def closed(self, *args, **kwargs):
        raise no_processes()

    base = context.BaseContext
    base.Pool = of(Pool)
    for name in ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"):
        setattr(base, name, of(getattr(threading, name)))
    base.Queue = base.JoinableQueue = of(queue.Queue)
    base.SimpleQueue = of(queue.SimpleQueue)
    base.Value = base.RawValue = of(SharedValue)
    base.Array = base.RawArray = lambda self, typecode, init, lock=True: (
        [0] * init if isinstance(init, int) else list(init)
    )
    for name in ("Manager", "Pipe"):
        setattr(base, name, closed)
    multiprocessing.process.BaseProcess.start = closed
    for name in multiprocessing.__all__:  # methods of the default context, bound before
        if name in base.__dict__:
            setattr(multiprocessing, name, getattr(context._default_context, name))
    dummy.Pool = lambda processes=None, initializer=None, initargs=(): Pool(processes, initializer, initargs)
