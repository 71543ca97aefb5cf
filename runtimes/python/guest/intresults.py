"""Integers that numpy and pandas give to a program: 64 bits wide, unless it asked for others (see ints).

What these libraries make inside, positions and codes for the most part, has 32 bits on this machine. It becomes wide where
it leaves them for the program; an argument that is narrow already says that the program deals in narrow ones.
"""

import functools
import gc
import inspect
import sys

from .ints import after_import, counting, counts_in_64, of_program, spelt, widener


def install(wider):
    import numpy as np

    widen = widener(np)
    _functions(np, widen)
    _linear_algebra(np, widen, wider)
    _indexing_tricks(np, widen, wider)
    _vectorize(np, wider)
    _masked(np, widen)
    _records(np)
    _columns_of_text(np, widen)
    _random_states(np, widen)
    _pandas(np, widen)
    _science(np, widen)
    _show_implementations(np)


def _show_implementations(np):
    """What is wrapped has for its __wrapped__ what numpy's own has: the function that is written in Python."""
    dispatcher = type(np.mean)
    for place in (np, np.linalg, np.fft, np.char, np.strings):
        for function in vars(place).values():
            if inspect.isfunction(function):
                inner = inspect.unwrap(function, stop=lambda f: type(f) is dispatcher)
                if type(inner) is dispatcher:
                    function.__wrapped__ = inner.__wrapped__


def _narrow(values):
    """Whether one of a call's arguments has, or asks for, 32 bits."""
    for value in values:
        kind = type(value)
        if kind is tuple or kind is list:
            if kind is list and len(value) > 100:
                value = value[:100]
            if _narrow(value):
                return True
            continue
        if kind is str:
            if not _SPELT_NARROW.isdisjoint(value.split(",")):
                return True
            continue
        if kind is type:
            if value.__name__ in _SPELT_NARROW:
                return True
            continue
        dtype = getattr(value, "dtype", value)
        if getattr(dtype, "char", "") in _NARROW:
            return True
        fields = getattr(dtype, "fields", None)
        if type(fields) is _FIELDS and _narrow([field[0] for field in fields.values()]):
            return True
    return False


_NARROW = frozenset(("l", "i"))
_SPELT_NARROW = frozenset(("int32", "i4", "<i4", "intc"))
_FIELDS = type(type.__dict__)  # what the fields of a record are in


def handing_over(original, widen, to=of_program):
    """original, whose results are wide where the program calls it, or what else to tells of its caller's frame."""
    getframe = sys._getframe

    def hand_over(*args, **kwargs):
        result = original(*args, **kwargs)
        if to(getframe(1)) and not _narrow(args) and not _narrow(kwargs.values()):
            return widen(result)
        return result

    return functools.update_wrapper(hand_over, original)


def _functions(np, widen):
    def cover(place, names, to=of_program):
        for name in names.split():
            setattr(place, name, handing_over(getattr(place, name), widen, to))

    cover(
        np,
        """broadcast_arrays compress diagflat
        diagonal extract fix imag real real_if_close intersect1d matrix_transpose nan_to_num permute_dims setdiff1d
        setxor1d union1d unique_all unique_counts unique_inverse unique_values asmatrix block
        delete trim_zeros histogramdd histogram_bin_edges unwrap busday_count indices""",
    )
    # What makes arrays of lists does so as np.array does.
    cover(np, "asarray_chkfinite ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d require", counts_in_64)
    bmat_ = np.bmat

    def bmat(obj, ldict=None, gdict=None):
        frame = sys._getframe(1)
        if isinstance(obj, str) and gdict is None:  # names of the caller's, which numpy looks for one frame from here
            ldict, gdict = frame.f_locals, frame.f_globals
        result = bmat_(obj, ldict, gdict)
        return widen(result) if of_program(frame) and not isinstance(obj, np.ndarray) else result

    np.bmat = functools.update_wrapper(bmat, bmat_)
    for name in ("argmax", "argmin"):
        setattr(np.matrix, name, handing_over(getattr(np.matrix, name), widen))
    cover(np.fft, "fftshift ifftshift")
    for place in (np.char, np.strings):
        cover(place, "count find index rfind rindex str_len")


def _linear_algebra(np, widen, wider):
    def taking(original):
        return functools.update_wrapper(lambda *args, **kwargs: original(*map(wider, args), **kwargs), original)

    for name in "cross diagonal matmul matrix_power matrix_rank matrix_transpose multi_dot outer tensordot trace vecdot".split():
        setattr(np.linalg, name, handing_over(taking(getattr(np.linalg, name)), widen))


