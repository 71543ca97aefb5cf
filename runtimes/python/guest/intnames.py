"""int where a program compares types with it, or makes a dtype of it: 64 bits, as numpy's integers are for programs (see ints).

numpy's C code takes int for 32 bits here, and its dtype refuses to be told otherwise. So what a program says is changed
before it is compiled, where numpy would be asked: in `x.dtype == t`, `x.dtype in kinds` and `np.dtype(t)`, what stands at
the place of t or kinds is looked through, and int in it becomes an object that numpy takes for 64 bits. That is equal to
int as well, so nothing else is answered differently.

So is sys.maxsize, which programs take for more than any number that they meet: it is that of a machine of 64 bits in what
the program says, and this machine's for the libraries, which ask how long a list can be.
"""

import ast
import builtins
import importlib.machinery
import re
import sys

from . import ints

_NAME, _LENGTH = "__int64__", "__length__"
_AMONG, _EQUAL, _DTYPE = range(3)  # what is done with a value: `in`, `==`, or a dtype is made of it


class _Int64:
    """Equal to int, or to a text that names it, and a 64-bit integer to numpy."""

    __slots__ = ("dtype", "said")

    def __init__(self, dtype, said):
        self.dtype, self.said = dtype, said

    def __eq__(self, other):
        if isinstance(other, str):
            return other == self.said
        if isinstance(other, type):
            return self.said is int and (other is int or other is self.dtype.type)
        return other == self.dtype if type(other) is type(self.dtype) else NotImplemented

    def __hash__(self):
        return hash(self.said)

    def __repr__(self):
        return repr(self.said)


