"""Sizes that an address cannot express, as programs know them: a MemoryError.

On a machine of 64 bits ten thousand million of something are asked of the system, which does not have the memory. Here the
number itself is too large, and CPython and numpy say so by an OverflowError and a ValueError, which nobody expects.
"""

from . import statictypes

_MOST = "more than 2 GiB in one piece cannot be had in this sandbox"
_OVERFLOW = "cannot fit 'int' into an index-sized integer"
_TOO_LARGE = frozenset(
    (
        "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
        "Maximum allowed dimension exceeded",
        "Maximum allowed size exceeded",
        "broadcast dimensions too large.",
        "iterator is too large",
    )
)
_new = BaseException.__new__


def _overflow(cls, *args, **kwargs):
    if args and args[0] == _OVERFLOW and cls is OverflowError:
        return MemoryError(_MOST)
    return _new(cls, *args)


def _value(cls, *args, **kwargs):
    if cls is ValueError and args and type(args[0]) is str and args[0] in _TOO_LARGE:
        return MemoryError(f"{_MOST}: {args[0]}")
    return _new(cls, *args)


def install():
    statictypes.give_new(OverflowError, _overflow)
    statictypes.give_new(ValueError, _value)
    try:
        [0] * 2**40
    except MemoryError:
        return
    raise RuntimeError("OverflowError does not take its __new__")
