"""The turn runner: one piece of source, from the frame that the host gives to what the host is told.

The driver calls turn() by its address, with no arguments; it gives None, always. Frame (little
endian): flags u8, length of the file name u16, length of the source u32, name, source, and, with
flag 4, JSON with what is rarely there: args, env, inputs, paths, tools, deny, seed. With flag 8 the
memory is a copy of another session's. With flag 16 the turn of that name goes on, which was suspended:
it had awaited what comes later, and all that it has left is on the heap.
"""

import ast
import atexit
import builtins
import functools
import inspect
import linecache
import logging
import os
import re
import struct
import sys
import types

from json import dumps, loads
from sys import getrefcount

from . import aio, calls, display, errors, figures, host, intnames, magics, preload, review, state, streams, threads, tools, zone

_HEAD = struct.Struct("<BHI")
_FIRST, _SESSION, _REST, _RENEW, _RESUME = 1, 2, 4, 8, 16
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x80  # of a code object that has awaits of its own
_FUTURES = 0x1FE0000  # a code object's __future__ flags, handed on to the rest of its source

_Code = types.CodeType
_UNUSED = 3  # references to a code object that only _lingers sees

names = {}  # the namespace of __main__
_files = set()  # names of this session's turns
_handlers = 0  # logging handlers of the image itself


def turn():
    frame = host.raw(host.TURN)
    flags, name_end, source_end = _HEAD.unpack_from(frame, 1)
    name_end += 8
    source_end += name_end
    name = str(frame[8:name_end], "utf-8")
    rest = loads(frame[source_end:]) if flags & _REST else None
    try:
        source = str(frame[name_end:source_end], "utf-8")
        frame = None
        if not flags & (_FIRST | _RESUME):
            streams.renew()
            calls.renew()
            names.pop("__warningregistry__", None)
        if flags & _RENEW:
            state.renew()
        outcome = None
        try:
            if rest is not None:
                outcome = _review(source, name, rest)
            if outcome is None:
                if flags & _RESUME:
                    value, rest = aio.resume()
                    value = _execute(rest, value)
                else:
                    _prepare(name, rest)
                    value = _run(source, name)
                if value is not None:
                    display.send(display.bundle(value), True)
                value = None
        except calls.Suspended:
            outcome = {"suspended": True}
        except BaseException as e:
            outcome = _failed(e, name)
        if (threads.later.waiting or threads.later.parked) and not (outcome is not None and ("suspended" in outcome or outcome.get("interrupt"))):
            outcome = _guarded(lambda: threads.later.finish(flags & _SESSION), outcome, name)
        if figures.any_open() and (outcome is None or "suspended" not in outcome):
            outcome = _guarded(figures.show_open, outcome, name)
        if not flags & _SESSION and (atexit._ncallbacks() or len(logging._handlerList) > _handlers):
            outcome = _guarded(_at_exit, outcome, name)
        if sys.stdout is streams.stdout and sys.stderr is streams.stderr:
            streams.stdout.flush()
            streams.stderr.flush()
        else:
            streams.flush()
    except BaseException as e:  # interrupted outside the program's own code
        outcome = _failed(e, name)
        streams.flush()
    if outcome is not None and (outcome.get("memory") or (outcome.get("interrupt") and len(threads.later.waiting) > _MANY)):
        threads.later.drop()  # they are what the memory is full of, and none of them could run
    if flags & _SESSION:
        try:
            card = state.card(names)
            if card is not None:
                host.raw(host.STATE + dumps(card).encode())
        except BaseException:  # what can be told is told next time
            pass
    if outcome is not None:
        host.raw(host.OUTCOME + dumps(outcome).encode())


_MANY = 1000  # threads that have yet to run


def _review(source, name, rest):
    """What the host is told of a source that uses denied names, or None."""
    denied = rest.get("deny")
    if not denied:
        return None
    for text in (source, None):
        try:
            tree = ast.parse(text if text is not None else magics.rewrite(source, name, _FLAGS) or "")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # running it says what is wrong
        refused = review.refusal(tree, name, denied)
        if refused is not None:
            _print(refused["error"]["traceback"])
        return refused
    return None


def _prepare(name, rest):
    _files.add(name)
    names["__file__"] = name if name[:1] == "/" else "/data/" + name
    sys.argv = [name]
    if rest is None:
        return
    sys.argv += rest.get("args") or ()
    for key, value in (rest.get("env") or {}).items():
        os.environ[key] = value
        if key == "TZ":
            zone.tzset()
        elif key == "PYTHONPATH":
            sys.path[1:1] = [path for path in value.split(":") if path and path not in sys.path]
    for path in rest.get("paths") or ():
        sys.path.insert(1, path)
        preload.forget_wheels(path)
    names.update(rest.get("inputs") or {})
    if rest.get("tools"):
        tools.install(sys.modules)
    seed = rest.get("seed")
    if seed is not None:
        import random

        random.seed(seed)
        sys.modules["numpy.random"].seed(seed & 0xFFFFFFFF)