def _indexing_tricks(np, widen, wider):
    from numpy.lib import _index_tricks_impl as tricks

    for kind in (tricks.AxisConcatenator, tricks.nd_grid):
        kind.__getitem__ = handing_over(kind.__getitem__, widen)
    init = np.ndenumerate.__init__

    def __init__(self, arr):
        init(self, wider(arr))

    np.ndenumerate.__init__ = functools.update_wrapper(__init__, init)


def _vectorize(np, wider):
    """np.vectorize, where the function's first result decides, or the types that the program names."""
    wide, vectorize = np.dtype("i8"), np.vectorize
    init, decide = vectorize.__init__, vectorize._get_ufunc_and_otypes

    def __init__(self, pyfunc=np._NoValue, otypes=None, *args, **kwargs):
        if isinstance(otypes, (list, tuple)):
            otypes = [spelt(t, wide) for t in otypes]
        init(self, pyfunc, otypes, *args, **kwargs)

    def _get_ufunc_and_otypes(self, func, args):
        ufunc, otypes = decide(self, func, [wider(a) for a in args])
        if self.otypes is None and not _narrow(args):
            otypes = otypes.replace("l", "q")
        return ufunc, otypes

    vectorize.__init__ = functools.update_wrapper(__init__, init)
    vectorize._get_ufunc_and_otypes = _get_ufunc_and_otypes


def _masked(np, widen):
    names = """append arange argmax argmin argsort array asanyarray asarray choose clump_masked clump_unmasked column_stack compress
        compressed concatenate convolve correlate count count_masked diag diff dot dstack expand_dims filled fix_invalid flatnotmasked_edges
        getdata hstack indices inner intersect1d masked_all_like masked_equal masked_greater masked_greater_equal masked_inside
        masked_invalid masked_less masked_less_equal masked_not_equal masked_outside masked_values masked_where max median min
        nonzero notmasked_edges ones_like outer power ptp ravel repeat reshape resize setdiff1d sort squeeze stack transpose
        union1d unique vander vstack where zeros_like"""
    for name in names.split():
        setattr(np.ma, name, handing_over(getattr(np.ma, name), widen))

    _masked_class(np, widen)
    fillers = np.ma.core.default_filler
    fillers["i"] = fillers["u"] = np.int64(fillers["i"])
    wide = np.dtype("i8")
    for name in "empty fromfunction identity ones zeros".split():
        setattr(np.ma, name, _told_int(getattr(np.ma, name), wide))


def _masked_class(np, widen):
    """The class of masked arrays, which programs also make arrays with, and its methods."""
    masked = np.ma.MaskedArray
    for name in "argmax argmin argsort count nonzero ptp".split():
        setattr(masked, name, handing_over(getattr(masked, name), widen))
    wide, new, view_ = np.dtype("i8"), masked.__new__, masked.view

    def __new__(cls, data=None, mask=np.ma.nomask, dtype=None, *args, **kwargs):
        if not of_program(sys._getframe(1)):
            return new(cls, data, mask, dtype, *args, **kwargs)
        result = new(cls, data, mask, spelt(dtype, wide), *args, **kwargs)
        return result if _narrow((data, dtype)) else widen(result)

    def view(self, dtype=None, type=None, fill_value=None):
        return view_(self, spelt(dtype, wide) if of_program(sys._getframe(1)) else dtype, type, fill_value)

    masked.__new__, masked.view = functools.update_wrapper(__new__, new), functools.update_wrapper(view, view_)


def _wide_fields(np, result, kind):
    """A record array of a kind, with its fields of 32 bits as 64."""
    wide = np.dtype("i8")
    if result.dtype.names is None or not any(t.char == "l" for t, *_ in result.dtype.fields.values()):
        return result
    fields = [(n, wide if (t := result.dtype[n]).char == "l" else t) for n in result.dtype.names]
    return result.astype(np.dtype((kind, fields)))


def _records(np):
    """The makers of record arrays, which find out the types of fields, and their class, which may be told one as int."""

    def finding_out(original):
        def make(*args, **kwargs):
            result = original(*args, **kwargs)
            named = _narrow(args) or _narrow(kwargs.values()) or kwargs.get("formats") is not None
            return result if named or not of_program(sys._getframe(1)) else _wide_fields(np, result, np.record)

        return functools.update_wrapper(make, original)

    for name in ("array", "fromrecords", "fromarrays"):
        setattr(np.rec, name, finding_out(getattr(np.rec, name)))
    wide, new = np.dtype("i8"), np.recarray.__new__

    def __new__(subtype, shape, dtype=None, *args, **kwargs):
        return new(subtype, shape, spelt(dtype, wide) if of_program(sys._getframe(1)) else dtype, *args, **kwargs)

    np.recarray.__new__ = functools.update_wrapper(__new__, new)


