"""What is told of a session's names after each turn (below), and what its copies must not share: the numbers that random
generators are going to draw.

A copy (a fork, a restored snapshot) has the memory of another session, and so the state of every generator in
it. In its first turn the driver asks for renew(). A generator that the program gave a seed of its own goes on as it
is, in every copy alike.
"""

import gc
import itertools
import random
import reprlib
import sys
import types
import weakref

from . import host

# numpy's generators say themselves whether their seed came from the system: it has 128 bits then.
_OWN_SEED = 1 << 64

# Generators of random.Random, by identity: classes of the program's may be without a hash, or all be equal. And, in its
# place, numpy's legacy generator.
_seeded = {}
_legacy_seeded = False

# The image's own generators, Mersenne twisters both, whose words the host renews: for numpy to do that costs as much as
# ten turns. That they are held here keeps their memory theirs.
_inst = random._inst
_legacy = _legacy_bits = None
_BitGenerator = None
_get_objects = gc.get_objects  # which a program may replace


def install():
    """Makes the ways to seed a generator leave a note."""
    global _legacy, _legacy_bits, _BitGenerator
    plain_seed, plain_setstate = random.Random.seed, random.Random.setstate

    def seed(self, a=None, version=2):
        plain_seed(self, a, version)
        if a is None:
            _seeded.pop(id(self), None)
        else:
            note(self)

    def setstate(self, state):
        plain_setstate(self, state)
        note(self)

    def note(generator):
        key = id(generator)
        _seeded[key] = weakref.ref(generator, lambda _: _seeded.pop(key, None))

    for new, plain in ((seed, plain_seed), (setstate, plain_setstate)):
        new.__doc__, new.__qualname__, new.__module__ = plain.__doc__, plain.__qualname__, plain.__module__
        setattr(random.Random, plain.__name__, new)
    random.seed, random.setstate = _inst.seed, _inst.setstate
    _legacy = sys.modules["numpy.random"].mtrand._rand
    _legacy_bits = _legacy._bit_generator
    _BitGenerator = sys.modules["numpy.random.bit_generator"].BitGenerator
    _install_legacy(sys.modules["numpy.random"])
    plain_freeze = gc.freeze

    def freeze():
        _settle()
        plain_freeze()

    freeze.__doc__, freeze.__module__ = plain_freeze.__doc__, "gc"
    gc.freeze = freeze


def _install_legacy(numpy_random):
    mtrand = numpy_random.mtrand
    plain_seed, plain_set_state = mtrand.seed, numpy_random.set_state

    def seed(seed=None):
        global _legacy_seeded
        plain_seed(seed)
        _legacy_seeded = seed is not None

    def set_state(state):
        global _legacy_seeded
        plain_set_state(state)
        _legacy_seeded = True

    for new, plain in ((seed, plain_seed), (set_state, plain_set_state)):
        new.__doc__, new.__qualname__, new.__module__ = plain.__doc__, new.__name__, "numpy.random"
        setattr(numpy_random, new.__name__, new)
    mtrand.seed = seed


def forget():
    """Nothing has a seed of the program's, whatever was done while the image was made."""
    global _legacy_seeded
    for library in ("numpy", "pandas"):
        _LIBRARY.update(id(thing) for thing in vars(sys.modules[library]).values() if isinstance(thing, type))
    for plain in (object, bool, int, float, complex, str, bytes):  # numpy has names for these too
        _LIBRARY.discard(id(plain))
    _known.clear()
    _seeded.clear()
    _settled.clear()
    _legacy_seeded = False


_settled = []  # generators that are out of the collector's sight


def settle():
    """Puts all that there is out of the collector's way, as in the image itself."""
    gc.collect()
    gc.freeze()


def _settle():
    kinds = (random.Random, _BitGenerator, type(_legacy))
    _settled.extend(thing for thing in _get_objects() if isinstance(thing, kinds))


def renew():
    """Gives every generator that has no seed of the program's a new state."""
    twisters = b""  # by their place among those that the host knows
    if id(_inst) not in _seeded:
        _inst.gauss_next = None
        twisters += b"\0"
    if not _legacy_seeded:
        _forget_half(_legacy)
        twisters += b"\1"
    host.raw(host.RENEW + twisters)
    bits, states = _BitGenerator, type(_legacy)
    # What the image has of generators is not among these.
    for thing in _settled + _get_objects():
        try:
            if isinstance(thing, random.Random):
                if id(thing) not in _seeded and not isinstance(thing, random.SystemRandom):
                    thing.seed()
            elif isinstance(thing, bits):
                source = thing.seed_seq
                if source is not None and _from_system(source):
                    thing.__init__()
            elif isinstance(thing, states):
                source = thing._bit_generator.seed_seq
                if source is not None and _from_system(source):
                    _forget_half(thing)
        except Exception:  # of a class of the program's own
            pass


def _from_system(source):
    entropy = getattr(source, "entropy", None)
    return isinstance(entropy, int) and entropy >= _OWN_SEED


def _forget_half(generator):
    """Normal numbers are made in pairs, and the second one is kept; a generator that gets its bits anew has none."""
    type(_legacy).__init__(generator, generator._bit_generator)


# What a session's names are after a turn, for whoever cannot see them.

_MOST = 100  # names in each list of a card
_SHORT = 64  # characters of text that are compared, and of a preview

# Kinds are told apart by their address: a class that the program made can say how it is compared, or what its module is, in
# code of the program's, which must not run here.
_PLAIN = frozenset(map(id, (int, float, bool, complex, type(None))))
_TEXT = frozenset(map(id, (str, bytes)))
_SIZED = frozenset(map(id, (list, tuple, dict, set, frozenset, bytearray)))
_LIBRARY = set()  # classes of numpy and pandas
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
    if id(kind) in _LIBRARY:
        blocks = getattr(getattr(value, "_mgr", None), "blocks", ())
        return getattr(value, "shape", None), tuple(map(id, blocks[:50]))
    return None


def tell(name, value):
    kind = type(value)
    told = {"name": name[:_MOST], "type": _qualname(kind)[:_MOST]}
    if id(kind) in _LIBRARY:
        shape = getattr(value, "shape", None)
        if type(shape) is tuple and shape:
            told["shape"] = [int(n) for n in shape[:8]]
    elif id(kind) in _SIZED or id(kind) in _TEXT:
        told["length"] = len(value)
    preview = _preview(value, kind)
    if preview:
        told["preview"] = preview if len(preview) <= 2 * _SHORT else preview[: 2 * _SHORT - 1] + "…"
    return told


def _simple(value):
    kind = id(type(value))
    return kind in _PLAIN or kind in _TEXT or kind in _LIBRARY


def _preview(value, kind):
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
    if id(kind) not in _LIBRARY:
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
