# Attempts: work for little fuel: bulk copies, fills, comparisons, sorts, big numbers, regular expressions, calls that do
#   nothing else.
# Stopped by: fuel, which bulk operations pay by length, long before the timeout.
# run: status=out_of_fuel fuel=500000000 timeout=60s repeat=12
import functools, itertools, random, re
import numpy as np
x = bytes(10**7); s = "ab" * 10**6; a = np.zeros(10**6)
def forever(f):
    while True: f()
y = bytearray(x)
forever((lambda: y.__init__(x), lambda: x == x[:-1] + b"\1", lambda: s.replace("a", "ccc"), lambda: s.find("aa"), lambda: a.fill(1), lambda: a.copy(), lambda: sorted(s[:10000], key=functools.cmp_to_key(lambda p, q: 0)),
 lambda: pow(3, 10**5) * pow(7, 10**5), lambda: re.findall("(a|b)*c", s[:2000]), lambda: [0] * 10**6, lambda: list(itertools.repeat(0, 10**6)), lambda: memoryview(x).tolist())[seed])
