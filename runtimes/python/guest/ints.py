"""numpy's integers, as programs know them: 64 bits.

On a 32-bit machine numpy takes 32 bits where none are named, and sums wrap around without a word. Programs are
written for 64 bits, so the functions that they call themselves give these, and so do arrays that libraries make which
know that numpy's own integer and that of positions differ (as they long did on Windows). Other libraries keep what their
compiled parts expect, but sums and products are 64 bits wide for all, as on any other machine.

Not reached from here: `x.dtype == int` and `np.dtype(int)`, see intnames; what comes back narrow from functions that are
not about integers, see intresults.
"""

import functools
import gc
import sys


def of_program(frame):
    """Whether a frame is the program's own: __main__, or a module from its folder."""
    names = frame.f_globals
    return names.get("__name__") == "__main__" or str(names.get("__file__", "")).startswith("/data/")


# Libraries whose compiled parts are given np.intp by name, so that arrays of int may be wide in them too; and what has no
# compiled parts.
_LIBRARIES = frozenset("networkx patsy scipy seaborn sklearn statsmodels sympy".split())
_MODULES = frozenset("pandas.core.common numpy.ma.core numpy.ma.extras numpy.ma.mrecords".split())


def counts_in_64(frame):
    """Whether arrays of int that a frame makes are 64 bits wide: the program's, and those of _LIBRARIES."""
    if of_program(frame):
        return True
    name = str(frame.f_globals.get("__name__"))
    return name.partition(".")[0] in _LIBRARIES or name in _MODULES


_NONE = object()
_BOUNDS = frozenset(("start", "stop", "step"))
NAMED = frozenset((type, str))
_SPELLINGS = NAMED | {list, dict, tuple}
_SPELT = frozenset((int, "int", "int_", "intp", "long"))
_UNSIGNED = frozenset(("uint", "uintp", "ulong"))


def spelt(dtype, wide):
    """What a program means by a dtype: int is 64 bits wide, in the fields of a record too."""
    kind = type(dtype)
    if kind is type:
        return wide if dtype is int else dtype
    if kind is str:
        return wide if dtype in _SPELT else "u8" if dtype in _UNSIGNED else dtype
    if kind is list:
        return [(f[0], spelt(f[1], wide), *f[2:]) if type(f) is tuple and len(f) > 1 else f for f in dtype]
    if kind is tuple and len(dtype) == 2 and type(dtype[1]) in (int, tuple):  # a type and its shape
        return spelt(dtype[0], wide), dtype[1]
    if kind is dict:
        return {k: [spelt(f, wide) for f in v] if k == "formats" else v for k, v in dtype.items()}
    return dtype


def widener(np):
    """A function that gives what has 32 bits as 64 bits: arrays, scalars, Series, and collections of them."""
    array, generic, wide, scalar = np.ndarray, np.generic, np.dtype("i8"), np.int64

    def widen(value):
        kind = type(value)
        if kind is array or isinstance(value, (array, generic)):
            if value.dtype.char != "l":
                return value
            if isinstance(value, generic):
                return scalar(value)
            result = value.astype(wide)
            if kind is not array and getattr(result, "_fill_value", None) is not None:
                result.fill_value = value.fill_value  # a masked array's, of its type
            return result
        if kind is tuple or kind is list:
            return kind(map(widen, value))
        if kind is slice:
            return slice(widen(value.start), widen(value.stop), value.step)
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return kind._make(map(widen, value))
        if kind.__module__ == "pandas" and getattr(getattr(value, "dtype", None), "char", "") == "l":
            return value.astype(wide)
        return value

    return widen


def _shield_compiled(np):
    """Leaves numpy as it is for compiled modules: they have no frames of their own, and their arrays of int have the width
    that they were compiled for."""
    import types
    from importlib.machinery import BuiltinImporter

    plain = types.ModuleType("numpy", np.__doc__)
    plain.__dict__.update(vars(np))

    def shield(module):
        if not module.__name__.startswith("numpy."):
            names = vars(module)
            for name in ("np", "numpy"):
                if names.get(name) is np:
                    names[name] = plain

    after_import(BuiltinImporter, shield)
    for module in list(sys.modules.values()):
        if getattr(getattr(module, "__spec__", None), "loader", None) is BuiltinImporter:
            shield(module)


