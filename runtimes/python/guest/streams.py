"""Standard streams that leave at once, keep their order, and outlive what a program does to them.

What is printed leaves at each newline or flush. Text that waits on stdout leaves before anything
goes to stderr, so the two keep the order in which they were written.
"""

import io
import sys


class _Out(io.FileIO):
    """Standard output's raw file. Closing it flushes nothing and closes nothing: programs wrap
    sys.stdout.buffer in a writer of their own, which closes it when it is dropped."""

    def close(self):
        pass

    def flush(self):
        pass

    def write(self, data):
        if tap is not None and not tap(data):
            return len(data)
        n = _write(self, data)
        return n if n == len(data) else _write_rest(self, data, n)


class _Err(io.FileIO):
    def close(self):
        pass

    def flush(self):
        pass

    def write(self, data):
        _flush(stdout)
        return _Out.write(self, data)


_write = io.FileIO.write
tap = None  # sees what leaves, and says whether it does; see threads


def _write_rest(raw, data, done):
    """The host may take less than all of a long text at once."""
    with memoryview(data).cast("B") as view:
        while done is not None and done < len(view):
            done += _write(raw, view[done:]) or 0
        return len(view)


class _In(io.FileIO):
    """Standard input's raw file, which remembers whether it was read."""

    touched = False

    def readinto(self, buffer):
        _In.touched = True
        _flush(stdout)  # a prompt comes before its answer
        return super().readinto(buffer)

    def readall(self):
        _In.touched = True
        return super().readall()


def _named(stream, name):
    stream.mode = "r" if name == "<stdin>" else "w"
    return stream


def _open_out():
    raw = _Out(1, "w", closefd=False)
    raw.name = "<stdout>"
    return _named(io.TextIOWrapper(raw, "utf-8", "strict", line_buffering=True), "<stdout>")


def _open_err():
    raw = _Err(2, "w", closefd=False)
    raw.name = "<stderr>"
    return _named(io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True), "<stderr>")


def _open_in():
    raw = _In(0, "r", closefd=False)
    raw.name = "<stdin>"
    _In.touched = False
    # Strict would make one stray byte an exception far from its cause; this is CPython's own choice.
    return _named(io.TextIOWrapper(io.BufferedReader(raw), "utf-8", "surrogateescape"), "<stdin>")


stdout = _open_out()
stderr = _open_err()
stdin = _open_in()


def _flush(stream):
    try:
        stream.flush()
    except (ValueError, OSError):
        pass  # detached by the program, or the host takes no more


def flush():
    """Sends on what waits: the program's own streams first, should it have wrapped ours."""
    for stream in {id(s): s for s in (sys.stdout, sys.stderr, stdout, stderr)}.values():
        if stream is not None:
            try:
                stream.flush()
            except Exception:
                pass  # a stream of the program's own making may fail in any way


def renew():
    """Gives a turn the streams it expects, whatever the one before did to them."""
    global stdout, stderr, stdin
    if _broken(stdout):
        stdout = _open_out()
    if _broken(stderr):
        stderr = _open_err()
    if _In.touched or _broken(stdin):
        stdin = _open_in()  # what was read ahead belongs to the turn before
    install()


def _broken(stream):
    try:
        return stream.closed or stream.encoding != "utf-8"
    except ValueError:
        return True  # detached


def install():
    sys.stdout = sys.__stdout__ = stdout
    sys.stderr = sys.__stderr__ = stderr
    sys.stdin = sys.__stdin__ = stdin
