"""multiprocessing, in an interpreter that is one process with one thread.

Pools run their work in line. A Process is run as a thread is that does the same (see threads): in its start(), or when the program
waits for it. It has a name, an exit code and attributes of its own, but what it changes elsewhere is seen by all.
"""

import collections
import os
import pickle
import queue
import sys
import threading
import traceback

from . import threads


class _Running:
    """What a Process holds of the process that it started: the thread in which it is run."""

    method, sentinel = "fork", None

    def __init__(self, process):
        self.pid, self.returncode = os.getpid(), None
        child = object.__new__(type(process))  # what run() sets of itself is not seen by the program
        vars(child).update(vars(process))
        self._thread = threading.Thread(target=self._run, args=(child,), name="MainThread", daemon=process.daemon)
        self._thread.start()

    def _run(self, child):
        from multiprocessing import process as module

        above = module._current_process, module._parent_process
        module._current_process, module._parent_process = child, module._ParentProcess(child._parent_name, child._parent_pid, None)
        code = 1
        try:
            child.run()
            code = 0
        except threads.WaitsForever:
            raise
        except SystemExit as e:
            code = 0 if e.code is None else e.code
            if not isinstance(code, int):
                print(code, file=sys.stderr)
                code = 1
        except Exception:
            sys.stderr.write(f"Process {child.name}:\n")
            traceback.print_exc()
        finally:
            module._current_process, module._parent_process = above
        self.returncode = code

    def poll(self, flag=None):
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            self._thread.join(timeout)
        return self.returncode

    def terminate(self, signal=15):
        if self.returncode is None:
            threads.later.forget(self._thread)
            self.returncode = -signal

    interrupt = terminate

    def kill(self):
        self.terminate(9)

    def close(self):
        pass


class Queue(queue.Queue):
    """multiprocessing.Queue, whose other end is here, too."""

    def close(self):
        pass

    join_thread = cancel_join_thread = close


class Connection:
    """An end of a multiprocessing.Pipe."""

    def __init__(self, readable, writable):
        self.readable, self.writable = readable, writable
        self._arrived, self._other = collections.deque(), None
        self._closed = set()  # in what processes, each of which would have an end of its own

    @property
    def closed(self):
        return _here() in self._closed

    def close(self):
        self._closed.add(_here())
        threads.tell()

    def _check(self, able, what):
        if self.closed:
            raise OSError("handle is closed")
        if not able:
            raise OSError(f"connection is {what}-only")

    def send_bytes(self, buf, offset=0, size=None):
        self._check(self.writable, "read")
        data = bytes(memoryview(buf).cast("B")[offset : None if size is None else offset + size])
        if self._other._closed:
            raise BrokenPipeError("the other end of the pipe is closed")
        self._other._arrived.append(data)
        threads.tell()

    def send(self, obj):
        self._check(self.writable, "read")
        self.send_bytes(pickle.dumps(obj))

    def recv_bytes(self, maxlength=None):
        self._check(self.readable, "write")
        threads.wait(None, "a message", lambda: self._arrived or self._other._closed)
        if not self._arrived:
            raise EOFError
        if maxlength is not None and len(self._arrived[0]) > maxlength:
            raise OSError("bad message length")
        threads.later.took += 1
        return self._arrived.popleft()

    def recv(self):
        return pickle.loads(self.recv_bytes())

    def poll(self, timeout=0.0):
        self._check(self.readable, "write")
        come = lambda: bool(self._arrived or self._other.closed)
        return come() or timeout != 0 and threads.wait(timeout, "a message", come)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


Connection.__module__ = "multiprocessing.connection"


def _here():
    from multiprocessing import process

    return process._current_process._identity


def _pipe(duplex):
    one, other = Connection(True, duplex), Connection(duplex, True)
    one._other, other._other = other, one
    return one, other


class Manager:
    """What multiprocessing.Manager() gives: it makes the things themselves, as there is one process."""

    dict, list = staticmethod(dict), staticmethod(list)

    def __init__(self, context):
        from types import SimpleNamespace

        self.Namespace = SimpleNamespace
        for name in ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier", "Queue", "JoinableQueue", "Value", "Pool"):
            setattr(self, name, getattr(context, name))

    def Array(self, typecode, sequence):
        return _shared_array(typecode, sequence)

    def start(self, *args):
        pass

    def shutdown(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.shutdown()


Manager.__module__ = "multiprocessing.managers"


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
        self._processes = processes or 1
        self._pool = [None] * self._processes  # that count is taken of to cut work into pieces
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


def _shared_array(typecode, init):
    """multiprocessing.Array: an array of that type, whatever a list or a number of zeros."""
    import array

    class SharedArray(array.array):
        def __getitem__(self, key):
            found = super().__getitem__(key)
            return list(found) if isinstance(key, slice) else found

        def __setitem__(self, key, value):
            super().__setitem__(key, array.array(self.typecode, value) if isinstance(key, slice) else value)

        def get_lock(self):
            return _shared_lock

        def get_obj(self):
            return self

    _shared_lock = threading.RLock()
    return SharedArray(typecode, bytes(init * array.array(typecode).itemsize) if isinstance(init, int) else init)


def install(no_processes):
    """Replaces what multiprocessing offers; no_processes() makes the error for managers of the program's own."""
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

    from multiprocessing.managers import BaseManager

    base = context.BaseContext
    base.Pool = of(Pool)
    for name in ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"):
        setattr(base, name, of(getattr(threading, name)))
    base.Queue = base.JoinableQueue = of(Queue)
    base.SimpleQueue = of(queue.SimpleQueue)
    base.Value = base.RawValue = of(SharedValue)
    base.Array = base.RawArray = lambda self, typecode, init, lock=True: _shared_array(typecode, init)
    base.Pipe = lambda self, duplex=True: _pipe(duplex)
    base.Manager = lambda self: Manager(self)
    BaseManager.start = closed
    for kind in [context.Process, *multiprocessing.process.BaseProcess.__subclasses__()]:
        kind._Popen = staticmethod(_Running)
    for name in multiprocessing.__all__:  # methods of the default context, bound before
        if name in base.__dict__:
            setattr(multiprocessing, name, getattr(context._default_context, name))
    dummy.Pool = lambda processes=None, initializer=None, initargs=(): Pool(processes, initializer, initargs)
