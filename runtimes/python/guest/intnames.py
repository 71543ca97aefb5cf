"""int where a program compares types with it, or makes a dtype of it: 64 bits, as numpy's integers are for programs (see ints).

numpy's C code takes int for 32 bits here, and its dtype refuses to be told otherwise. So what a program says is changed
before it is compiled, where numpy would be asked: `x.dtype == int`, `in (int, float)`, `np.dtype(int)`. The object that
stands there then is equal to int as well, so nothing else is answered differently.
"""

import ast
import builtins
import re

_NAME = "__int64__"
_BARE = re.compile(r"\bint\b(?!\s*\()")


class _Int64:
    """Equal to int, and a 64-bit integer to numpy."""

    __slots__ = ("dtype",)

    def __init__(self, dtype):
        self.dtype = dtype

    def __eq__(self, other):
        if isinstance(other, type):
            return other is int or other is self.dtype.type
        return other == self.dtype if type(other) is type(self.dtype) else NotImplemented

    def __hash__(self):
        return hash(int)

    def __repr__(self):
        return repr(int)


def install():
    import numpy

    setattr(builtins, _NAME, _Int64(numpy.dtype("i8")))


def concern(source):
    """Whether a source may compare dtypes with int."""
    return "dtype" in source and _BARE.search(source) is not None


def wide(tree):
    """Changes a module's or expression's tree in place."""
    if not any(_binds(node) for node in ast.walk(tree)):
        _Wide().visit(tree)


def _binds(node):
    """Whether a program has an int of its own."""
    return (
        isinstance(node, ast.Name) and node.id == "int" and not isinstance(node.ctx, ast.Load)
        or isinstance(node, ast.arg) and node.arg == "int"
        or isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == "int"
        or isinstance(node, ast.alias) and (node.asname or node.name) == "int"
    )  # fmt: skip


class _Wide(ast.NodeTransformer):
    def visit_Compare(self, node):
        self.generic_visit(node)
        if isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
            node.left = _swap(node.left)
            node.comparators = [_swap(c) for c in node.comparators]
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "dtype" and node.args:
            node.args[0] = _swap(node.args[0])
        return node


def _swap(node):
    if isinstance(node, ast.Name) and node.id == "int":
        return ast.copy_location(ast.Name(_NAME, ast.Load()), node)
    if isinstance(node, (ast.Tuple, ast.List)):
        node.elts = [_swap(e) for e in node.elts]
    return node
