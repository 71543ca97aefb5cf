"""numpy's integers, as programs know them: 64 bits.

On a 32-bit machine numpy takes 32 bits where none are named, and sums wrap around without a word. Programs are
written for 64 bits, so the functions that they call themselves give these. Libraries keep what their compiled
parts expect, but sums and products are 64 bits wide for all, as on any other machine.

Not reached from here: `x.dtype == int` and `np.dtype(int)`; see intnames.
"""

import functools
import gc
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
        eye=3,
        identity=1,
        fromiter=1,
        linspace=5,
        loadtxt=1,
        fromstring=1,
        indices=1,
        tri=3,
        fromfunction=2,
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

    for name in ("bincount", "repeat", "take", "put", "choose", "unravel_index", "ravel_multi_index"):
        counter(name)

    # What goes without saying when an array is printed.
    implied = arrayprint._typelessdata
    implied[implied.index(np.int_)] = np.int64

    randint_ = np.random.randint

    def randint(low, high=None, size=None, dtype=int):
        return randint_(low, high, size, wide if dtype is int and _of_program(_getframe(1)) else dtype)

    functools.update_wrapper(randint, randint_)
    np.random.randint = np.random.mtrand.randint = randint

    _wide_functions(np, plain_ints, sums, wide)
    _wide_types(np, wide)
    _wide_methods(np, sums, wide)
    _wide_pandas(wide)
    np.int_, np.uint = np.int64, np.uint64


_CALCULATE = """add subtract multiply power square negative absolute abs left_shift floor_divide remainder mod maximum minimum
    gcd lcm matmul sign outer dot inner vdot tensordot kron cross convolve correlate diff polyval vander clip round around
    sort max amax min amin flip roll transpose reshape trace tile append insert ptp cumulative_sum ravel squeeze
    expand_dims broadcast_to pad rot90 swapaxes moveaxis split array_split fliplr flipud ediff1d""".split()
_LIKE = "zeros_like ones_like empty_like full_like repeat".split()
_JOIN = "concatenate stack vstack hstack dstack column_stack meshgrid block".split()
_POSITIONS = """argmax argmin argsort searchsorted digitize nonzero flatnonzero argwhere count_nonzero lexsort argpartition
    histogram histogram2d bincount unravel_index indices""".split()
_DRAWS = "permutation poisson binomial geometric negative_binomial hypergeometric multinomial zipf logseries".split()


def _is_narrow(dtype):
    return dtype.kind in "iu" and dtype.itemsize == 4


def _wide_functions(np, plain_ints, sums, wide):
    """Functions that a program gives lists of integers, or asks for positions."""
    array = np.ndarray
    generic = np.generic
    getframe = sys._getframe
    asarray = np.asarray.__wrapped__
    scalar = np.int64

    def widen(value):
        kind = type(value)
        if kind is tuple or kind is list:
            return kind(map(widen, value))
        if kind is array or isinstance(value, generic):
            if value.dtype.kind == "i" and value.dtype.itemsize == 4:
                return value.astype(wide)
        return value

    def wider(value):
        """A list of a program's own integers as an array, an integer as a scalar."""
        kind = type(value)
        if kind is int:
            return scalar(value) if -(2**63) <= value < 2**63 else value
        if (kind is list or kind is tuple or kind is range) and plain_ints(value):
            try:
                made = asarray(value)
            except ValueError:
                return value  # ragged
            return made.astype(wide) if made.dtype.kind == "i" else value
        return value

    def keep(name, wrapper, place=np):
        original = getattr(place, name, None)
        if original is None:
            return
        functools.update_wrapper(wrapper, original)
        setattr(place, name, wrapper)

    for name in _CALCULATE:
        original = getattr(np, name, None)
        if original is None:
            continue
        if isinstance(original, np.ufunc):
            setattr(np, name, _Ufunc(original, wider, sums if name in ("add", "multiply") else None, np.asanyarray))
            continue

        def calculate(*args, _original=original, **kwargs):
            if args and type(args[0]) in (list, tuple, int, range) and _of_program(getframe(1)):
                if not any(isinstance(a, (array, generic)) for a in args):
                    # Counts and axes come behind; they may be of any width.
                    args = tuple(wider(a) if type(a) is not int or i == 0 else a for i, a in enumerate(args))
            return _original(*args, **kwargs)

        keep(name, calculate)

    for name in _JOIN:
        original = getattr(np, name, None)

        def join(*args, _original=original, **kwargs):
            if args and _of_program(getframe(1)):
                if _original is _meshgrid:
                    args = tuple(map(wider, args))
                elif type(args[0]) in (list, tuple):
                    first = type(args[0])(x if isinstance(x, (array, generic)) else wider(x) for x in args[0])
                    args = (first, *args[1:])
            return _original(*args, **kwargs)

        if name == "meshgrid":
            _meshgrid = original
        keep(name, join)

    for name in _POSITIONS:
        original = getattr(np, name)

        def positions(*args, _original=original, **kwargs):
            result = _original(*args, **kwargs)
            return widen(result) if _of_program(getframe(1)) else result

        keep(name, positions)

    for name in _LIKE:
        original = getattr(np, name)

        def like(first, *args, _original=original, **kwargs):
            if _of_program(getframe(1)):
                first = wider(first)
                args = tuple(wide if a is int else a for a in args)
                if kwargs.get("dtype") is int:
                    kwargs["dtype"] = wide
            return _original(first, *args, **kwargs)

        keep(name, like)

    select_ = np.select

    def select(condlist, choicelist, default=0):
        result = select_(condlist, choicelist, default)
        return widen(result) if _of_program(getframe(1)) and all(map(plain_ints, choicelist)) else result

    keep("select", select)

    unique_ = np.unique

    def unique(*args, **kwargs):
        if not _of_program(getframe(1)):
            return unique_(*args, **kwargs)
        result = unique_(*map(wider, args[:1]), *args[1:], **kwargs)
        return (result[0], *map(widen, result[1:])) if type(result) is tuple else result

    keep("unique", unique)

    where_ = np.where

    def where(condition, *args, **kwargs):
        if not _of_program(getframe(1)):
            return where_(condition, *args, **kwargs)
        if not args:
            return widen(where_(condition))
        if all(type(a) is int or type(a) is bool or type(a) in (list, tuple) and plain_ints(a) for a in args):
            args = [wider(a) for a in args]
        return where_(condition, *args, **kwargs)

    keep("where", where)

    einsum_ = np.einsum

    def einsum(*args, **kwargs):
        if len(args) > 1 and type(args[0]) is str and _of_program(getframe(1)):
            args = (args[0], *map(wider, args[1:]))
        return einsum_(*args, **kwargs)

    keep("einsum", einsum)

    issubdtype_ = np.issubdtype

    def issubdtype(arg1, arg2):
        return issubdtype_(arg1, wide.type if arg2 is int else arg2)

    keep("issubdtype", issubdtype)

    for name in _DRAWS:
        original = getattr(np.random, name)

        def draw(*args, _original=original, **kwargs):
            result = _original(*args, **kwargs)
            if not isinstance(args[0] if args else None, array) and _of_program(getframe(1)):
                return widen(result)
            return result

        keep(name, draw, np.random)


