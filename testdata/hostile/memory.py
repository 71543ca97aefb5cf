# Attempts: to take more memory than its limit in every way that allocates at once or bit by bit, and to go on after
#   each refusal.
# Stopped by: MemoryError (or OverflowError) where it happens; what was taken is free again.
# run: status=ok,out_of_memory timeout=60s memory=256MiB
import array, collections, io, itertools, numpy, os, struct, sys, zlib

G = 10**9

def grow(step):
    x = []
    while True:
        x.append(step())

def extend(x, more):
    while True:
        x += more

def doubling(x):
    while True:
        x = x + x

forms = [
    lambda: bytes(G), lambda: bytearray(2 * G), lambda: b"x" * G, lambda: "x" * G, lambda: "\U0001f600" * G, lambda: [0] * G, lambda: (0,) * G, lambda: list(range(10**8)), lambda: 1 << (8 * G), lambda: numpy.ones(G), lambda: numpy.zeros((10**5, 10**5)),
    lambda: numpy.zeros(G, "u1").sum() or numpy.ones(G, "u1"), lambda: numpy.broadcast_to(numpy.ones(1), (10**5, 10**4)).copy(), lambda: array.array("d", bytes(8)) * G, lambda: collections.deque(itertools.repeat(0)), lambda: set(range(10**8)),
    lambda: dict.fromkeys(range(10**8)), lambda: tuple(itertools.count()), lambda: "".join(itertools.repeat("x")), lambda: b"".join(itertools.repeat(b"x" * 1000)), lambda: list(itertools.product(range(100), repeat=5)), lambda: extend([], [1] * 1000), lambda: extend("", "x" * 10**6),
    lambda: extend(b"", b"x" * 10**7), lambda: extend(bytearray(), b"x" * 10**7), lambda: doubling("x"), lambda: doubling([1]), lambda: doubling((1,)), lambda: grow(lambda: bytearray(1 << 20)), lambda: grow(lambda: {}),
    lambda: grow(lambda: numpy.ones(1 << 17)), lambda: io.BytesIO().seek(2 * G) and io.BytesIO().truncate(G), lambda: zlib.decompress(zlib.compress(bytes(10**8)) ) * 10, lambda: struct.pack("%ds" % G, b""), lambda: struct.unpack("%dc" % 10**8, bytes(10**8)), lambda: "%1000000000d" % 1,
    lambda: format(1, "1000000000d"), lambda: "x".ljust(G), lambda: "\t".expandtabs(G), lambda: ("x" * 10**5).replace("x", "y" * 10**5), lambda: ("x," * 10**7).split(","), lambda: sys.intern("x" * G), lambda: [[0] * 10**6 for _ in range(10**4)],
    lambda: memoryview(bytearray(10**8)).tolist(), lambda: bytes(10**8).hex(), lambda: repr(bytes(10**8)), lambda: str(list(range(10**7))) * 10, lambda: (bytes(3 * 10**8), bytes(3 * 10**8)),
]
for form in forms:
    try:
        x = form()
        print("made", type(x).__name__, flush=True)
        del x
    except (MemoryError, OverflowError, ValueError, TypeError, SystemError, struct.error) as e:
        print(type(e).__name__, flush=True)
x = bytes(1 << 20)
print(len(x))
