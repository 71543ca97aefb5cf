# What is larger than an address can tell is a MemoryError, as where there are 64 bits, and other errors stay what they are.
import pickle

import numpy as np


def error_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Exception as e:
        return e
    raise AssertionError("no error")


column, row = np.zeros((100_000, 1)), np.zeros((1, 100_000))
for name, make in {
    "list": lambda: [0] * 10**10,
    "tuple": lambda: (0,) * 10**10,
    "str": lambda: "a" * 10**11,
    "bytes": lambda: bytes(10**10),
    "bytearray": lambda: bytearray(8 * 1024**3),
    "zeros": lambda: np.zeros(10**12),
    "ones": lambda: np.ones((50_000, 50_000)),
    "arange": lambda: np.arange(10**11),
    "random": lambda: np.random.default_rng().normal(size=(100_000, 100_000)),
    "sum": lambda: column + row,
    "product": lambda: column @ row,
    "grid": lambda: np.meshgrid(range(100_000), range(100_000)),
}.items():
    e = error_of(make)
    assert type(e) is MemoryError and "more than 2 GiB" in str(e), (name, e)


class Own(ValueError):
    def __init__(self, text, *, where):
        self.where = where


class Wide(OverflowError):
    pass


own = Own("array is too big", where=3)
assert type(own) is Own and own.args == ("array is too big",) and own.where == 3
assert repr(Wide("cannot fit 'int' into an index-sized integer", 1)) == '''Wide("cannot fit 'int' into an index-sized integer", 1)'''
assert ValueError().args == () and ValueError("a", 2).args == ("a", 2) and str(OverflowError("x")) == "x"
assert type(error_of(ValueError, text="x")) is TypeError
assert repr(pickle.loads(pickle.dumps(ValueError("a", 2)))) == "ValueError('a', 2)"
assert type(error_of(np.zeros, -1)) is ValueError and type(error_of(bytes, -1)) is ValueError
assert type(error_of(int, "x")) is ValueError and type(error_of(b"\xff".decode)) is UnicodeDecodeError
assert type(error_of((10**400).__float__)) is OverflowError
try:
    int("x")
except ValueError as e:
    assert e.__traceback__ is not None and e.args == ("invalid literal for int() with base 10: 'x'",)
