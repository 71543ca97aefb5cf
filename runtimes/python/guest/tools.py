"""The module tools: functions of the host's, by name, for runs that are offered some.

It asks the host which there are when it is first looked at. Each is a function that blocks; its attribute aio is the
same as a coroutine function, so that several can go on at once. Refusals are exceptions: ToolError, and where the
name that the host gives is one of Python's, of that class too.
"""

import builtins
import dataclasses
import inspect
import json
import sys
import types
import typing

from . import calls, host

__file__ = (lambda: None).__code__.co_filename


class ToolError(Exception):
    """A call of a tool failed. The message is the tool's own, if it gave one for programs to see."""


ToolError.__module__ = "tools"


def _plain(value):
    """What JSON has for a value that it does not know."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    for method in ("isoformat", "tolist", "to_dict", "item", "__fspath__"):
        convert = getattr(value, method, None)
        if callable(convert) and not isinstance(value, type):
            return convert()
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"a {type(value).__name__} cannot be an argument of a tool: it has no form in JSON")


_encode = json.encoder.c_make_encoder(
    None, _plain, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)
_decode = json.JSONDecoder().scan_once
_raw = host.raw
_join = "".join


def _failure(name, message):
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception) and kind is not Exception:
        # KeyError shows what it is given as a key; ours is a sentence.
        kind = type(name, (ToolError, kind), {"__module__": "tools", "__str__": Exception.__str__})
        return kind(message)
    error = ToolError(message)
    if name != "ToolError":
        error.add_note(f"({name})")
    return error


def _make(declaration):
    """The function of a tool."""
    name, parameters = declaration["name"], declaration.get("parameters") or []
    names = [p["name"] for p in parameters]
    leave_out = {p["name"] for p in parameters if p.get("optional") and not p.get("nullable")}
    head = '{"name":' + json.dumps(name) + ',"arguments":'
    head_async = '{"async":true,"name":' + json.dumps(name) + ',"arguments":'
    short = name.rpartition(".")[2]

    def bound(args, kwargs):
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} arguments but {len(args)} were given")
        for key, value in zip(names, args):
            if key in kwargs:
                raise TypeError(f"{name}() got multiple values for argument {key!r}")
            kwargs[key] = value
        return kwargs

    def text(head, args, kwargs):
        if args:
            kwargs = bound(args, kwargs)
        if leave_out and None in kwargs.values():
            kwargs = {k: v for k, v in kwargs.items() if v is not None or k not in leave_out}
        return (head + _join(_encode(kwargs, 0)) + "}").encode()

    def tool(*args, **kwargs):
        data = text(head, args, kwargs)
        reply = _raw(b"\x11" + len(data).to_bytes(4, "little") + data)
        if reply[0] == 0:
            return _decode(str(reply, "utf-8"), 1)[0]
        refused = host.refused(reply)
        raise _failure(refused.name, str(refused))

    async def aio(*args, **kwargs):
        data = text(head_async, args, kwargs)
        try:
            reply = await calls.ask(host.TOOL, len(data).to_bytes(4, "little") + data)
        except host.Refused as refused:
            raise _failure(refused.name, str(refused)) from None
        return _decode(str(reply, "utf-8"), 0)[0]

    doc = [(declaration.get("description") or "").strip()]
    about = [f"{p['name']}: {p['description']}" for p in parameters if p.get("description")]
    if about:
        doc += ["", *about]
    for function in (tool, aio):
        function.__name__ = short
        function.__qualname__ = short if function is tool else f"{short}.aio"
        function.__module__ = "tools"
        function.__doc__ = "\n".join(doc)
        function.__signature__ = _signature(parameters, declaration.get("returns", "Any"))
    tool.aio = aio
    return tool


_types = {"Any": typing.Any, "Literal": typing.Literal}


def _annotation(text):
    try:
        return eval(text, _types)
    except Exception:
        return text


def _signature(parameters, returns):
    kind = inspect.Parameter
    listed = [
        kind(
            p["name"],
            kind.POSITIONAL_OR_KEYWORD,
            default=None if p.get("optional") else kind.empty,
            annotation=_annotation(p["type"]),
        )
        for p in parameters
        if p["name"].isidentifier() and p["name"] not in __import__("keyword").kwlist
    ]
    return inspect.Signature(listed, return_annotation=_annotation(returns))


class _Space(types.ModuleType):
    """Tools by name, each made when it is first looked at."""

    def __getattr__(self, name):
        declared = self.__dict__.get("_declared")
        if declared is None:
            declared = self.__dict__["_declared"] = _ask()
            self.__doc__ = _overview(declared)
        found = declared.get(name)
        if found is None and name == "search" and self.__name__ == "tools":
            return _search
        if found is None:
            if name[:2] == "__":
                raise AttributeError(name)
            raise AttributeError(f"there is no tool {name!r}: there are {', '.join(sorted(declared)) or 'none'}")
        if "name" in found:
            value = _make(found)
        else:
            value = _Space(f"{self.__name__}.{name}", _overview(found["tools"]))
            value.__dict__["_declared"] = found["tools"]
        self.__dict__[name] = value
        return value

    def __dir__(self):
        getattr(self, "__all__", None)
        return sorted(self.__dict__.get("_declared", ()))

    def __repr__(self):
        return f"<{self.__name__}: {', '.join(self.__dir__()) or 'none'}>"


def _search(text):
    """The tools whose name or description has all the words of text, each with the first line of its description."""
    words = text.lower().split()
    found = []
    for name, d in _all(sys.modules["tools"].__dict__["_declared"]):
        description = (d.get("description") or "").strip()
        if all(word in f"{name} {description}".lower() for word in words):
            found.append(f"{name}: {description.partition(chr(10))[0]}")
    return found


_search.__name__ = _search.__qualname__ = "search"
_search.__module__ = "tools"


def _all(declared):
    for d in declared.values():
        if "name" in d:
            yield d["name"], d
        else:
            yield from _all(d["tools"])


def _ask():
    """The declarations of all tools: by name, those of a namespace below it."""
    declared = {}
    for d in json.loads(host.call(host.TOOLS)):
        space, dot, member = d["name"].partition(".")
        if dot:
            declared.setdefault(space, {"tools": {}})["tools"][member] = d
        else:
            declared[space] = d
    return declared


def _overview(declared):
    lines = [
        "Functions of the host's. Ask help() about one of them; its attribute aio is the same to await;"
        " tools.search(words) lists those that fit.",
        "",
    ]
    for name, d in sorted(declared.items()):
        if "name" in d:
            first = (d.get("description") or "").strip().partition("\n")[0]
            lines.append(f"{name}: {first}" if first else name)
        else:
            lines.append(f"{name}: {', '.join(sorted(d['tools']))}")
    return "\n".join(lines)


def install(modules):
    """Offers the module to the program."""
    if "tools" in modules and isinstance(modules["tools"], _Space):
        return
    module = modules["tools"] = builtins.tools = _Space("tools")
    module.ToolError = ToolError