def after_import(loader, change):
    """Has change see every module that a kind of loader has executed."""
    static = isinstance(loader.__dict__.get("exec_module"), staticmethod)
    execute = loader.exec_module

    def exec_module(*args):
        execute(*args)
        change(args[-1])

    as_importlib(exec_module)
    loader.exec_module = staticmethod(exec_module) if static else exec_module


def as_importlib(function):
    """Makes a function look like one of the import system, whose frames CPython leaves out of tracebacks."""
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")


def install():
    """Gives a function that makes a list of a program's own integers an array of 64 bits, and an integer a scalar."""
    import numpy as np
    from . import intcalc
    from numpy._core import _methods, arrayprint, fromnumeric

    _shield_compiled(np)
    _truth_values(np)
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

        def convert(object=_NONE, dtype=None, *args, **kwargs):
            if object is _NONE:
                if "a" not in kwargs:
                    return original(*args, **kwargs)
                object = kwargs.pop("a")
            if dtype is None:
                result = original(object, dtype, *args, **kwargs)
                if result.dtype is narrow and plain_ints(object) and counts_in_64(_getframe(1)):
                    result = result.astype(wide)
                return result
            meant = spelt(dtype, wide)
            if meant is not dtype and counts_in_64(_getframe(1)):
                dtype = meant
            return original(object, dtype, *args, **kwargs)

        replace(name, convert)

    for name in ("array", "asarray", "asanyarray"):
        converter(name)

    arange_ = np.arange

    ints = frozenset((int,))

    def arange(*args, **kwargs):
        if len(args) == 4:
            *args, kwargs["dtype"] = args
        dtype = kwargs.get("dtype")
        if dtype is None:
            whole = ints.issuperset(map(type, args)) and (not kwargs or ints.issuperset(type(kwargs[k]) for k in _BOUNDS & kwargs.keys()))
        else:
            whole = type(dtype) in NAMED and dtype in _SPELT
        if whole and counts_in_64(_getframe(1)):
            kwargs["dtype"] = wide
        return arange_(*args, **kwargs)

    replace("arange", arange)

    full_ = np.full

    def full(shape, fill_value, dtype=None, *args, **kwargs):
        if ((type(dtype) in NAMED and dtype in _SPELT) or (dtype is None and plain_ints(fill_value))) and counts_in_64(_getframe(1)):
            if dtype is not None or np.asarray(fill_value).dtype == narrow:
                dtype = wide
        return full_(shape, fill_value, dtype, *args, **kwargs)

    replace("full", full)

    def maker(name, position):
        """For functions whose default is another type, and that may be asked for int."""
        original = getattr(np, name)

        def make(*args, **kwargs):
            if type(kwargs.get("dtype")) in _SPELLINGS:
                if counts_in_64(_getframe(1)):
                    kwargs["dtype"] = spelt(kwargs["dtype"], wide)
            elif len(args) > position and type(args[position]) in _SPELLINGS and counts_in_64(_getframe(1)):
                args = (*args[:position], spelt(args[position], wide), *args[position + 1 :])
            return original(*args, **kwargs)

        replace(name, make)

    for name, position in dict(
        zeros=1,
        ones=1,
        empty=1,
        eye=3,
        identity=1,
        fromiter=1,
        linspace=5,
        loadtxt=1,
        fromstring=1,
        indices=1,
        tri=3,
        fromfunction=2,
        frombuffer=1,
        fromfile=1,
        genfromtxt=1,
        nansum=2,
        nanprod=2,
        nancumsum=2,
        nancumprod=2,
    ).items():
        maker(name, position)

    def reducer(name, *places):
        original = getattr(np, name)

        def reduce(a, axis=None, dtype=None, out=None, *args, **kwargs):
            if dtype is None and out is None:
                kind = type(a)
                if kind is list or kind is tuple or kind is range:
                    a = np.asanyarray(a)
                    kind = type(a)
                if kind is np.ndarray:
                    dtype = sums.get(a.dtype.char)
            elif type(dtype) in NAMED:
                dtype = spelt(dtype, wide)
            return original(a, axis, dtype, out, *args, **kwargs)

        replace(name, reduce, *places)

    for name in ("sum", "prod", "cumsum", "cumprod"):
        reducer(name, fromnumeric)

    def method(name):
        original = getattr(_methods, name)

        def reduce(a, axis=None, dtype=None, out=None, *args, **kwargs):
            if dtype is None and out is None:
                dtype = sums.get(a.dtype.char)
            elif type(dtype) in NAMED:
                dtype = spelt(dtype, wide)
            return original(a, axis, dtype, out, *args, **kwargs)

        setattr(_methods, name, reduce)

    # numpy's C code looks these up once, when it first needs them.
    method("_sum")
    method("_prod")

    for name, where in _COUNTS.items():
        replace(name, counting(np, getattr(np, name), *where))
    for name in ("unravel_index", "ravel_multi_index"):
        replace(name, counting(np, getattr(np, name)))

    # What goes without saying when an array is printed.
    implied = arrayprint._typelessdata
    implied[implied.index(np.int_)] = np.int64

    randint_ = np.random.randint

    def randint(low, high=None, size=None, dtype=int):
        if spelt(dtype, wide) is not dtype and of_program(_getframe(1)):
            drawn = randint_(low, high, size, wide)
            return drawn if size is not None or drawn.ndim or dtype is not int else int(drawn)
        return randint_(low, high, size, dtype)

    functools.update_wrapper(randint, randint_)
    np.random.randint = np.random.mtrand.randint = randint

    wider = intcalc.install(np, plain_ints, sums, wide)
    _wide_types(np, wide)
    _wide_methods(np, sums, wide)
    _wide_pandas(wide)
    np.int_, np.uint = np.int64, np.uint64
    return wider