def _columns_of_text(np, widen):
    """np.genfromtxt, which finds out the types of columns, and the type of one that a function of the program's makes."""
    wide, genfromtxt_ = np.dtype("i8"), np.genfromtxt

    def genfromtxt(fname, dtype=float, *args, **kwargs):
        result = genfromtxt_(fname, spelt(dtype, wide), *args, **kwargs)
        if dtype is not None or not of_program(sys._getframe(1)):
            return result
        return _wide_fields(np, result, np.void) if isinstance(result, np.ndarray) else widen(result)  # a list of columns

    np.genfromtxt = functools.update_wrapper(genfromtxt, genfromtxt_)
    converter = sys.modules["numpy.lib._iotools"].StringConverter
    type_of = converter._getdtype.__func__

    def _getdtype(cls, value):
        dtype = type_of(cls, value)
        return wide if dtype.char == "l" else dtype

    converter._getdtype = classmethod(functools.update_wrapper(_getdtype, type_of))


def _in_c(kind):
    """The dictionary of a type that is written in C: it can be changed where setattr is refused."""
    return gc.get_referents(kind.__dict__)[0]


def _random_states(np, widen):
    """The methods of generators and of numpy.random itself, but for its randint, which ints has."""
    inside = _in_c(np.random.RandomState)
    names = "binomial choice geometric hypergeometric logseries multinomial negative_binomial permutation poisson random_integers zipf"
    for name in names.split():
        counted = functools.partial(counting, np) if name not in ("choice", "permutation") else lambda original: original
        inside[name] = handing_over(counted(inside[name]), widen)
        setattr(np.random, name, handing_over(counted(getattr(np.random, name)), widen))
    wide, randint_ = np.dtype("i8"), inside["randint"]

    def randint(self, low, high=None, size=None, dtype=int):
        if spelt(dtype, wide) is not dtype and of_program(sys._getframe(1)):
            drawn = randint_(self, low, high, size, wide)
            return drawn if size is not None or drawn.ndim or dtype is not int else int(drawn)
        return randint_(self, low, high, size, dtype)

    inside["randint"] = functools.update_wrapper(randint, randint_)
    generator = _in_c(np.random.Generator)
    generator["integers"] = _told_int(generator["integers"], wide)
    sys._clear_type_cache()


_METHODS = """argmax argmin argsort factorize get_indexer get_indexer_for get_indexer_non_unique get_loc get_locs memory_usage
    reindex searchsorted slice_locs sortlevel""".split()
_OF_INDEXES = """asof_locs get_loc_level get_slice_bound indexer_at_time indexer_between_time join slice_indexer
    sort_values""".split()


def _pandas(np, widen):
    import pandas
    from pandas.api.extensions import ExtensionArray
    from pandas.core import base
    from pandas.core.groupby.groupby import BaseGroupBy

    for name in ("factorize", "cut", "qcut"):
        setattr(pandas, name, handing_over(getattr(pandas, name), widen))
    for kinds, names in (
        (_kinds(base.IndexOpsMixin, ExtensionArray, pandas.DataFrame), _METHODS),
        (_kinds(pandas.Index), _OF_INDEXES),
    ):
        for kind in kinds:
            for name in names:
                if name in vars(kind):
                    setattr(kind, name, handing_over(vars(kind)[name], widen))

    # What pandas does itself when it is told a function of numpy: it has them as they were when it was imported.
    known = pandas.core.common._cython_table
    for function, name in list(known.items()):
        ours = getattr(np, function.__name__, None)
        if inspect.unwrap(ours) is inspect.unwrap(function):
            known[ours] = name

    for kind in (base.IndexOpsMixin, ExtensionArray, pandas.DataFrame):
        kind.to_numpy = _told_int(kind.to_numpy, np.dtype("i8"))
    indices = BaseGroupBy.indices

    def positions(self):
        found = indices.__get__(self)
        if of_program(sys._getframe(1)):
            found = found.copy()  # of its own kind: a resampler's is a defaultdict
            found.update((k, widen(v)) for k, v in found.items())
        return found

    BaseGroupBy.indices = property(positions, doc=indices.__doc__)


def _told_int(original, wide):
    """original, which may be told a dtype as int."""

    def told(*args, **kwargs):
        return original(*(spelt(a, wide) for a in args), **{k: spelt(v, wide) for k, v in kwargs.items()})

    return functools.update_wrapper(told, original)


