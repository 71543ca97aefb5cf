"""What Python's standard library had until lately, and programs still use: what they say then has one meaning only."""

import ast
import asyncio
from asyncio import events


def install():
    asyncio.get_event_loop = events.get_event_loop = _get_event_loop(events.get_event_loop)
    _ast()


def _get_event_loop(original):
    def get_event_loop():
        """The running event loop, else that of this thread, which is made where there is none (as up to Python 3.13)."""
        try:
            return original()
        except RuntimeError:
            loop = events.new_event_loop()
            events.set_event_loop(loop)
            return loop

    return get_event_loop


def _ast():
    """The classes of constants, up to Python 3.13: ast.Num and the like are what Constant is for a type of value."""
    kinds = {"Num": (int, float, complex), "Str": (str,), "Bytes": (bytes,), "NameConstant": (bool, type(None)), "Ellipsis": (type(...),)}
    names = {kind: name for name, types in kinds.items() for kind in types}

    class Kind(type):
        def __instancecheck__(cls, node):
            return isinstance(node, ast.Constant) and names.get(type(node.value)) == cls.__name__

    def make(cls, value=..., **kwargs):
        return ast.Constant(kwargs.pop("n", kwargs.pop("s", value)), **kwargs)

    for name in kinds:
        setattr(ast, name, Kind(name, (ast.Constant,), {"__new__": make, "__module__": "ast"}))

    ast.Constant.n = ast.Constant.s = property(lambda self: self.value, lambda self, value: setattr(self, "value", value))

    def visit_Constant(self, node):
        return getattr(self, f"visit_{names.get(type(node.value))}", self.generic_visit)(node)

    ast.NodeVisitor.visit_Constant = visit_Constant
