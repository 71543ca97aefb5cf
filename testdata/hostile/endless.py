# Attempts: to compute on after its deadline where no bytecode runs in between: one long call into C, big numbers, regular
#   expressions, sorting, bulk copies, host calls, waiting; a form a turn.
# Stopped by: the timeout, or memory where that is full first. The session goes on.
# run: status=ok timeout=60s
kept = 1
# turn: status=timeout,out_of_memory,error timeout=200ms
while True: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
x = 10 ** (10 ** 9)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
x = 1
while True: x = x * x + 1
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import re
re.match(r'(a+)+$', 'a' * 64 + 'b')
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import re
re.sub(r'(x+x+)+y', '', 'x' * 64)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
from collections import deque
from itertools import repeat
deque(repeat(0), maxlen=0)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
from itertools import count
any(map(lambda x: False, count()))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import itertools
sum(itertools.repeat(0))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
max(iter(int, 1))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import itertools
x = 5 in itertools.count(6)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
for _ in iter(int, 1): pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import hashlib
hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2**31 - 1)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import hashlib
hashlib.scrypt(b'', salt=b'', n=2**14, r=8, p=10**5, maxmem=2**30)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import sqlite3
sqlite3.connect(':memory:').execute('with recursive c(x) as (select 1 union all select x + 1 from c) select max(x) from c').fetchall()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import functools
sorted(range(10**5), key=functools.cmp_to_key(lambda a, b: sum(range(10**4))))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
x = 'a' * 10**7
while True: x.replace('a', 'b')
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
x = ('a' * 5000 + 'b') * 2000
y = 'a' * 5000 + 'c'
while True: x.count(y)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import numpy as np
a = np.ones((3000, 3000))
while True: a @ a
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import numpy as np
np.linalg.svd(np.random.rand(2500, 2500))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import numpy as np
while True: np.sort(np.random.rand(10**7))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import json
x = list(range(10**6))
while True: json.dumps(x)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import zlib
x = bytes(10**7)
while True: zlib.compress(x, 9)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import lzma
while True: lzma.compress(bytes(range(256)) * 10**5, preset=9)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import decimal
decimal.getcontext().prec = 10**8
decimal.Decimal(2).sqrt()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
from fractions import Fraction
x = Fraction(1, 3)
while True: x = x * x + 1
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import sys
sys.set_int_max_str_digits(0)
int('9' * 10**7)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import sys
sys.set_int_max_str_digits(0)
str(1 << 10**8)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import math
math.factorial(10**7)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import math
math.comb(10**8, 5 * 10**7)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
pow(3, 1 << 20000, (1 << 40000) + 1) and pow(3, 1 << 200000, (1 << 400000) + 1)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
x = set()
class H:
    def __hash__(self): return 1
    def __eq__(self, o): return False
while True: x.add(H())
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import unicodedata
while True: unicodedata.normalize('NFKD', '\u0340' * 10**6)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import difflib
while True: list(difflib.ndiff(['ab' * 2000 + str(i) for i in range(100)], ['ba' * 2000 + str(i) for i in range(100)]))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import time
time.sleep(10**6)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
input()
import sys
sys.stdin.read()
import time
while True: time.sleep(0)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import os
while True: os.urandom(1 << 26)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import os
f = os.open('/data/x', os.O_CREAT | os.O_RDWR)
os.write(f, bytes(10**6))
while True: os.pread(f, 10**6, 0)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import os
for n in range(5000): os.mkdir('/data/%d' % n)
while True: os.listdir('/data')
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import _host
while True: _host.call(b'\x10' + bytes(40 << 20))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import _host, struct
h = b'{"data":{"application/json":[' + b'1,' * (8 << 20) + b'1]}}'
f = b'\x10' + struct.pack('<I', len(h)) + h
while True: _host.call(f)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import _host
f = b'\x02[' + b'1,' * 450000 + b'1]'
while True: _host.call(f)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import gc
x = [[] for _ in range(10**6)]
while True: gc.collect()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import numpy as np
np.convolve(np.ones(10**6), np.ones(10**6))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import pandas as pd, numpy as np
d = pd.DataFrame({'a': range(10**6)})
while True: d.rolling(50000).apply(np.std)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import select
select.select([], [], [], 10**6)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import os
try:
    while True: os.write(1, b'x' * 10**6)
finally:
    pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
'%1000000000d' % 1
while True: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
x = memoryview(bytes(10**8))
while True: bytes(x) == x
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout,out_of_memory,error timeout=200ms
import tracemalloc, random
while True: random.shuffle(list(range(10**6)))
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
