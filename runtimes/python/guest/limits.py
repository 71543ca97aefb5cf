"""Limits that the interpreter keeps itself, and the signal by which the host stops a program."""

import csv
import signal
import sys

# Calls can be nested as deep as this whatever the program asks for: a runaway recursion so ends as a
# RecursionError after a fraction of a second, with some 50 MB of frames, and not as a full memory.
RECURSION_MAX = 100_000

raw_set, raw_fields = sys.setrecursionlimit, csv.field_size_limit


def setrecursionlimit(limit, /):
    """Set the maximum depth of the Python interpreter stack to n, or to what the sandbox bears."""
    raw_set(min(limit, RECURSION_MAX) if isinstance(limit, int) else limit)


def field_size_limit(*limit):
    """As csv's. Programs ask for sys.maxsize, which is more than this machine's long (see intnames)."""
    return raw_fields(*(min(n, 2**31 - 1) if isinstance(n, int) else n for n in limit))


def install():
    setrecursionlimit.__module__ = "sys"
    sys.setrecursionlimit = setrecursionlimit
    signal.signal(signal.SIGINT, signal.default_int_handler)
    csv.field_size_limit = field_size_limit
