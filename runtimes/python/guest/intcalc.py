"""numpy's functions that a program gives integers of its own, in lists or one by one, or asks for positions: they answer
in 64 bits (see ints)."""

import functools
import inspect
import sys

from .ints import NAMED, counts_in_64, of_program, spelt, widener

_CALCULATE = """bitwise_and bitwise_or bitwise_xor bitwise_not invert right_shift bitwise_left_shift
    bitwise_right_shift bitwise_invert pow divmod fmax fmin fmod positive reciprocal ceil floor trunc conjugate conj
    vecdot add subtract multiply power square negative absolute abs left_shift floor_divide remainder mod maximum
    minimum gcd lcm matmul sign outer dot inner vdot tensordot kron cross convolve correlate diff polyval vander clip
    round around sort nanmax nanmin diag tril triu polyadd polymul polysub polyder resize copy max amax min amin flip
    roll transpose reshape trace tile append insert ptp cumulative_sum cumulative_prod partition
    piecewise take choose ravel percentile quantile nanpercentile nanquantile squeeze expand_dims broadcast_to pad rot90 swapaxes moveaxis split array_split fliplr flipud ediff1d""".split()
_UNASKED = frozenset(("dtype", "out"))  # without these a result's type was not asked for
_LIKE = "zeros_like ones_like empty_like full_like repeat".split()
_JOIN = "concatenate concat stack vstack hstack dstack column_stack meshgrid".split()
_POSITIONS = """argmax argmin argsort searchsorted digitize nonzero flatnonzero argwhere count_nonzero lexsort argpartition
    histogram histogram2d bincount unravel_index ravel_multi_index nanargmax nanargmin triu_indices tril_indices
    diag_indices triu_indices_from tril_indices_from diag_indices_from ix_""".split()


def install(np, plain_ints, sums, wide):
    """sums: what sums and products of a type are made in; wide: the type of 64 bits. Gives the function that makes a program's
    own integers wide."""
    array = np.ndarray
    generic = np.generic
    getframe = sys._getframe
    asarray = np.asarray.__wrapped__
    scalar = np.int64

    widen = widener(np)

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

    def first_of(original):
        """What a function's first argument is called."""
        try:
            return next(iter(inspect.signature(original).parameters))
        except ValueError:
            return None

    def told(args, kwargs, first):
        """The arguments with the first in its place, and int as 64 bits."""
        if kwargs:
            if not args and first in kwargs:
                args = (kwargs.pop(first),)
            if "dtype" in kwargs:
                kwargs["dtype"] = spelt(kwargs["dtype"], wide)
        return args

    def keep(name, wrapper, place=np):
        original = getattr(place, name, None)
        if original is None:
            return
        functools.update_wrapper(wrapper, original)
        setattr(place, name, wrapper)

    made = {}  # some have two names
    for name in _CALCULATE:
        original = getattr(np, name, None)
        if original is None:
            continue
        if isinstance(original, np.ufunc):
            if original not in made:
                made[original] = _Ufunc(original, wider, sums if name in ("add", "multiply") else None, np.asanyarray, wide)
            setattr(np, name, made[original])
            continue

        def calculate(*args, _original=original, _first=first_of(original), **kwargs):
            if kwargs and of_program(getframe(1)):
                args = told(args, kwargs, _first)
            if args and (type(args[0]) in _OWN or _is_truth(args[0])) and of_program(getframe(1)):
                if all(_is_truth(a) for a in args if isinstance(a, (array, generic))):
                    # Counts and axes come behind; they may be of any width.
                    args = tuple(wider(a) if type(a) is not int or i == 0 else a for i, a in enumerate(args))
                    result = _original(*args, **kwargs)
                    return widen(result) if _UNASKED.isdisjoint(kwargs) else result
            return _original(*args, **kwargs)

        keep(name, calculate)

    for name in _JOIN:
        original = getattr(np, name, None)

        def join(*args, _original=original, _first=first_of(original), **kwargs):
            if of_program(getframe(1)) and (args := told(args, kwargs, _first)):
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
            return widen(result) if of_program(getframe(1)) else result

        keep(name, positions)

    for name in _LIKE:
        original = getattr(np, name)

        def like(*args, _original=original, _first=first_of(original), **kwargs):
            if counts_in_64(getframe(1)) and (args := told(args, kwargs, _first)):
                args = (wider(args[0]), *(spelt(a, wide) if type(a) in NAMED else a for a in args[1:]))
            return _original(*args, **kwargs)

        keep(name, like)

    select_ = np.select

    def select(condlist, choicelist, default=0):
        result = select_(condlist, choicelist, default)
        return widen(result) if of_program(getframe(1)) and all(map(plain_ints, choicelist)) else result

    keep("select", select)

    unique_ = np.unique

    def unique(*args, **kwargs):
        if not counts_in_64(getframe(1)):
            return unique_(*args, **kwargs)
        args = told(args, kwargs, "ar")
        result = unique_(*map(wider, args[:1]), *args[1:], **kwargs)
        return (result[0], *map(widen, result[1:])) if type(result) is tuple else result

    keep("unique", unique)

    where_ = np.where

    def where(condition, *args, **kwargs):
        if not counts_in_64(getframe(1)):
            return where_(condition, *args, **kwargs)
        if not args:
            return widen(where_(condition)) if of_program(getframe(1)) else where_(condition)
        if all(type(a) is int or type(a) is bool or type(a) in (list, tuple) and plain_ints(a) for a in args):
            args = [wider(a) for a in args]
        return where_(condition, *args, **kwargs)

    keep("where", where)

    einsum_ = np.einsum

    def einsum(*args, **kwargs):
        if len(args) > 1 and type(args[0]) is str and of_program(getframe(1)):
            args = (args[0], *map(wider, told(args[1:], kwargs, None)))
        return einsum_(*args, **kwargs)

    keep("einsum", einsum)

    along_ = np.apply_along_axis

    def apply_along_axis(func1d, axis, arr, *args, **kwargs):
        if not of_program(getframe(1)):
            return along_(func1d, axis, arr, *args, **kwargs)
        return widen(along_(func1d, axis, wider(arr), *args, **kwargs))

    keep("apply_along_axis", apply_along_axis)

    # Classes, made of lists by the program.
    polynomial = np.poly1d.__init__

    def __init__(self, c_or_r, *args, **kwargs):
        polynomial(self, wider(c_or_r) if of_program(getframe(1)) else c_or_r, *args, **kwargs)

    np.poly1d.__init__ = functools.update_wrapper(__init__, polynomial)
    matrix = np.matrix.__new__

    def __new__(cls, data, dtype=None, copy=True):
        result = matrix(cls, data, spelt(dtype, wide), copy)
        if dtype is None and not isinstance(data, (array, generic)) and of_program(getframe(1)):
            return widen(result)
        return result

    np.matrix.__new__ = functools.update_wrapper(__new__, matrix)

    issubdtype_ = np.issubdtype

    def issubdtype(arg1, arg2):
        return issubdtype_(arg1, wide.type if arg2 is int else arg2)

    keep("issubdtype", issubdtype)
    return wider