def install():
    import numpy

    long = numpy.dtype("i8")
    ours = {said: _Int64(long, said) for said in (int, "int", "int_")}

    def one(value):
        return ours.get(value, value) if type(value) in ints.NAMED else value

    def look_through(value, place=_AMONG):
        kind = type(value)
        if kind is type:
            return one(value)
        if place == _DTYPE:
            return ints.spelt(value, long)
        if place == _EQUAL:
            return one(value)
        # Not a text: it may be looked for in a longer one.
        if (kind is tuple or kind is list) and len(value) < 100 and any(one(v) is not v for v in value):
            return kind(map(one, value))
        return value

    setattr(builtins, _NAME, look_through)
    setattr(builtins, _LENGTH, _length)
    call = importlib._bootstrap._call_with_frames_removed
    compile_ = importlib.machinery.SourceFileLoader.source_to_code

    def source_to_code(self, data, path, *args, **kwargs):
        if str(path).startswith("/data/") and type(data) is bytes and any(w in data for w in _WORDS):
            tree = call(compile, data, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            wide(tree)
            data = tree
        return compile_(self, data, path, *args, **kwargs)

    ints.as_importlib(source_to_code)
    importlib.machinery.SourceFileLoader.source_to_code = source_to_code


_CONCERN = re.compile(r"dtype[^\n]*(?:==|!=|\bin\b)|(?:==|!=|\bin\b)[^\n]*(?:dtype|\bint\b)|dtype\(|\bmaxsize\b|\bu?intp\b|\.u?long\b")


def concern(source):
    """Whether a source may compare dtypes or make one, or ask for sys.maxsize."""
    wanted = "dtype" in source or "maxsize" in source or "intp" in source or ".long" in source or ".ulong" in source
    return wanted and _CONCERN.search(source) is not None


_WORDS = (b"dtype", b"maxsize", b"intp", b".long", b".ulong")


def wide(tree):
    """Changes a module's or expression's tree in place."""
    _Wide(any(map(_asks, ast.walk(tree)))).visit(tree)


# numpy's integers that are as wide as the machine's words.
_POINTERS = dict(intp="int64", uintp="uint64", long="int64", ulong="uint64")
_MAXSIZE = 2**63 - 1
# What is told a length, which C code has to hold: there what sys.maxsize gave is the machine's again. By name, the places
# of lengths among the arguments, and the keyword.
_LENGTHS = {
    "batched": ({1}, "n"),
    "bytearray": ({0}, ""),
    "bytes": ({0}, ""),
    "deque": ({1}, "maxlen"),
    "islice": ({1, 2, 3}, ""),
    "lru_cache": ({0}, "maxsize"),
    "read": ({0}, "size"),
    "readline": ({0}, "size"),
    "readlines": ({0}, "hint"),
    "repeat": ({1}, "times"),
    "replace": ({2}, "count"),
    "rsplit": ({1}, "maxsplit"),
    "split": ({1, 2}, "maxsplit"),  # of text, and re's
    "sub": ({2, 3}, "count"),  # of a pattern, and re's
    "subn": ({2, 3}, "count"),
}


def _length(value, most=sys.maxsize):
    """A number that goes where a length is meant: of those that sys.maxsize gave, the most that can be one."""
    return most if type(value) is int and value > _MAXSIZE >> 1 else value


class _Wide(ast.NodeTransformer):
    def __init__(self, lengths):
        self.lengths = lengths  # whether a variable may hold what sys.maxsize gave

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr in _POINTERS and getattr(node.value, "id", "") in ("np", "numpy"):
            node.attr = _POINTERS[node.attr]
        return ast.copy_location(ast.Constant(_MAXSIZE), node) if _is_maxsize(node) else node

    def visit_ImportFrom(self, node):
        names = [a.asname or a.name for a in node.names if a.name == "maxsize"] if node.module == "sys" else []
        sets = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(_MAXSIZE)) for name in names]
        return [node, *(ast.fix_missing_locations(ast.copy_location(s, node)) for s in sets)]

    def visit_Compare(self, node):
        self.generic_visit(node)
        if isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
            sides = [node.left, *node.comparators]
            place = _EQUAL if isinstance(node.ops[0], (ast.Eq, ast.NotEq)) else _AMONG
            if any(map(_is_dtype, sides)):
                known = _has_dtype if any(map(_has_dtype, sides)) else _is_dtype
                sides = [side if known(side) else _through(side, place) for side in sides]
            else:
                sides = [_through(side, place) if _names_int(side) else side for side in sides]
            node.left, *node.comparators = sides
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and any(map(_is_sequence, (node.left, node.right))):
            node.left, node.right = (_as_length(s) if _is_most(s) else s for s in (node.left, node.right))
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if self.lengths and name in _LENGTHS and not any(isinstance(a, ast.Starred) for a in node.args):
            places, keyword = _LENGTHS[name]
            node.args = [_as_length(a) if i in places else a for i, a in enumerate(node.args)]
            for k in node.keywords:
                k.value = _as_length(k.value) if k.arg == keyword else k.value
        if name == "dtype" and node.args:
            node.args[0] = _through(node.args[0], _DTYPE)
        return node


def _is_maxsize(node):
    """Whether an expression asks for sys.maxsize."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "maxsize"
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


def _asks(node):
    return _is_maxsize(node) or isinstance(node, ast.ImportFrom) and node.module == "sys"


def _is_most(node):
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == _MAXSIZE


def _is_sequence(node):
    """Whether an expression is a list, a tuple or a text that is spelt out."""
    return isinstance(node, (ast.List, ast.Tuple, ast.JoinedStr)) or isinstance(node, ast.Constant) and type(node.value) in (str, bytes)


def _is_dtype(node):
    """Whether an expression is a dtype by its name, which may be a variable's."""
    return _has_dtype(node) or isinstance(node, ast.Name) and node.id in _NAMES


def _has_dtype(node):
    """Whether an expression is something's dtype."""
    if isinstance(node, ast.Subscript):
        return _is_dtype(node.value)
    return isinstance(node, ast.Attribute) and node.attr in _NAMES


_NAMES = ("dtype", "dtypes")


def _names_int(node):
    """Whether int itself stands there, by itself or among others."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(map(_names_int, node.elts))
    return isinstance(node, ast.Name) and node.id == "int"


def _through(node, place):
    return _call(_NAME, node, ast.Constant(place))


def _as_length(node):
    return node if isinstance(node, ast.Constant) and not _is_most(node) else _call(_LENGTH, node)


def _call(name, node, *rest):
    call = ast.Call(ast.Name(name, ast.Load()), [node, *rest], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))
