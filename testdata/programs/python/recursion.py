# Endless recursion is a RecursionError, whatever limit the program sets, and the work goes on.
import functools
import sys
import time
import traceback

sys.setrecursionlimit(10**6)
assert sys.getrecursionlimit() == 100_000
start = time.monotonic()


def down(n):
    return down(n + 1)


class Loop:
    def __repr__(self):
        return repr(self)

    def __eq__(self, other):
        return self == other

    def __getattr__(self, name):
        return getattr(self, name + "x")


@functools.cache
def cached(n):
    return cached(n + 1)


def by_sort(n):
    return sorted([1], key=lambda x: by_sort(n + 1))


def by_map(n):
    return list(map(by_map, [n + 1]))


for call in (
    lambda: down(0),
    lambda: repr(Loop()),
    lambda: Loop() == Loop(),
    lambda: Loop().a,
    lambda: cached(0),
    lambda: by_sort(0),
    lambda: by_map(0),
):
    try:
        call()
    except RecursionError:
        text = traceback.format_exc()
        assert len(text) < 20_000, len(text)
        assert text.endswith("\n") and "RecursionError" in text
    else:
        raise AssertionError("it ended")

# Deep, not endless.


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


@functools.cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


assert depth(90_000) == 90_000
a, b = 0, 1
for _ in range(1500):
    a, b = b, a + b
assert fib(1500) == a
sys.setrecursionlimit(1000)
assert depth(900) == 900

nested = []
for _ in range(100_000):
    nested = [nested]
try:
    repr(nested)
except RecursionError:
    pass
del nested
assert time.monotonic() - start < 60
