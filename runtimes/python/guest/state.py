"""What is told of a session's names after each turn (below), and what its copies must not share: the numbers that random
generators are going to draw.

A copy (a fork, a restored snapshot) has the memory of another session, and so the state of every generator in
it. In its first turn the driver asks for renew(). A generator that the program gave a seed of its own goes on as it
is, in every copy alike.
"""

import datetime
import gc
import itertools
import random
import reprlib
import sys
import types
import weakref
import zoneinfo

from . import host

# What became of a generator, by identity: classes of the program's may be without a hash, or all be equal. A weak reference,
# and whether its state is the program's. numpy's generators take no weak reference; their locks, one each, do.
_noted = {}

# The image's own generators, Mersenne twisters both, whose words the host renews: for numpy to do that costs as much as
# ten turns. That they are held here keeps their memory theirs.
_inst = random._inst
_legacy = _legacy_bits = None
_get_objects = gc.get_objects  # which a program may replace
_randbits = random.SystemRandom().getrandbits
_plain_seed = random.Random.seed

# Of numpy.random: its kinds of bit generators, and how to read what it has of C, whatever a program's subclass says.
_bit_kinds = {}
_RandomState = _SeedSequence = None
_lock_of = _source_of = _entropy_of = _bits_of = None
_mro = type.__dict__["__mro__"].__get__


class _Drawn(int):
    """A seed that the system gave. Written down and read again it is a number like any other."""

    def __reduce__(self):
        return int, (int(self),)


_Drawn.__name__ = _Drawn.__qualname__ = "int"
_Drawn.__module__ = "builtins"


def _note(thing, own):
    key = id(thing)
    _noted[key] = weakref.ref(thing, lambda _: _noted.pop(key, None)), own


def install():
    """Makes the ways to seed a generator leave a note."""
    plain_setstate = random.Random.setstate

    def seed(self, a=None, version=2):
        _plain_seed(self, a, version)
        if a is None:
            _noted.pop(id(self), None)
        else:
            _note(self, True)

    def setstate(self, state):
        plain_setstate(self, state)
        _note(self, True)

    for new, plain in ((seed, _plain_seed), (setstate, plain_setstate)):
        new.__doc__, new.__qualname__, new.__module__ = plain.__doc__, plain.__qualname__, plain.__module__
        setattr(random.Random, plain.__name__, new)
    random.seed, random.setstate = _inst.seed, _inst.setstate
    _install_numpy(sys.modules["numpy.random"])
    plain_freeze = gc.freeze

    def freeze():
        _settle()
        plain_freeze()

    freeze.__doc__, freeze.__module__ = plain_freeze.__doc__, "gc"
    gc.freeze = freeze


def _install_numpy(library):
    """numpy.random.seed and set_state come to these, too."""
    global _legacy, _legacy_bits, _RandomState, _SeedSequence, _lock_of, _source_of, _entropy_of, _bits_of
    _legacy = library.mtrand._rand
    _legacy_bits = _legacy._bit_generator
    _RandomState, _SeedSequence = library.RandomState, library.SeedSequence
    base = library.bit_generator.BitGenerator
    _lock_of, _source_of = base.__dict__["lock"].__get__, base.__dict__["seed_seq"].__get__
    _entropy_of = _SeedSequence.__dict__["entropy"].__get__
    _bits_of = _RandomState.__dict__["_bit_generator"].__get__
    library.bit_generator.randbits = lambda bits: _Drawn(_randbits(bits))

    def noting(plain):
        def state(self, value):
            plain(self, value)
            _note(_lock_of(self), True)

        return state

    for kind in (library.MT19937, library.PCG64, library.PCG64DXSM, library.Philox, library.SFC64):
        _bit_kinds[id(kind)] = kind
        plain = kind.__dict__["state"]
        _replace(kind, "state", property(plain.__get__, noting(plain.__set__), doc=plain.__doc__))
    plain_seeding = library.MT19937._legacy_seeding

    def _legacy_seeding(self, seed):
        plain_seeding(self, seed)
        _note(_lock_of(self), seed is not None)

    _replace(library.MT19937, "_legacy_seeding", _legacy_seeding)