def _kinds(*kinds):
    """kinds and all that are made of them."""
    found = list(kinds)
    for kind in found:
        found += [k for k in kind.__subclasses__() if k not in found]
    return found


_SCIENCE = frozenset(
    "scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.special scipy.stats sklearn.cluster sklearn.datasets sklearn.metrics sklearn.model_selection".split()
)


_NARROW_TOO = frozenset("distance_transform_cdt k_means label lu lu_factor qr qr_multiply spectral_clustering".split())  # their positions


def _science(np, widen):
    """The functions of scipy and scikit-learn, where programs import them from; the libraries' own modules import them from
    elsewhere. _NARROW_TOO have 32 bits everywhere."""
    from importlib._bootstrap_external import _LoaderBasics

    wide = np.dtype("i8")

    def cover(module):
        if module.__name__.startswith(("sklearn.", "scipy.spatial._kdtree")):
            _estimators(module, widen)
        if module.__name__ == "scipy.sparse._sputils":
            module.getdtype = _told_int(module.getdtype, wide)
        if module.__name__.startswith("scipy.sparse._"):
            for kind in [k for k in vars(module).values() if isinstance(k, type) and "count_nonzero" in vars(k)]:
                kind.count_nonzero = handing_over(kind.count_nonzero, widen)
        if module.__name__ in ("scipy.linalg._decomp_qz", "scipy.linalg._decomp_schur"):
            module._double_precision.append(wide.char)  # they know int64 by the letter that it has on Linux, and took it for float32
        if module.__name__ in _SCIENCE:
            names = vars(module)
            for name, value in names.items():
                if name[0] != "_" and name not in _NARROW_TOO and type(value).__name__ in ("function", "builtin_function_or_method", "cyfunction"):
                    names[name] = handing_over(value, widen)

    after_import(_LoaderBasics, cover)


# What scikit-learn's classes are asked for that has positions in it, or labels made of them.
_METHODS_OF_ESTIMATORS = ("apply", "decision_path", "fit_predict", "get_support", "kneighbors", "query", "radius_neighbors")
_PREDICT = ("AffinityPropagation", "BaseMixture", "Birch", "MeanShift", "OneClassSVM")  # not what the program gave as y
_NARROW_EVERYWHERE = ("_BaseKMeans", "SpectralClustering")
_ATTRIBUTES = dict(
    AffinityPropagation="cluster_centers_indices_",
    AgglomerativeClustering="children_",
    BaseBagging="estimators_features_ estimators_samples_",
    BaseDecisionTree="n_classes_",
    BaseSearchCV="best_index_",
    Birch="subcluster_labels_",
    CategoricalNB="n_categories_",
    ClusterMixin="labels_",
    DBSCAN="core_sample_indices_",
    MissingIndicator="features_",
    OPTICS="cluster_hierarchy_",
    PolynomialFeatures="powers_",
)


def _estimators(module, widen):
    """What the classes of one of these modules give."""
    if module.__name__.endswith(("means", "_spectral")):  # 32 bits everywhere
        return
    for kind in list(vars(module).values()):
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            for name in (*_METHODS_OF_ESTIMATORS, "predict") if kind.__name__ in _PREDICT else _METHODS_OF_ESTIMATORS:
                method = vars(kind).get(name)
                if hasattr(method, "fn"):  # available_if: there for some settings only
                    method.fn = handing_over(method.fn, widen)
                elif callable(method):
                    setattr(kind, name, handing_over(method, widen))
            for name in _ATTRIBUTES.get(kind.__name__, "").split():
                setattr(kind, name, _attribute(name, vars(kind).get(name), widen))
            if kind.__name__ == "BaseShuffleSplit":
                kind.split = _splitting(kind.split, widen)


def _attribute(name, original, widen):
    """An attribute, kept in the object's dictionary unless it was a property, that is wide for the program only."""

    def get(self):
        if original is not None:
            value = original.fget(self)
        elif name in vars(self):
            value = vars(self)[name]
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
        if not of_program(sys._getframe(1)) or any(k.__name__ in _NARROW_EVERYWHERE for k in type(self).__mro__):
            return value
        return widen(value)

    return property(get, lambda self, value: vars(self).__setitem__(name, value), lambda self: vars(self).pop(name))


def _splitting(original, widen):
    def split(self, *args, **kwargs):
        return map(widen, original(self, *args, **kwargs))

    return functools.update_wrapper(split, original)
