"""Methods for the interpreter's own types, which refuse to be given any: their memory is looked at through numpy."""

import gc

_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_WORDS = 53  # of a type, to where another one may begin


def _words(kind):
    import numpy

    class Memory:
        __array_interface__ = {"data": (id(kind), False), "shape": (_WORDS,), "typestr": "<u4", "version": 3}

    return numpy.asarray(Memory())


def give(kind, **given):
    """Sets methods of a type. Its flag that refuses that is taken away meanwhile. The dictionary in which its methods are
    looked up is not the one that is written to then, but setting one there has the type fill its slots from the methods,
    for those that are made of it too."""
    import numpy

    words = _words(kind)
    (at,) = numpy.flatnonzero(words == kind.__flags__ & 0xFFFFFFFF)
    before = words.copy()
    words[at] &= ~numpy.uint32(_IMMUTABLE)
    methods = gc.get_referents(kind.__dict__)[0]
    for name, method in given.items():
        methods[name] = method
        setattr(kind, name, method)
    words[at] |= numpy.uint32(_IMMUTABLE)
    words[before == 0] = 0  # the dictionary that was written to


def give_new(kind, new):
    """Sets __new__ of an exception type. Calls of one go past it as a rule; what does so is the word that those have of
    which CPython says so, and OSError, which has a __new__ of its own, has not."""
    import numpy

    give(kind, __new__=staticmethod(new))
    words = _words(kind)
    (at,) = numpy.flatnonzero((words == _words(LookupError)) & (words != 0) & (_words(OSError) == 0))
    words[at] = 0