class _Ufunc:
    """A ufunc that makes a program's own integers wide. All else is the ufunc's."""

    def __init__(self, ufunc, wider, sums, asanyarray, wide):
        self.__dict__.update(
            _u=ufunc, _wider=wider, _sums=sums, _asanyarray=asanyarray, _wide=wide, __wrapped__=ufunc, __doc__=ufunc.__doc__, __module__="numpy"
        )

    def __call__(self, *args, **kwargs):
        if kwargs and kwargs.get("dtype") is int and counts_in_64(sys._getframe(1)):
            kwargs["dtype"] = self._wide
        for a in args:
            if type(a) not in _OWN and not _is_truth(a):
                return self._u(*args, **kwargs)
        if of_program(sys._getframe(1)):
            args = map(self._wider, args)
        return self._u(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._u, name)

    def reduce(self, array, /, *args, **kwargs):
        return self._accumulated(self._u.reduce, array, args, kwargs)

    def reduceat(self, array, /, indices, *args, **kwargs):
        def reduceat(array, *args, **kwargs):
            return self._u.reduceat(array, indices, *args, **kwargs)

        return self._accumulated(reduceat, array, args, kwargs)

    def accumulate(self, array, /, *args, **kwargs):
        return self._accumulated(self._u.accumulate, array, args, kwargs)

    def outer(self, a, b, /, **kwargs):
        if of_program(sys._getframe(1)):
            a, b = self._wider(a), self._wider(b)
        return self._u.outer(a, b, **kwargs)

    def _accumulated(self, original, array, args, kwargs):
        """Sums and products of a program's are 64 bits wide."""
        if of_program(sys._getframe(2)):
            array = self._wider(array)
            if kwargs.get("dtype") is int:
                kwargs["dtype"] = self._wide
            if self._sums is not None and len(args) < 2 and "dtype" not in kwargs and "out" not in kwargs:
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

    def __reduce_ex__(self, protocol):
        return self._u.__name__  # what is found under that name in __module__


_BOOL = sys.modules["numpy"].dtype("?")


def _is_truth(value):
    return getattr(value, "dtype", None) is _BOOL


_OWN = frozenset((int, list, tuple, range))
