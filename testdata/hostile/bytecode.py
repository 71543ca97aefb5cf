# Attempts: to break the interpreter by code that no compiler makes: random bytecode, stack depths that lie, bytes that
#   marshal should refuse, references counted wrongly, objects made by hand.
# Stopped by: ModuleNotFoundError (there is no ctypes), errors of the interpreter's, a trap of this run, its limits.
# run: status=ok,error,trapped,timeout,out_of_memory,out_of_fuel timeout=1s repeat=25 over=2s
import dis, marshal, random, sys, types

try:
    import ctypes
    ctypes.memset(0, 0, 1 << 20)
    print("BROKEN: ctypes is there")
except ImportError:
    pass
rng = random.Random(seed)

def victim(a=1, *b, c=3, **d):
    x = [a, b, c, d]
    for i in range(3):
        try:
            x.append(i / (a - i))
        except ZeroDivisionError as e:
            x.append(e)
    return lambda: x, (yield x)

print("seed", seed, flush=True)
code = victim.__code__
for _ in range(2000):
    kind = rng.randrange(6)
    try:
        if kind == 0:
            new = code.replace(co_code=rng.randbytes(2 * rng.randrange(1, 60)))
        elif kind == 1:
            b = bytearray(code.co_code)
            for _ in range(rng.randrange(1, 5)):
                b[rng.randrange(len(b))] = rng.randrange(256)
            new = code.replace(co_code=bytes(b))
        elif kind == 2:
            new = code.replace(co_stacksize=rng.choice((0, 1, 2**20)), co_nlocals=len(code.co_varnames))
        elif kind == 3:
            new = code.replace(co_exceptiontable=rng.randbytes(rng.randrange(20)), co_linetable=rng.randbytes(20))
        elif kind == 4:
            b = bytearray(marshal.dumps(code))
            for _ in range(rng.randrange(1, 4)):
                b[rng.randrange(len(b))] = rng.randrange(256)
            new = marshal.loads(bytes(b))
        else:
            new = code.replace(co_consts=tuple(rng.choice((None, 1, "x", ())) for _ in code.co_consts), co_names=("x",) * len(code.co_names), co_flags=rng.randrange(1 << 10))
        f = types.FunctionType(new, {"__builtins__": __builtins__}, closure=None if not getattr(new, "co_freevars", ()) else tuple(types.CellType() for _ in new.co_freevars))
        r = f()
        list(r) if isinstance(r, types.GeneratorType) else None
        dis.dis(new, file=type("N", (), {"write": lambda *a: None})())
    except Exception:
        pass
print("lives")