def _guarded(work, outcome, name):
    """Runs the program's left-overs; the first failure is the one that counts."""
    try:
        work()
    except BaseException as e:
        return outcome or _failed(e, name)
    return outcome


def _at_exit():
    """What a script's end brings about; a session's turn is no such end."""
    atexit._run_exitfuncs()
    logging.shutdown()


# Running.

_ASSIGNS = re.compile(r"[\w.]+ *(?:[-+*/%&|^@]|//|\*\*|<<|>>)?= *[^=\s]")
_SIMPLE = frozenset("'\"()[]{}#;\\")
_STATEMENT = re.compile(
    r"(?:import|from|def|class|for|while|if|with|try|del|return|raise|assert|pass|global|nonlocal"
    r"|break|continue|async)\b|@"
)
_CONTINUES = re.compile(r"[ \t)\]}#\n]|(?:elif|else|except|finally)\b")


def _run(source, name):
    """Runs source in __main__; the value of its last expression, or None."""
    if source[:1] == "\ufeff":
        source = source[1:]
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    magics.offer(source)
    try:
        parts = _compile(source, name)
    except SyntaxError:
        plain = magics.rewrite(source, name, _FLAGS)
        if plain is None:
            raise
    else:
        plain = None
    if plain is not None:  # outside of the handler, so that its errors do not show the first one
        parts = _compile(plain, name)
        if plain.around is not None:
            with plain.around(names):
                return _execute(iter(parts), suspendable=False)
    value = None
    codes = iter(parts)
    for code in codes:
        value = eval(code, names)
        if code.co_flags & _COROUTINE:
            value = aio.run_turn(value, codes)
    code = None
    if not _lingers(parts):  # or each turn of a long session would take some memory, and with it other pages than the last one
        _files.discard(name)
        linecache.cache.pop(name, None)
    return value


def _lingers(parts):
    """Whether a traceback may yet show code objects that ran to their ends: they have functions of their own, or something
    refers to them, such as the frame of an exception that was caught."""
    for code in parts:
        if getrefcount(code) > _UNUSED:
            return True
        for constant in code.co_consts:
            if type(constant) is _Code:
                return True
    return False


def _getfile(original, main):
    """Finds the program and its classes as functions are found, by their turn: they have no file that one could read."""

    @functools.wraps(original)
    def getfile(object):
        if object is main:
            name = names["__file__"]
            return name if name in _files else name.removeprefix("/data/")
        if isinstance(object, type) and object.__module__ == "__main__":
            first = vars(object).get("__firstlineno__", 0)
            begins = re.compile(rf"\s*class\s+{re.escape(object.__name__)}\b")
            for name in reversed(linecache.cache):
                if name in _files:
                    lines = linecache.getlines(name)[max(first - 1, 0) :]
                    if lines and (begins.match(lines[0]) or lines[0].lstrip()[:1] == "@" and any(map(begins.match, lines))):
                        return name
        return original(object)

    return getfile


def _execute(codes, value=None, suspendable=True):
    """The end of _run, which has it in line since it is what every turn does: runs what an iterator has left, and gives the
    last value."""
    for code in codes:
        value = eval(code, names)
        if code.co_flags & _COROUTINE:
            value = aio.run_turn(value, codes if suspendable else None)
    return value


def _compile(source, name):
    """Code objects, of which the last one gives the value of the expression at the end, if there is one and
    its value is wanted (no semicolon follows), and else None.

    Where the last line that is not indented starts a statement or an expression, what stands before it
    and what follows are compiled apart, which saves the syntax tree: its objects cost more than all the
    rest. If both are whole, so is the division, since no string or bracket spans it.
    """
    if intnames.concern(source):
        return _by_tree(source, name)
    body = source.rstrip()
    if not body or body[-1] == ";":
        return (compile(source, name, "exec", _FLAGS, True),)
    start = body.rfind("\n") + 1
    line = body[start:]
    # The commonest end is an assignment that is one whatever stands before it.
    to = line.find("=")
    if (
        to > 0
        and line[:to].rstrip().isidentifier()
        and line[to + 1 : to + 2] not in ("", "=")
        and _SIMPLE.isdisjoint(line)
    ):
        return (compile(source, name, "exec", _FLAGS, True),)
    while start and _CONTINUES.match(body, start):
        start = body.rfind("\n", 0, start - 1) + 1
    parts = None
    try:
        before = compile(body[:start], name, "exec", _FLAGS, True) if start else None
        flags = _FLAGS
        if before is not None:
            flags |= before.co_flags & _FUTURES
        tail = "\n" * body.count("\n", 0, start) + body[start:]
        if _STATEMENT.match(body, start) or _ASSIGNS.match(body, start):
            if ";" not in tail:
                parts = before, compile(tail, name, "exec", flags, True)
        else:
            parts = before, compile(tail, name, "eval", flags, True)
    except SyntaxError:
        pass  # told below, of the whole
    if parts is None:
        return _by_tree(source, name)
    if before is None:
        return parts[1:]
    return parts if _alike(*parts) else _by_tree(source, name)