def _truth_values(np):
    """Has truth values and Python's own integers make 64 bits (`mask + 1`), for all: numpy's C code would make 32. It
    remembers which loop it took for what types, and the host puts another one there."""
    import array

    from . import host

    truth, numbers = np.array([True]), np.array([1], "i8")
    integer = next(k for k in type.__subclasses__(np.dtypes.Int64DType.__base__) if k.__name__ == "_PyLongDType")
    words = array.array("I")
    for ufunc in {f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin == 2 and f.signature is None}:
        if "qq->" + "q" * ufunc.nout in ufunc.types:
            ufunc(truth, 1), ufunc(1, truth), ufunc(numbers, numbers)
            for left, right in ((np.dtypes.BoolDType, integer), (integer, np.dtypes.BoolDType)):
                words.extend(map(id, (ufunc, left, right, np.dtypes.Int64DType, np.dtypes.Int64DType)))
    host.call(host.DISPATCH, words.tobytes())


# Functions that take counts or positions among other things: at what place, and by what name.
_COUNTS = {"bincount": (0, "x"), "choose": (0, "a"), "put": (1, "ind"), "repeat": (1, "repeats"), "take": (1, "indices")}


def counting(np, original, place=None, keyword=None):
    """original, which takes counts or positions (at one place, or anywhere), and is given them 64 bits wide now."""
    name = original.__name__

    def count(*args, **kwargs):
        try:
            return original(*args, **kwargs)
        except (TypeError, ValueError) as e:  # the latter of what is a sorter
            if "according to the rule 'safe'" not in str(e) and "sorter" not in str(e):
                raise
        args = [as_index(a) if place is None or i == place else a for i, a in enumerate(args)]
        return original(*args, **{k: as_index(v) if place is None or k == keyword else v for k, v in kwargs.items()})

    def as_index(value):
        data = np.asarray(value) if isinstance(value, (list, tuple, np.ndarray, np.generic)) else None
        if data is None or data.dtype.kind not in "iu" or data.dtype.itemsize != 8:
            return value
        small = data.astype(np.intp)
        if not np.array_equal(small, data):
            raise TypeError(f"{name}: the values do not fit into 32 bits")
        return small if data.ndim or value is data else int(data)

    return functools.update_wrapper(count, original)


def _is_narrow(dtype):
    return dtype.kind in "iu" and dtype.itemsize == 4


def _wide_types(np, wide):
    """What is told of the type int."""
    getframe = sys._getframe
    narrow = np.dtype("i4")

    def of_none(value):
        """Whether a value is Python's own integer, or of truth values."""
        return type(value) in (int, bool) or value is np.bool or getattr(value, "dtype", value) == np.dtype("?")

    def asker(name):
        original = getattr(np, name)

        def ask(*args, **kwargs):
            if any(type(a) in NAMED for a in args) and counts_in_64(getframe(1)):
                args = [spelt(a, wide) for a in args]
            result = original(*args, **kwargs)
            if result is narrow and all(map(of_none, args)) and counts_in_64(getframe(1)):
                return wide
            return result

        functools.update_wrapper(ask, original)
        setattr(np, name, ask)

    for name in ("result_type", "promote_types", "can_cast"):
        asker(name)

    class iinfo(np.iinfo):
        __doc__ = np.iinfo.__doc__
        __module__ = "numpy"

        def __init__(self, int_type):
            super().__init__(spelt(int_type, wide) if counts_in_64(getframe(1)) else int_type)

    np.iinfo = iinfo


