# Attempts: to own its interpreter: writes over all of linear memory by arrays that numpy was lied to about, here and there
#   at random, over small integers, types and the functions that the host calls.
# Stopped by: linear memory is all there is to write, and none of it is used again. What the host reads from it is
#   checked; what no longer runs is a trap.
# run: status=ok,error,trapped,timeout,out_of_memory,out_of_fuel timeout=1s repeat=40 over=2s
import random
import sys
import numpy as np

class Lie:
    def __init__(self, address, size, kind="|u1"):
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": kind, "version": 3}

def memory(address, size):
    return np.asarray(Lie(address, size))

rng = random.Random(seed)
size = 200 << 20
print("seed", seed, flush=True)
if seed == 0:
    memory(4096, size)[:] = 0
elif seed == 1:
    memory(0, size)[:] = 255
elif seed == 2:
    memory(0, 1 << 16)[:] = 7
elif seed == 3:  # 5 is 7 from now on, for whoever looks at it
    at = id(5)
    memory(at, 32)[:] = memory(id(7), 32)
    print(5 + 0)
elif seed == 4:  # the type of all types
    memory(id(type), 400)[:] = 0
    print(type(1))
elif seed == 5:  # one past the end, and far away
    for address in (size * 2, 2**31, 2**32 - 1, 2**32 - 4096):
        try:
            print(memory(address, 4)[:])
        except Exception as e:
            print(type(e))
elif seed == 6:
    x = np.lib.stride_tricks.as_strided(np.zeros(1, "u1"), (2**31 - 1,), (1,))
    x[:] = 9
elif seed == 7:
    x = np.lib.stride_tricks.as_strided(np.zeros(1, "u1"), (2**31 - 1,), (-1,))
    print(x[:100_000_000].sum())
elif seed == 8:  # the heap, but for what runs now
    memory(id([]) & ~0xFFFFF, 1 << 20)[:] = rng.randbytes(1 << 20)
elif seed == 9:  # every function of the package that the host calls
    for module in [m for n, m in sys.modules.items() if n.startswith("_cloche")]:
        for value in list(vars(module).values()):
            if callable(value):
                memory(id(value) + 8, 24)[:] = 0
elif seed == 10:  # the type of functions: what the host calls next is none
    memory(id(type(lambda: 1)) + 12, 200)[:] = 0
elif seed == 11:  # the interpreter's None: the host compares with it
    memory(id(None), 8)[:] = memory(id(True), 8)
else:
    for _ in range(10 ** (seed % 6)):
        at = rng.randrange(1024, size)
        memory(at, 8)[:] = np.frombuffer(rng.randbytes(8), "u1")
print("lives")
{"a": [1, 2, 3], "b": "text"}
