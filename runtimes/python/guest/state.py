"""What a session's copies must not share: the numbers that random generators are going to draw.

A copy (a fork, a restored snapshot) has the memory of another session, and so the state of every generator in
it. In its first turn the driver asks for renew(). A generator that the program gave a seed of its own goes on as it
is, in every copy alike.
"""

import gc
import random
import sys
import weakref

# numpy's generators say themselves whether their seed came from the system: it has 128 bits then.
_OWN_SEED = 1 << 64

_seeded = weakref.WeakSet()  # instances of random.Random; and, in its place, numpy's legacy generator
_legacy_seeded = False


def install():
    """Makes the ways to seed a generator leave a note."""
    plain_seed, plain_setstate = random.Random.seed, random.Random.setstate

    def seed(self, a=None, version=2):
        plain_seed(self, a, version)
        if a is None:
            _seeded.discard(self)
        else:
            _seeded.add(self)

    def setstate(self, state):
        plain_setstate(self, state)
        _seeded.add(self)

    for new, plain in ((seed, plain_seed), (setstate, plain_setstate)):
        new.__doc__, new.__qualname__, new.__module__ = plain.__doc__, plain.__qualname__, plain.__module__
        setattr(random.Random, plain.__name__, new)
    random.seed, random.setstate = random._inst.seed, random._inst.setstate
    _install_legacy(sys.modules["numpy.random"])


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
    _seeded.clear()
    _legacy_seeded = False


def renew():
    """Gives every generator that has no seed of the program's a new state."""
    legacy = sys.modules["numpy.random"].mtrand._rand
    if random._inst not in _seeded:
        random._inst.seed()
    if not _legacy_seeded:
        sys.modules["numpy.random"].seed()
    bits, states = sys.modules["numpy.random.bit_generator"].BitGenerator, type(legacy)
    # What the image has of generators is not among these.
    for thing in gc.get_objects():
        try:
            if isinstance(thing, random.Random):
                if thing not in _seeded and not isinstance(thing, random.SystemRandom):
                    thing.seed()
            elif isinstance(thing, bits):
                source = thing.seed_seq
                if source is not None and _from_system(source):
                    thing.__init__()
            elif isinstance(thing, states):
                _forget_half(thing)
        except Exception:  # of a class of the program's own
            pass


def _from_system(source):
    entropy = getattr(source, "entropy", None)
    return isinstance(entropy, int) and entropy >= _OWN_SEED and not source.spawn_key


def _forget_half(generator):
    """Normal numbers are made in pairs, and the second one is kept."""
    bits = generator._bit_generator
    if bits.seed_seq is not None and _from_system(bits.seed_seq):
        state = generator.get_state(legacy=False)
        state["has_gauss"] = 0
        generator.set_state(state)