def _wide_methods(np, sums, wide):
    """Methods of arrays that are written in C. Their type refuses setattr; its dictionary does not."""
    getframe = sys._getframe
    inside = gc.get_referents(np.ndarray.__dict__)[0]

    def method(name, wrapper):
        original = inside[name]
        wrapper.__name__, wrapper.__qualname__, wrapper.__doc__ = name, f"ndarray.{name}", original.__doc__
        inside[name] = wrapper

    astype_, position = np.ndarray.astype, np.intp

    def astype(self, /, dtype, *args, **kwargs):
        meant = spelt(dtype, wide)
        if meant is not dtype and counts_in_64(getframe(1)):
            dtype = meant
        elif dtype is position and self.dtype is wide and kwargs.get("casting") == "safe":
            kwargs["casting"] = "same_kind"  # positions are as wide as numbers, to who asks so
        return astype_(self, dtype, *args, **kwargs)

    method("astype", astype)
    view_ = np.ndarray.view

    def view(self, /, *args, **kwargs):
        if args and (meant := spelt(args[0], wide)) is not args[0] and counts_in_64(getframe(1)):
            args = (meant, *args[1:])
        elif "dtype" in kwargs and counts_in_64(getframe(1)):
            kwargs["dtype"] = spelt(kwargs["dtype"], wide)
        return view_(self, *args, **kwargs)

    method("view", view)

    def positions(name):
        original = inside[name]

        def find(self, /, *args, **kwargs):
            out = kwargs.get("out")
            if out is not None and getattr(out, "dtype", None) is wide:
                out[...] = original(self, *args, **{**kwargs, "out": None})
                return out
            result = original(self, *args, **kwargs)
            if of_program(getframe(1)):
                if type(result) is tuple:
                    return tuple(r.astype(wide) for r in result)
                if _is_narrow(result.dtype):
                    return result.astype(wide)
            return result

        method(name, find)

    inside["searchsorted"] = counting(np, inside["searchsorted"], 3, "sorter")
    for name in ("argmax", "argmin", "argsort", "nonzero", "searchsorted", "argpartition"):
        positions(name)

    def accumulator(name):
        original = inside[name]

        def accumulate(self, /, axis=None, dtype=None, out=None):
            if dtype is None and out is None:
                dtype = sums.get(self.dtype.char)
            elif type(dtype) in NAMED:
                dtype = spelt(dtype, wide)
            return original(self, axis, dtype, out)

        method(name, accumulate)

    accumulator("cumsum")
    accumulator("cumprod")

    take_ = np.ndarray.take

    def take(self, /, indices, axis=None, out=None, mode="raise"):
        dtype = getattr(indices, "dtype", None)
        if dtype is not None and dtype.kind in "iu" and dtype.itemsize == 8 and type(indices) is np.ndarray:
            small = indices.astype(np.intp)
            if (small == indices).all():
                indices = small
        return take_(self, indices, axis, out, mode)

    method("take", take)
    for name in ("repeat", "choose"):
        method(name, counting(np, inside[name], *_COUNTS[name]))
    method("put", counting(np, inside["put"], 1, "indices"))
    ufunc = gc.get_referents(np.ufunc.__dict__)[0]
    ufunc["reduceat"] = counting(np, ufunc["reduceat"], 2, "indices")
    sys._clear_type_cache()


def _wide_pandas(wide):
    """Has pandas take int for 64 bits wherever it is asked for one."""
    from pandas.core.dtypes import common

    original = common.pandas_dtype

    def pandas_dtype(dtype):
        if dtype is int or type(dtype) is str and dtype == "int":
            return wide
        return original(dtype)

    functools.update_wrapper(pandas_dtype, original)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("pandas.") and getattr(module, "pandas_dtype", None) is original:
            module.pandas_dtype = pandas_dtype