def _wide_types(np, wide):
    """What is told of the type int."""
    getframe = sys._getframe

    def asker(name):
        original = getattr(np, name)

        def ask(*args, **kwargs):
            if any(a is int for a in args) and _of_program(getframe(1)):
                args = [wide if a is int else a for a in args]
            return original(*args, **kwargs)

        functools.update_wrapper(ask, original)
        setattr(np, name, ask)

    for name in ("result_type", "promote_types", "can_cast"):
        asker(name)

    class iinfo(np.iinfo):
        __doc__ = np.iinfo.__doc__
        __module__ = "numpy"

        def __init__(self, int_type):
            super().__init__(wide if int_type is int and _of_program(getframe(1)) else int_type)

    np.iinfo = iinfo


class _Ufunc:
    """A ufunc that makes a program's own integers wide. All else is the ufunc's."""

    def __init__(self, ufunc, wider, sums, asanyarray):
        self.__dict__.update(
            _u=ufunc, _wider=wider, _sums=sums, _asanyarray=asanyarray, __wrapped__=ufunc, __doc__=ufunc.__doc__
        )

    def __call__(self, *args, **kwargs):
        for a in args:
            if type(a) not in _OWN:
                return self._u(*args, **kwargs)
        if _of_program(sys._getframe(1)):
            args = map(self._wider, args)
        return self._u(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._u, name)

    def reduce(self, array, /, *args, **kwargs):
        return self._accumulated(self._u.reduce, array, args, kwargs)

    def accumulate(self, array, /, *args, **kwargs):
        return self._accumulated(self._u.accumulate, array, args, kwargs)

    def _accumulated(self, original, array, args, kwargs):
        """Sums and products of a program's are 64 bits wide."""
        if self._sums is not None and len(args) < 2 and "dtype" not in kwargs and "out" not in kwargs:
            if _of_program(sys._getframe(2)):
                array = self._asanyarray(array)
                kwargs["dtype"] = self._sums.get(array.dtype.char)
        return original(array, *args, **kwargs)

    def __setattr__(self, name, value):
        setattr(self._u, name, value)

    @property
    def __class__(self):
        return type(self._u)

    def __repr__(self):
        return repr(self._u)

    def __eq__(self, other):
        return other is self or other is self._u

    def __hash__(self):
        return hash(self._u)

    def __reduce__(self):
        return self._u.__reduce__()


_OWN = frozenset((int, list, tuple, range))


def _wide_methods(np, sums, wide):
    """Methods of arrays that are written in C. Their type refuses setattr; its dictionary does not."""
    getframe = sys._getframe
    inside = gc.get_referents(np.ndarray.__dict__)[0]
    ints = (int, "int", "int_")

    def method(name, wrapper):
        original = inside[name]
        wrapper.__name__, wrapper.__qualname__, wrapper.__doc__ = name, f"ndarray.{name}", original.__doc__
        inside[name] = wrapper

    astype_ = np.ndarray.astype

    def astype(self, /, dtype, *args, **kwargs):
        if dtype is int or type(dtype) is str and dtype in ints:
            if _of_program(getframe(1)):
                dtype = wide
        return astype_(self, dtype, *args, **kwargs)

    method("astype", astype)

    def positions(name):
        original = inside[name]

        def find(self, /, *args, **kwargs):
            result = original(self, *args, **kwargs)
            if _of_program(getframe(1)):
                if type(result) is tuple:
                    return tuple(r.astype(wide) for r in result)
                if _is_narrow(result.dtype):
                    return result.astype(wide)
            return result

        method(name, find)

    for name in ("argmax", "argmin", "argsort", "nonzero", "searchsorted", "argpartition"):
        positions(name)

    def accumulator(name):
        original = inside[name]

        def accumulate(self, /, axis=None, dtype=None, out=None):
            if dtype is None and out is None:
                dtype = sums.get(self.dtype.char)
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
