# Attempts: to run over the end of the stack after it told the interpreter that there is no bound; a form a turn.
# Stopped by: the interpreter's own bound, the machine's (a trap), memory or time: of that turn alone. The session goes on.
# run: status=ok timeout=60s
kept = [1]
import sys; sys.setrecursionlimit(2**31 - 1)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
def f(): return f()
f()
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
class A:
    def __getattr__(self, n): return getattr(self, n)
A().x
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
class A:
    def __eq__(self, o): return o == self
A() == A()
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
class A:
    def __repr__(self): return repr(self)
A()
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
x = []
for _ in range(300_000): x = [x]
repr(x)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import json
x = []
for _ in range(300_000): x = [x]
json.dumps(x)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import json
json.loads('[' * 1_000_000)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import pickle
x = []
for _ in range(300_000): x = [x]
pickle.dumps(x)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import copy
x = []
for _ in range(300_000): x = [x]
copy.deepcopy(x)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import ast
ast.parse('(' * 100 + '-' * 1_000_000 + '1' + ')' * 100)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
compile('not ' * 1_000_000 + '1', 'x', 'eval')
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
compile('+'.join(['1'] * 1_000_000), 'x', 'eval')
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
def g(): yield from g()
next(g())
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
a = b = None
for _ in range(300_000): a, b = [a], [b]
a == b
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
t = ()
for _ in range(300_000): t = (t,)
hash(t)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import re
re.compile('(?:' * 100_000 + ')' * 100_000)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import marshal
marshal.loads(b'(\x01\x00\x00\x00' * 1_000_000 + b'N')
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
def k(x): return sorted([1, 2], key=k)
k(1)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
class M(type):
    def __instancecheck__(c, x): return isinstance(x, c)
class A(metaclass=M): pass
isinstance(1, A)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
m = [1]
for _ in range(300_000): m = map(str, m)
list(m)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import functools
p = print
for _ in range(300_000): p = functools.partial(functools.partial(p))
p()
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
x = []
for _ in range(3_000_000): x = [x]
del x
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
async def c(): await c()
c().send(None)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import traceback
def f(): f()
try:
    f()
except RecursionError as e:
    traceback.print_exception(e, limit=10**6)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
e = None
for _ in range(300_000):
    n = ValueError(); n.__cause__ = e; e = n
raise e
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
import re
re.match('(?:(?:x*)*)*y', 'x' * 200_000)
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
# turn: status=error,trapped,out_of_memory,timeout,ok timeout=500ms
sys.setrecursionlimit(2**31 - 1)
class D:
    def __del__(self): D()
D()
# turn: status=ok
if kept != [1]: print('BROKEN:', kept)