def _alike(before, last):
    """Whether both awaits something, or neither."""
    return not (before.co_flags ^ last.co_flags) & _COROUTINE


def _by_tree(source, name):
    tree = compile(source, name, "exec", _FLAGS | ast.PyCF_ONLY_AST, True)
    intnames.wide(tree)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and source.rstrip()[-1:] != ";":
        last = ast.Expression(tree.body.pop().value)
    code = compile(tree, name, "exec", _FLAGS, True)
    if last is None:
        return (code,)
    flags = _FLAGS | code.co_flags & _FUTURES
    value = compile(last, name, "eval", flags, True)
    if not _alike(code, value):
        # All of it runs on the loop, as in a notebook: what comes before the first await may begin tasks. An await that is
        # never come to is what makes a coroutine of code.
        never = ast.copy_location(ast.Await(ast.Constant(None)), last.body)
        if code.co_flags & _COROUTINE:
            last.body = ast.IfExp(ast.Constant(True), last.body, never)
            value = compile(ast.fix_missing_locations(last), name, "eval", flags, True)
        else:
            tree.body.append(ast.If(ast.Constant(False), [ast.Expr(never)], []))
            code = compile(ast.fix_missing_locations(tree), name, "exec", _FLAGS, True)
    return code, value


# Failing.


def _failed(error, name):
    """Prints what ended the program, as CPython does, and gives what the host is told."""
    if isinstance(error, SystemExit):
        return {"exit_code": _exit_code(error.code)}
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename not in _files:
        tb = tb.tb_next
    if tb is not None:
        error.__traceback__ = tb  # without what called the program
    if sys.excepthook is not _excepthook and not isinstance(error, (KeyboardInterrupt, MemoryError)):
        report = _hooked(error, name)
    else:
        report = errors.report(error, name, _files.__contains__)
        _print(report["traceback"])
    error.__traceback__ = None
    return {
        "exit_code": 130 if isinstance(error, KeyboardInterrupt) else 1,
        "error": report,
        "interrupt": isinstance(error, KeyboardInterrupt),
        "memory": errors.wants_memory(error),
    }


def _hooked(error, name):
    """Lets the program's own sys.excepthook print."""
    hook = sys.excepthook
    report = errors.report(error, name, _files.__contains__)
    try:
        hook(type(error), error, error.__traceback__)
    except BaseException:
        _print(report["traceback"])
    return report


def _exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    _print(f"{code}\n")
    return 1


def _print(text):
    """Prints on stderr, whatever the program made of it."""
    streams.flush()
    stderr = sys.stderr if sys.stderr is not None else streams.stderr
    try:
        stderr.write(text)
        stderr.flush()
    except Exception:
        streams.stderr.write(text)
        streams.stderr.flush()


def _excepthook(kind, error, tb):
    """sys.excepthook, for programs that call it themselves."""
    error.__traceback__ = tb
    _print(errors.report(error, "", _files.__contains__)["traceback"])


class _Exit:
    """exit and quit: they end the turn, not the session."""

    def __init__(self, name):
        self._name = name

    def __call__(self, code=None):
        raise SystemExit(code)

    def __repr__(self):
        return f"Use {self._name}() to exit"


def install(main):
    """Makes main's namespace the program's, and readies what turn() relies on."""
    global names, _handlers
    names = main.__dict__
    for key in [k for k in names if not (k.startswith("__") and k.endswith("__"))]:
        del names[key]
    names.pop("__annotations__", None)
    names.update(
        __name__="__main__",
        __doc__=None,
        __package__=None,
        __spec__=None,
        __loader__=None,
        __builtins__=builtins,
    )
    errors.install()
    magics.install()
    inspect.getfile = _getfile(inspect.getfile, main)
    sys.excepthook = sys.__excepthook__ = _excepthook
    builtins.exit, builtins.quit = _Exit("exit"), _Exit("quit")
    atexit._clear()
    _handlers = len(logging._handlerList)
