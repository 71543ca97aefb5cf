# Attempts: to run over the end of the stack by recursion in the interpreter's C code and in its own, with the
#   interpreter's bound as it is.
# Stopped by: RecursionError (or MemoryError, SyntaxError), else a trap of this run alone.
# run: status=ok,trapped timeout=60s
import ast, copy, functools, io, json, marshal, operator, pickle, re, sys, types, typing

def deep(n, make=lambda x: [x], x=()):
    for _ in range(n):
        x = make(x)
    return x

N = 40_000
class Attr:
    def __getattr__(self, name): return getattr(self, name + "x")
class Eq:
    def __eq__(self, other): return other == self
class Call:
    pass
Call.__call__ = Call()
class Index:
    def __getitem__(self, i): return self[i]
class Repr:
    def __repr__(self): return repr(self)
class Hash:
    def __hash__(self): return hash(self)
class Iter:
    def __iter__(self): return iter(self)
class Bool:
    def __bool__(self): return not self
class Meta(type):
    def __instancecheck__(cls, x): return isinstance(x, cls)
    def __subclasscheck__(cls, x): return issubclass(x, cls)
    def __call__(cls): return cls()
class Made(metaclass=Meta):
    pass
def gen(n): yield from gen(n + 1)
def f(): return f()
def sort_key(x): return sorted([1, 2], key=sort_key)
def raise_in_except():
    try:
        1 / 0
    except ZeroDivisionError:
        raise_in_except()
def chain(n):
    e = ValueError()
    for _ in range(n):
        e2 = ValueError()
        e2.__context__ = e
        e = e2
    return e
def set_self(d):
    d["self"] = d
    return d
def nested_union():
    t = int
    for i in range(N):
        t = list[t]
    return t
async def co(): await co()
def run_co():
    try:
        co().send(None)
    except StopIteration:
        pass
def partials():
    p = print
    for _ in range(N):
        p = functools.partial(p)
        p = functools.partial(operator.call, p)
    p()
def cells():
    f = lambda: 1
    for _ in range(N):
        f = (lambda g: lambda: g())(f)
    f()
class Reduce:
    def __reduce__(self): return (Reduce, (Reduce(),))
def views():
    m = memoryview(b"x")
    for _ in range(N):
        m = memoryview(m)
    m[0]
def mros():
    t = type("T", (), {})
    for _ in range(300):
        t = type("T", (t,), {})
def sub(pattern): return re.sub("a", lambda m: sub(pattern), "a")

