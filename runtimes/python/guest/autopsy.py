"""What is told of a program that was stopped from outside: where it was, and what it holds.

The driver calls this in a copy of the stopped memory, in which the program's frames are still the newest: first each
of READY, which are C's and need neither a frame nor a look at pending signals, then report(). Any step may come upon
what the stop has left half done and end there; so each part is handed over as soon as it is known.
"""

import gc
import itertools
import linecache
import sys
from functools import partial
from json import dumps

from . import errors, host, limits, state, turns

_INNER, _OUTER = 40, 10  # frames that are told, at either end
_LARGEST = 20  # names
_SAMPLE = 100  # items of a container that are looked at for its size
_TEXT = 500  # characters of a name

_getframe, _getsizeof = sys._getframe, sys.getsizeof  # which a program may replace

READY = (gc.disable, partial(limits.raw_set, limits.RECURSION_MAX + 2_000))


def report():
    _tell({"frames": _frames(_getframe(0).f_back)})
    _tell({"globals": _globals()})


def _tell(part):
    host.raw(host.AUTOPSY + dumps(part).encode())


def _frames(frame):
    """The program's frames, the innermost first, with None for those that are left out."""
    found = []
    while frame is not None:
        if not errors.hidden(frame.f_code):
            found.append(frame)
        frame = frame.f_back
    if len(found) > _INNER + _OUTER:
        left_out = len(found) - _INNER - _OUTER
        found[_INNER:-_OUTER] = [None]
    return [{"left_out": left_out} if f is None else _frame(f) for f in found]


def _frame(frame):
    code, line = frame.f_code, frame.f_lineno
    told = {"file": code.co_filename[:_TEXT], "line": line or 0, "function": code.co_qualname[:_TEXT]}
    lines = linecache.cache.get(code.co_filename)
    if line and lines and len(lines) == 4 and line <= len(lines[2]):
        told["source"] = lines[2][line - 1].strip()[:200]
    return told


def _globals():
    """The largest of the program's names."""
    sized = [(_guess(value), name, value) for name, value in list(turns.names.items()) if type(name) is str and name[:2] != "__"]
    sized.sort(key=lambda s: s[0], reverse=True)
    return [state.tell(name, value) | {"bytes": size} for size, name, value in sized[:_LARGEST]]


def _guess(value):
    try:
        return _size(value)
    except Exception:  # of a class that is not as classes are
        return 0


def _size(value):
    """About how many bytes a value holds, from what runs no code of the program's."""
    kind = type(value)
    if kind.__module__[:6] in ("numpy", "pandas"):
        blocks = getattr(getattr(value, "_mgr", None), "blocks", None)
        if blocks is not None:
            return sum(block.values.nbytes for block in blocks)
        size = getattr(value, "nbytes", 0)
        return size if type(size) is int else 0
    size = object.__sizeof__(value) if kind.__module__ != "builtins" else _getsizeof(value)
    if kind in (list, tuple, set, frozenset, dict) and value:
        items = list(itertools.islice(value.values() if kind is dict else value, _SAMPLE))
        inside = sum(_getsizeof(item) for item in items if type(item).__module__ == "builtins")
        size += inside * len(value) // len(items)
    return size