def _replace(kind, name, made):
    """Gives a class of C another attribute, which it does not let itself be given: in its own dictionary. The interpreter
    learns of it when the class is told what is abstract in it."""
    gc.get_referents(kind.__dict__)[0][name] = made
    abstract = type.__dict__["__abstractmethods__"]
    abstract.__set__(kind, ())
    abstract.__delete__(kind)


def forget():
    """Nothing has a seed of the program's, whatever was done while the image was made."""
    for library in ("numpy", "pandas"):
        _LIBRARY.update(id(thing) for thing in vars(sys.modules[library]).values() if isinstance(thing, type))
    for plain in (object, bool, int, float, complex, str, bytes):  # numpy has names for these too
        _LIBRARY.discard(id(plain))
    _learn_parts(sys.modules["numpy"], sys.modules["pandas"])
    _known.clear()
    _noted.clear()
    _settled.clear()


def _learn_parts(numpy, pandas):
    global _ndarray, _Frozen, _ZonedDtype
    _ndarray, _ZonedDtype = numpy.ndarray, pandas.DatetimeTZDtype
    _Frozen = type(pandas.MultiIndex.from_tuples([(1, 2)]).levels)
    internals = sys.modules["pandas.core.internals"]
    _FRAMES.update(map(id, (pandas.DataFrame, pandas.Series)))
    _MANAGERS.update(map(id, (internals.managers.BlockManager, internals.managers.SingleBlockManager)))
    for module, base, kinds in (
        (internals.blocks, internals.blocks.Block, _BLOCKS),
        (pandas, pandas.Index, _INDEXES),
        (pandas.arrays, pandas.api.extensions.ExtensionArray, _ARRAYS),
    ):
        kinds.update(id(kind) for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, base))
    _ARRAYS.discard(id(pandas.arrays.SparseArray))  # which tells any object that it is filled with
    for kind in vars(numpy).values():
        if isinstance(kind, type) and issubclass(kind, numpy.ndarray):
            _ARRAYS.add(id(kind))
        elif isinstance(kind, type) and issubclass(kind, numpy.generic) and not issubclass(kind, numpy.void):
            _SCALARS.add(id(kind))  # a void may hold any object
    _SCALARS.update(map(id, (pandas.Timestamp, pandas.Timedelta, type(pandas.NaT), type(pandas.NA))))
    _ZONES.update(map(id, (type(None), datetime.timezone, zoneinfo.ZoneInfo)))


_settled = []  # generators that are out of the collector's sight


def settle():
    """Puts all that there is out of the collector's way, as in the image itself."""
    gc.collect()
    gc.freeze()


def _settle():
    _settled.extend(_generators(_get_objects()))


def _generators(things):
    """Those of things that draw numbers, told by their classes alone: isinstance asks an object, too, which is code of the
    program's."""
    draw = {}  # by kind
    for thing in things:
        kind = type(thing)
        known = draw.get(id(kind))
        if known is None:
            bases = _mro(kind)
            known = draw[id(kind)] = any(base is random.Random or base is _RandomState or id(base) in _bit_kinds for base in bases)
        if known:
            yield thing


def renew():
    """Gives every generator that has no seed of the program's a new state."""
    twisters = b""  # by their place among those that the host knows
    if not _own(_inst):
        _inst.gauss_next = None
        twisters += b"\0"
    if not _own(_lock_of(_legacy_bits)):
        _forget_half(_legacy)
        twisters += b"\1"
    host.raw(host.RENEW + twisters)
    # What the image has of generators is not among these.
    special = []
    for thing in list(_generators(_settled + _get_objects())):
        bases = _mro(type(thing))
        with _Quiet():
            if random.Random in bases:
                if not _own(thing) and random.SystemRandom not in bases:
                    _plain_seed(thing)
                    if type(thing) is not random.Random:
                        special.append(thing)
            elif _RandomState in bases:
                if _from_system(_bits_of(thing)):
                    _forget_half(thing)
            elif _from_system(thing):
                next(base for base in bases if id(base) in _bit_kinds).__init__(thing)
    for thing in special:  # which may have more to renew
        with _Quiet():
            thing.seed()