forms = {
    "call": f, "attribute": lambda: Attr().x, "eq": lambda: Eq() == Eq(), "call object": lambda: Call()(), "index": lambda: Index()[0], "repr": lambda: repr(Repr()),
    "hash": lambda: hash(Hash()), "iter": lambda: iter(Iter()), "bool": lambda: bool(Bool()), "instance": lambda: isinstance(1, Made), "subclass": lambda: issubclass(int, Made),
    "metaclass": lambda: Made(), "generator": lambda: next(gen(0)), "sort": lambda: sorted([1, 2], key=sort_key), "except": raise_in_except, "coroutine": run_co,
    "repr list": lambda: repr(deep(N)), "repr dict": lambda: repr(deep(N, lambda x: {1: x})), "eq list": lambda: deep(N) == deep(N), "lt tuple": lambda: deep(N, lambda x: (x,)) < deep(N, lambda x: (x,)),
    "hash tuple": lambda: hash(deep(N, lambda x: (x,))), "hash frozenset": lambda: hash(deep(N, lambda x: frozenset([x]))), "copy": lambda: copy.deepcopy(deep(N)),
    "pickle": lambda: pickle.dumps(deep(N)), "pickle in Python": lambda: pickle._dumps(deep(N)), "pickle loop": lambda: pickle.dumps(Reduce()), "marshal": lambda: marshal.dumps(deep(N)),
    "marshal load": lambda: marshal.loads(b"(\x01\x00\x00\x00" * N + b"N"), "json dumps": lambda: json.dumps(deep(N)), "json loads": lambda: json.loads("[" * N), "json objects": lambda: json.loads('{"":' * N),
    "json loop": lambda: json.dumps(set_self({})), "repr loop": lambda: repr(set_self({})), "ast": lambda: ast.parse("(" * N), "unary": lambda: compile("-" * N + "1", "x", "eval"),
    "binary": lambda: compile("+".join(["1"] * N), "x", "eval"), "attributes": lambda: compile("x" + ".x" * N, "x", "eval"), "calls": lambda: compile("f" + "()" * N, "x", "eval"),
    "not": lambda: compile("not " * N + "1", "x", "eval"), "lambda": lambda: compile("lambda: " * N + "1", "x", "eval"), "if": lambda: compile("1 if 1 else " * N + "1", "x", "eval"),
    "elif": lambda: compile("if 1: pass\n" + "elif 1: pass\n" * N, "x", "exec"), "blocks": lambda: compile("".join(" " * i + "if 1:\n" for i in range(2000)) + " " * 2000 + "1", "x", "exec"),
    "f-string": lambda: compile("f'{" * 200 + "1" + "}'" * 200, "x", "eval"), "literal": lambda: ast.literal_eval("[" * N + "]" * N), "dump": lambda: ast.dump(deep(N, lambda x: ast.Expr(x), ast.Constant(1))),
    "compile tree": lambda: compile(ast.fix_missing_locations(ast.Expression(deep(5000, lambda x: ast.UnaryOp(ast.Not(), x), ast.Constant(1)))), "x", "eval"),
    "match": lambda: compile("match 1:\n case " + "[" * N + "]" * N + ": pass", "x", "exec"), "regex": lambda: re.compile("(" * N + ")" * N), "regex sets": lambda: re.compile("(?:a|" * N + "b" + ")" * N),
    "regex match": lambda: re.match("(?:(?:a?)*?b)*?" * 50, "a" * 5000), "regex callback": lambda: sub("a"), "types": nested_union, "repr types": lambda: repr(nested_union()), "union": lambda: functools.reduce(operator.or_, [nested_union(), int]),
    "isinstance tuple": lambda: isinstance(1, deep(N, lambda x: (x,))), "exceptions": lambda: print(chain(N), file=io.StringIO()), "partial": partials, "closures": cells, "views": views, "mro": mros,
    "str percent": lambda: "%s" % deep(N, lambda x: (x,)), "format": lambda: ("{:" + "{" * 1000).format(1), "spec": lambda: format(1, "{" * N), "map": lambda: list(deep(N, lambda x: map(str, x), [1])), "chain": lambda: list(deep(N, lambda x: filter(None, x), [1])),
    "iter zip": lambda: list(deep(N, lambda x: zip(x), [1])), "sum": lambda: sum([[1]] * 3, []), "getattr str": lambda: operator.attrgetter("real." * N + "real")(1), "import": lambda: __import__("a." * 200 + "a"),
    "property": lambda: types.SimpleNamespace(**{"x": deep(N, lambda x: types.SimpleNamespace(x=x))}).__repr__(), "eq simple": lambda: deep(N, lambda x: types.SimpleNamespace(x=x)) == deep(N, lambda x: types.SimpleNamespace(x=x)),
    "super": lambda: type("S", (), {"x": property(lambda self: self.x)})().x, "descriptor": lambda: deep(N, lambda x: types.MethodType(x, 1), print)(), "classmethod": lambda: deep(N, classmethod, print).__get__(1),
    "weak": lambda: deep(2000, lambda x: type("W", (), {"__slots__": ("a", "__weakref__")})()), "forward": lambda: typing.get_type_hints(type("H", (), {"__annotations__": {"a": "[" * N}})),
}
for name, form in forms.items():
    try:
        form()
        print(name, "ok", flush=True)
    except (RecursionError, MemoryError, SyntaxError, TypeError, ValueError, AttributeError, ImportError, KeyError, IndexError, re.error, OverflowError) as e:
        print(name, type(e).__name__, flush=True)
# What is nested deeply is freed deeply too.
x = deep(300_000)
del x
print("end")
