# Attempts: to swallow the interrupt that comes at its timeout, in every place in which the language runs code of the
#   program's: handlers, hooks, finalizers, loops around loops; a form a turn.
# Stopped by: the end of the grace, for which the program is not asked. The turn is rolled back, the session goes on.
# run: status=ok timeout=60s
kept = 1
# turn: status=timeout timeout=150ms
while True:
    try:
        while True: pass
    except BaseException: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
def f():
    try:
        while True: pass
    finally:
        f()
f()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import signal
signal.signal(signal.SIGINT, lambda *a: None)
while True: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import signal
def again(*a):
    while True: pass
signal.signal(signal.SIGINT, again)
while True: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import signal
signal.default_int_handler = lambda *a: None
signal.signal(signal.SIGINT, signal.SIG_DFL)
while True: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=ok,error,timeout timeout=150ms
import atexit
@atexit.register
def f():
    while True:
        try:
            while True: pass
        except BaseException: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
class D:
    def __del__(self):
        while True:
            try:
                while True: pass
            except BaseException: pass
D()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
def trace(*a):
    while True:
        try:
            while True: pass
        except BaseException: pass
    return trace
sys.settrace(trace)
def f(): pass
f()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
sys.excepthook = lambda *a: f()
def f():
    while True:
        try:
            while True: pass
        except BaseException: pass
raise ValueError
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=ok,error,timeout timeout=150ms
import sys
def hook(*a):
    while True:
        try:
            while True: pass
        except BaseException: pass
sys.displayhook = hook
1
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
class R:
    def __repr__(self):
        while True:
            try:
                while True: pass
            except BaseException: pass
R()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
class R(Exception):
    def __str__(self):
        while True:
            try:
                while True: pass
            except BaseException: pass
raise R
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
class W:
    def write(self, s):
        while True:
            try:
                while True: pass
            except BaseException: pass
    def flush(self): self.write('')
sys.stdout = W()
print(1)
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
class W:
    def write(self, s): pass
    def flush(self):
        while True:
            try:
                while True: pass
            except BaseException: pass
sys.stdout = sys.stderr = W()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import gc
gc.callbacks.append(lambda *a: f())
def f():
    while True:
        try:
            while True: pass
        except BaseException: pass
gc.collect()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import threading
threading.excepthook = lambda *a: f()
def f():
    while True:
        try:
            while True: pass
        except BaseException: pass
threading.Thread(target=lambda: 1 / 0).start()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=ok,error,timeout timeout=150ms
import threading
def f():
    while True:
        try:
            while True: pass
        except BaseException: pass
threading.Thread(target=f, daemon=True).start()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import asyncio
async def f():
    while True:
        try:
            await asyncio.sleep(100)
        except BaseException: pass
asyncio.run(f())
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import time
while True:
    try:
        time.sleep(1000)
    except BaseException: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
def g():
    while True:
        try:
            yield
        except BaseException: pass
x = g(); next(x)
while True:
    try:
        x.throw(KeyboardInterrupt)
        while True: pass
    except BaseException: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import contextlib
while True:
    with contextlib.suppress(BaseException):
        while True: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import weakref
class A: pass
a = A()
def f(*x):
    while True:
        try:
            while True: pass
        except BaseException: pass
weakref.finalize(a, f)
del a
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
def hook(*a):
    while True:
        try:
            while True: pass
        except BaseException: pass
sys.addaudithook(hook)
open('/data/x', 'w')
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import builtins
builtins.KeyboardInterrupt = ValueError
while True:
    try:
        while True: pass
    except: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
class M(type):
    def __subclasscheck__(c, s): return True
    def __instancecheck__(c, s): return True
class E(BaseException, metaclass=M): pass
while True:
    try:
        while True: pass
    except E: pass
    except BaseException: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import codecs
def f(e):
    while True:
        try:
            while True: pass
        except BaseException: pass
codecs.register_error('x', f)
'\ud800'.encode('utf-8', 'x')
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
class F:
    def find_spec(self, *a):
        while True:
            try:
                while True: pass
            except BaseException: pass
sys.meta_path.insert(0, F())
import nothing_like_it
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import os
os.register_at_fork
import sys
sys.unraisablehook = lambda *a: f()
def f():
    while True:
        try:
            while True: pass
        except BaseException: pass
class D:
    def __del__(self): 1 / 0
D()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
sys.monitoring.use_tool_id(1, 'x')
def f(*a):
    while True:
        try:
            while True: pass
        except BaseException: pass
sys.monitoring.register_callback(1, sys.monitoring.events.PY_START, f)
sys.monitoring.set_events(1, sys.monitoring.events.PY_START)
(lambda: 1)()
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import faulthandler, sys, os
try:
    os.kill(os.getpid(), 9)
except BaseException: pass
while True:
    try:
        exec('while True: pass')
    except BaseException: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
# turn: status=timeout timeout=150ms
import sys
try:
    sys.exit(0)
finally:
    while True:
        try:
            while True: pass
        except BaseException: pass
# turn: status=ok timeout=60s
if kept != 1: print('BROKEN:', kept)