class _Quiet:
    """Goes on after whatever a class of the program's raises; an interruption is the host's."""

    def __enter__(self):
        pass

    def __exit__(self, kind, error, tb):
        return kind is not KeyboardInterrupt


def _own(thing):
    return _noted.get(id(thing), (None, False))[1]


def _from_system(bits):
    """Whether a bit generator of numpy's has a state that goes back to the system's entropy."""
    if not any(id(base) in _bit_kinds for base in _mro(type(bits))):
        return False
    noted = _noted.get(id(_lock_of(bits)))
    if noted is not None:
        return not noted[1]
    source = _source_of(bits)
    return _SeedSequence in _mro(type(source)) and type(_entropy_of(source)) is _Drawn


def _forget_half(generator):
    """Normal numbers are made in pairs, and the second one is kept; a generator that gets its bits anew has none."""
    _RandomState.__init__(generator, _bits_of(generator))


# What a session's names are after a turn, for whoever cannot see them.

_MOST = 100  # names in each list of a card
_SHORT = 64  # characters of text that are compared, and of a preview

# Kinds are told apart by their address: a class that the program made can say how it is compared, or what its module is, in
# code of the program's, which must not run here.
_PLAIN = frozenset(map(id, (int, float, bool, complex, type(None))))
_TEXT = frozenset(map(id, (str, bytes)))
_SIZED = frozenset(map(id, (list, tuple, dict, set, frozenset, bytearray)))
_LIBRARY = set()  # classes of numpy and pandas
# What may be asked for its shape and its kind, by what it must be made of: a program can put anything in a frame.
_ARRAYS, _SCALARS, _FRAMES, _INDEXES, _MANAGERS, _BLOCKS = set(), set(), set(), set(), set(), set()
_ZONES = set()
_ndarray = _Frozen = _ZonedDtype = None
_MOST_BLOCKS = 1000  # that are looked at
_qualname = type.__dict__["__qualname__"].__get__
_MISSING = object()

_known = {}  # by name: what the last card was made from


class _Short(reprlib.Repr):
    def repr_bytes(self, value, level):  # all of it takes four times its size, and as long as that
        return self.repr_instance(value[:_SHORT], level)

    repr_bytearray = repr_bytes


_short = _Short()
_short.maxlevel = 2
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = 4
_short.maxstring = _short.maxother = _short.maxlong = _SHORT


def card(names):
    """What was added, changed and removed since the last card, or None: no name. A value that was changed in
    place is noticed if its size, its columns or the first things that it holds are others."""
    added, changed = [], []
    seen = 0
    for name, value in names.items():
        if type(name) is not str or name[:1] == "_":
            continue
        seen += 1
        kind = type(value)
        if id(kind) in _PLAIN:
            mark = value
        elif id(kind) in _TEXT:
            mark = value if len(value) <= _SHORT else (id(value), len(value))
        else:
            mark = (id(value), id(kind), _inside(value, kind))
        old = _known.get(name, _MISSING)
        if old is mark:
            continue
        if old is _MISSING:
            added.append((name, value))
        elif type(old) is type(mark) and old == mark:
            continue
        else:
            changed.append((name, value))
        _known[name] = mark
    removed = ()
    if seen != len(_known):
        removed = [name for name in _known if name not in names]
        for name in removed:
            del _known[name]
    if not (added or changed or removed):
        return None
    told = {}
    for key, things in (("added", added), ("changed", changed)):
        if things:
            told[key] = [tell(name, value) for name, value in things[:_MOST]]
    if removed:
        told["removed"] = [name[:_MOST] for name in removed[:_MOST]]
    more = sum(max(0, len(things) - _MOST) for things in (added, changed, removed))
    if more:
        told["more"] = more
    return told


