"""Limits that the interpreter keeps itself, and the signal by which the host stops a program."""

import signal
import sys

# Calls can be nested as deep as this whatever the program asks for: a runaway recursion so ends as a
# RecursionError after a fraction of a second, with some 50 MB of frames, and not as a full memory.
RECURSION_MAX = 100_000

raw_set = sys.setrecursionlimit


def setrecursionlimit(limit, /):
    """Set the maximum depth of the Python interpreter stack to n, or to what the sandbox bears."""
    raw_set(min(limit, RECURSION_MAX) if isinstance(limit, int) else limit)


def install():
    setrecursionlimit.__module__ = "sys"
    sys.setrecursionlimit = setrecursionlimit
    signal.signal(signal.SIGINT, signal.default_int_handler)
