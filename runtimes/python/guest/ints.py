"""numpy's integers, as programs know them: 64 bits.

On a 32-bit machine numpy takes 32 bits where none are named, and sums wrap around without a word. Programs are
written for 64 bits, so the functions that they call themselves give these. Libraries keep what their compiled
parts expect, but sums and products are 64 bits wide for all, as on any other machine.

Not reached from here: methods written in C (`x.astype(int)`, `x.cumsum()` of narrow integers, `ufunc.reduce`).
"""

import functools
import sys


def _of_program(frame):
    """Whether a frame is the program's own: __main__, or a module from its folder."""
    names = frame.f_globals
    return names.get("__name__") == "__main__" or str(names.get("__file__", "")).startswith("/data/")


def install():
    import numpy as np
    from numpy._core import _methods, arrayprint, fromnumeric

    narrow, wide = np.dtype("i4"), np.dtype("i8")
    # What sums and products of narrow integers are made in.
    sums = {c: np.dtype("i8") for c in "?bhil"} | {c: np.dtype("u8") for c in "BHIL"}
    _getframe = sys._getframe

    def replace(name, wrapper, *places):
        original = getattr(np, name)
        functools.update_wrapper(wrapper, original)
        for place in (np, *places):
            setattr(place, name, wrapper)

    def plain_ints(value):
        """Whether a value that became an array holds Python's own integers."""
        kind = type(value)
        while kind is list or kind is tuple:
            if not value:
                return False
            value = value[0]
            kind = type(value)
        return kind is int or kind is range

    def converter(name):
        original = getattr(np, name)

        def convert(object, dtype=None, *args, **kwargs):
            if dtype is int:
                if _of_program(_getframe(1)):
                    dtype = wide
            elif dtype is None:
                result = original(object, dtype, *args, **kwargs)
                if result.dtype is narrow and plain_ints(object) and _of_program(_getframe(1)):
                    result = result.astype(wide)
                return result
            return original(object, dtype, *args, **kwargs)

        replace(name, convert)

    for name in ("array", "asarray", "asanyarray"):
        converter(name)

    arange_ = np.arange

    def arange(*args, dtype=None, **kwargs):
        if dtype is int or (dtype is None and all(type(a) is int for a in args[:3]) and not kwargs):
            if len(args) < 4 and _of_program(_getframe(1)):
                dtype = wide
        return arange_(*args, dtype=dtype, **kwargs) if dtype is not None else arange_(*args, **kwargs)

    replace("arange", arange)

    full_ = np.full

    def full(shape, fill_value, dtype=None, *args, **kwargs):
        if (dtype is int or (dtype is None and plain_ints(fill_value))) and _of_program(_getframe(1)):
            result_type = np.result_type(fill_value) if dtype is None else narrow
            if result_type == narrow:
                dtype = wide
        return full_(shape, fill_value, dtype, *args, **kwargs)

    replace("full", full)

    def maker(name, position):
        """For functions whose default is another type, and that may be asked for int."""
        original = getattr(np, name)

        def make(*args, **kwargs):
            if kwargs.get("dtype") is int:
                if _of_program(_getframe(1)):
                    kwargs["dtype"] = wide
            elif len(args) > position and args[position] is int and _of_program(_getframe(1)):
                args = (*args[:position], wide, *args[position + 1 :])
            return original(*args, **kwargs)

        replace(name, make)

    for name, position in dict(
        zeros=1,
        ones=1,
        empty=1,
        zeros_like=1,
        ones_like=1,
        empty_like=1,
        full_like=2,
        eye=3,
        identity=1,
        fromiter=1,
        linspace=5,
        loadtxt=1,
        fromstring=1,
        indices=1,
        tri=3,
    ).items():
        maker(name, position)

    def reducer(name, *places):
        original = getattr(np, name)

        def reduce(a, axis=None, dtype=None, out=None, *args, **kwargs):
            if dtype is None and out is None:
                kind = type(a)
                if kind is list or kind is tuple:
                    a = np.asanyarray(a)
                    kind = type(a)
                if kind is np.ndarray:
                    dtype = sums.get(a.dtype.char)
            return original(a, axis, dtype, out, *args, **kwargs)

        replace(name, reduce, *places)

    for name in ("sum", "prod", "cumsum", "cumprod"):
        reducer(name, fromnumeric)

    def method(name):
        original = getattr(_methods, name)

        def reduce(a, axis=None, dtype=None, out=None, *args, **kwargs):
            if dtype is None and out is None:
                dtype = sums.get(a.dtype.char)
            return original(a, axis, dtype, out, *args, **kwargs)

        setattr(_methods, name, reduce)

    # numpy's C code looks these up once, when it first needs them.
    method("_sum")
    method("_prod")

    def counter(name):
        """For functions that take counts or indices, which are 64 bits wide now."""
        original = getattr(np, name)

        def count(*args, **kwargs):
            try:
                return original(*args, **kwargs)
            except TypeError as e:
                if "according to the rule 'safe'" not in str(e):
                    raise
            args = [_index(a) for a in args]
            return original(*args, **{k: _index(v) for k, v in kwargs.items()})

        def _index(value):
            data = np.asarray(value) if not isinstance(value, (int, str, type(None))) else None
            if data is None or data.dtype.kind not in "iu" or data.dtype.itemsize != 8:
                return value
            small = data.astype(np.intp)
            if not np.array_equal(small, data):
                raise TypeError(f"{name}: the values do not fit into 32 bits")
            return small

        replace(name, count)

    for name in ("bincount", "repeat"):
        counter(name)

    # What goes without saying when an array is printed.
    implied = arrayprint._typelessdata
    implied[implied.index(np.int_)] = np.int64

    randint_ = np.random.randint

    def randint(low, high=None, size=None, dtype=int):
        return randint_(low, high, size, wide if dtype is int and _of_program(_getframe(1)) else dtype)

    functools.update_wrapper(randint, randint_)
    np.random.randint = np.random.mtrand.randint = randint