def _inside(value, kind):
    """What changes when a value is changed in place, as far as it is found at once."""
    if id(kind) in _SIZED:
        if kind is list or kind is tuple:
            return len(value), hash(tuple(map(id, value[:50])))
        return len(value)
    if _sound(value, kind):
        return getattr(value, "shape", None), tuple(map(id, value._mgr.blocks[:50])) if id(kind) in _FRAMES else None
    return None


def _sound(value, kind):
    """Whether a value has a shape, and is numpy's or pandas' with no part of another making, which could be slow or fail."""
    if id(kind) not in _FRAMES:
        return id(kind) in _SCALARS and _simple(value) or _sound_index(value) or _sound_array(value)
    inside = _dict(value).get("_mgr")
    return (
        id(type(inside)) in _MANAGERS
        and len(inside.blocks) <= _MOST_BLOCKS
        and all(map(_sound_index, inside.axes))
        and all(id(type(block)) in _BLOCKS and _sound_array(block.values) for block in inside.blocks)
    )


def _sound_index(value):
    if id(type(value)) not in _INDEXES:
        return False
    parts = _dict(value)
    levels = parts.get("_levels")
    if levels is not None:
        return type(levels) is _Frozen and all(map(_sound_index, levels))
    return type(parts.get("_range")) is range or _sound_array(parts.get("_data"))


def _sound_array(value):
    kind = type(value)
    if id(kind) not in _ARRAYS:
        return False
    if _ndarray in _mro(kind):
        return True
    parts = _dict(value)
    if not all(id(type(parts[part])) in _ARRAYS for part in ("_data", "_mask") if part in parts):
        return False
    dtype = value.dtype
    return type(dtype) is not _ZonedDtype or id(type(dtype.tz)) in _ZONES


def _dict(value):
    return object.__getattribute__(value, "__dict__")


def tell(name, value):
    kind = type(value)
    told = {"name": name[:_MOST], "type": _qualname(kind)[:_MOST]}
    sound = id(kind) in _LIBRARY and _sound(value, kind)
    if sound:
        shape = getattr(value, "shape", None)
        if type(shape) is tuple and shape:
            told["shape"] = [int(n) for n in shape[:8]]
    elif id(kind) in _SIZED or id(kind) in _TEXT:
        told["length"] = len(value)
    preview = _preview(value, kind, sound)
    if preview:
        told["preview"] = preview if len(preview) <= 2 * _SHORT else preview[: 2 * _SHORT - 1] + "…"
    return told


def _simple(value):
    kind = id(type(value))
    return kind in _PLAIN or kind in _TEXT or kind in _SCALARS and id(type(getattr(value, "tzinfo", None))) in _ZONES


def _preview(value, kind, sound):
    """A few words, from what runs no code of the program's."""
    if id(kind) in _PLAIN or id(kind) in _TEXT:
        return _short.repr(value)
    if id(kind) in _SIZED:
        # Not of what the program's own classes are in.
        items = list(itertools.islice(value.items() if kind is dict else value, 4))
        flat = [x for item in items for x in item] if kind is dict else items
        return _short.repr(value) if all(id(type(x)) in _PLAIN or id(type(x)) in _TEXT for x in flat) else ""
    if kind is types.FunctionType:
        code = value.__code__
        return f"{value.__name__}({', '.join(code.co_varnames[: code.co_argcount])})"
    if kind is type:
        return f"class {value.__name__}"
    if kind is types.ModuleType:
        return getattr(value, "__name__", "")
    if not sound:
        return ""
    try:
        columns = getattr(value, "columns", None)
        if columns is not None:
            return ", ".join(f"{c if _simple(c) else '…'}: {t}" for c, t in zip(columns[:8], value.dtypes[:8]))
        dtype = getattr(value, "dtype", None)
        if dtype is not None and getattr(value, "ndim", 0) == 1:
            first = (_short.repr(x) if _simple(x) else "…" for x in value[:4].tolist())
            return f"{dtype}: {', '.join(first)}{', …' if len(value) > 4 else ''}"
        return str(dtype) if dtype is not None else ""
    except Exception:
        return ""
