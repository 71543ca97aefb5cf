"""Lines of notebooks that are not Python: those that a sandbox can answer are turned into calls.

A source comes here only when it does not parse. Then the line where the parser stopped is looked at, so that what only
looks like such a line (in a string, in brackets) is left alone.
"""

import ast
import builtins
import contextlib
import importlib.util
import io
import os
import re
import shlex
import sys
import time

from . import ints

_CALL = "__cloche_line__"
_LINES_MAX = 500  # that one source may have
_HARMLESS = frozenset(
    "matplotlib config autosave load_ext reload_ext unload_ext autoreload precision pylab reset_selective xmode"
    " automagic pprint colors".split()
)
_SHOWN = {"html": "text/html", "markdown": "text/markdown", "latex": "text/latex", "svg": "image/svg+xml"}


class Rewritten(str):
    """A source that parses, and the context in which it runs, or None."""

    around = None


def rewrite(source, name, flags):
    """source with its notebook's lines as calls, as far as they are understood; None where there is none."""
    around = None
    unfenced = _unfenced(source)
    fenced, source = unfenced != source, unfenced
    head = re.match(r"\s*%%(\w+)([^\n]*)\n?", source)
    if head:
        blank = "\n" * head[0].count("\n")
        body = source[head.end() :]
        kind, line = head[1], head[2].strip()
        if kind in _SHOWN or kind in ("writefile", "file", "timeit"):
            return Rewritten(f"{_CALL}({'%%' + kind!r}, {line!r}, {body!r})")
        if kind == "time":
            around = _timed
        elif kind == "capture":
            around = lambda names: contextlib.redirect_stdout(io.StringIO())
        elif kind not in ("python", "python3"):
            return None
        source = blank + body
    lines, changed = source.split("\n"), fenced or head is not None
    for _ in range(_LINES_MAX):
        try:
            compile("\n".join(lines), name, "exec", flags | ast.PyCF_ONLY_AST, True)
        except SyntaxError as e:
            at = (e.lineno or 0) - 1
            call = _line(lines[at]) if 0 <= at < len(lines) else None
            if call is None:
                break  # what is wrong now is what to tell
            lines[at], changed = call, True
        except (ValueError, RecursionError, MemoryError):
            return None
        else:
            break
    if not changed:
        return None
    out = Rewritten("\n".join(lines))
    out.around = around
    return out


_FENCES = re.compile(r"\s*```[ \t]*(?:python|py|python3)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL | re.IGNORECASE)


def _unfenced(source):
    """source without the fences of Markdown around all of it, on the same lines."""
    m = _FENCES.fullmatch(source)
    return source if m is None else "\n" * source.count("\n", 0, m.start(1)) + m[1]


_LINE = re.compile(r"(\s*)([%!])(\w[\w.]*)(.*)")


def _line(text):
    m = _LINE.fullmatch(text.rstrip("\r"))
    if m is None:
        return None
    indent, mark, word, rest = m.groups()
    if mark == "%" and word in _HARMLESS:
        return indent + "pass"
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    if _pip(word, words) is not None or word in (_PERCENT if mark == "%" else _SHELL):
        if mark == "!" and any(w in ("|", ">", ">>", "&&", ";", "<") for w in words):
            return None
        return f"{indent}{_CALL}({mark + word!r}, {rest.strip()!r})"
    return None


def _pip(word, words):
    """What pip is asked to install, or None."""
    if word in ("python", "python3") and words[:2] == ["-m", "pip"]:
        word, words = "pip", words[2:]
    if word == "uv" and words[:1] == ["pip"]:
        word, words = "pip", words[1:]
    if word in ("pip", "pip3", "conda", "mamba") and words[:1] in (["install"], ["list"], ["show"], ["freeze"]):
        return words
    return None


def run(mark, rest, body=""):
    """What a rewritten line does."""
    names = sys.modules["__main__"].__dict__
    if mark.startswith("%%"):
        return _cell(mark[2:], rest, body, names)
    word = mark[1:]
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    wanted = _pip(word, words)
    if wanted is not None:
        return _install(wanted)
    if word in ("time", "timeit"):
        return _PERCENT[word](rest, names)
    return (_SHELL if mark[0] == "!" else _PERCENT)[word](words, names)


def _cell(kind, line, body, names):
    if kind in _SHOWN:
        builtins.display({_SHOWN[kind]: body, "text/plain": body}, raw=True)
    elif kind == "timeit":
        _timeit(line, names, body)
    else:
        words = shlex.split(line)
        with open(words[-1], "a" if "-a" in words[:-1] else "w", encoding="utf-8") as f:
            f.write(body)


class Shell:
    """What get_ipython() gives, by which notebooks that were saved as programs say their lines."""

    config = {}
    kernel = None

    @property
    def user_ns(self):
        return sys.modules["__main__"].__dict__

    def run_line_magic(self, name, line="", *args, **kwargs):
        if name in _HARMLESS:
            return None
        if _line(f"%{name} {line}") is None:
            raise NotImplementedError(f"%{name} is a notebook's own, and not understood in this sandbox")
        return run("%" + name, line.strip())

    def magic(self, line):
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    def run_cell_magic(self, name, line, cell):
        made = rewrite(f"%%{name} {line}\n{cell}", "cell", 0)
        if made is None:
            raise NotImplementedError(f"%%{name} is a notebook's own, and not understood in this sandbox")
        with made.around(self.user_ns) if made.around else contextlib.nullcontext():
            exec(compile(made, "<cell>", "exec"), self.user_ns)

    def system(self, command):
        from .closed import no_processes

        word, _, rest = command.strip().partition(" ")
        if _line("!" + command.strip()) is None:
            raise no_processes(command)
        return run("!" + word, rest.strip())

    def getoutput(self, command):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.system(command)
        return said.getvalue().splitlines()


shell = Shell()


def get_ipython():
    """The shell, for programs. Libraries that ask are not in a notebook: they would take hold of it."""
    return shell if ints.of_program(sys._getframe(1)) else None


# Packages.

_IMPORTED_AS = {
    "beautifulsoup4": "bs4", "pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn", "python-dateutil": "dateutil",
    "scikit-image": "skimage", "opencv-python": "cv2", "charset-normalizer": "charset_normalizer", "typing-extensions": "typing_extensions",
    "ipython": "IPython", "pymupdf": "fitz", "python-docx": "docx", "python-pptx": "pptx", "more-itertools": "more_itertools",
}  # fmt: skip


def answer(command):
    """What stands in for a process that was to run a command: a function, or None. pip is answered as on a notebook's
    line, and there is no screen to be cleared."""
    if isinstance(command, str):
        if re.fullmatch(r"\s*(clear|cls)(\s*(\|\||;|&+)\s*(clear|cls))*\s*", command):
            return lambda: None
        try:
            words = shlex.split(command)
        except ValueError:
            return None
    else:
        words = [str(w) for w in command] if isinstance(command, (list, tuple)) else []
    if words in (["clear"], ["cls"]):
        return lambda: None
    program = os.path.basename(words[0]).removesuffix(".wasm") if words else ""
    wanted = _pip(program, words[1:])
    return None if wanted is None else lambda: _install(wanted)


def _install(words):
    """Goes well for what is there already; what is not there cannot be installed from inside."""
    from importlib import metadata

    if words[0] != "install":
        for d in sorted(metadata.distributions(), key=lambda d: d.name.lower()):
            if words[0] == "list" or words[0] == "freeze" or d.name.lower() in map(str.lower, words[1:]):
                print(f"{d.name}=={d.version}")
        return
    skip = False
    for word in words[1:]:
        if skip or word.startswith("-"):
            skip = word in ("-r", "-c", "-i", "--index-url", "--extra-index-url", "-t", "--target", "-f") and not skip
            continue
        name = re.match(r"[\w.-]+", word)
        if name is None:
            continue
        top = _IMPORTED_AS.get(name[0].lower(), name[0].lower().replace("-", "_"))
        if top == "pip" or importlib.util.find_spec(top) is not None:
            print(f"Requirement already satisfied: {name[0]}")
        else:
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)


# Time.


@contextlib.contextmanager
def _timed(names):
    begun, used = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        print(f"CPU times: total: {_seconds(time.process_time() - used)}\nWall time: {_seconds(time.perf_counter() - begun)}")


def _seconds(s):
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1, 1e3, "ms")):
        if s < limit:
            return f"{s * scale:.3g} {unit}"
    return f"{s:.3g} s"


def _time(code, names):
    try:
        compiled = compile(code, "<time>", "eval")
    except SyntaxError:
        compiled = compile(code, "<time>", "exec")
    with _timed(names):
        return eval(compiled, names)


def _timeit(line, names, body=None):
    import timeit

    number = repeat = 0
    while m := re.match(r"-([nrpo]|[qcto])\s*(\d*)\s*", line):
        if m[1] == "n" and m[2]:
            number = int(m[2])
        elif m[1] == "r" and m[2]:
            repeat = int(m[2])
        line = line[m.end() :]
    timer = timeit.Timer(line if body is None else body, "pass" if body is None else line or "pass", globals=names)
    if not number:
        number, _ = timer.autorange()
    took = [t / number for t in timer.repeat(repeat or 3, number)]
    mean = sum(took) / len(took)
    print(f"{_seconds(mean)} per loop (mean of {len(took)} runs, {number:,} loops each; best {_seconds(min(took))})")


# What a shell would do.


def _paths(words):
    return [w for w in words if not w.startswith("-")]


def _ls(words, names):
    import glob

    for path in _paths(words) or ["."]:
        for found in sorted(glob.glob(path)) or [path]:
            if os.path.isdir(found):
                for entry in sorted(os.listdir(found)):
                    if not entry.startswith(".") or any("a" in w for w in words if w.startswith("-")):
                        print(entry)
            else:
                os.stat(found)
                print(found)


def _cat(words, names):
    for path in _paths(words):
        with open(path, encoding="utf-8", errors="replace") as f:
            sys.stdout.write(f.read())


def _some(last):
    def show(words, names):
        n, rest = 10, []
        words = iter(words)
        for w in words:
            if w == "-n":
                n = int(next(words, "10"))
            elif re.fullmatch(r"-n?\d+", w):
                n = int(w.lstrip("-n"))
            else:
                rest.append(w)
        for path in rest:
            with open(path, encoding="utf-8", errors="replace") as f:
                lines = f.readlines()
            sys.stdout.writelines(lines[-n:] if last else lines[:n])

    return show


def _wc(words, names):
    for path in _paths(words):
        with open(path, "rb") as f:
            data = f.read()
        counts = [data.count(b"\n")] if "-l" in words else [data.count(b"\n"), len(data.split()), len(data)]
        print(*counts, path)


def _mkdir(words, names):
    for path in _paths(words):
        os.makedirs(path, exist_ok="-p" in words)


def _env(words, names):
    if not words:
        return dict(os.environ)
    key, _, value = " ".join(words).partition("=")
    if not _:
        return os.environ[key]
    os.environ[key] = value


def _cd(words, names):
    os.chdir(words[0] if words else "/data")
    print(os.getcwd())


def _run(words, names):
    path = words[0]
    with open(path, encoding="utf-8") as f:
        code = compile(f.read(), path, "exec")
    argv, sys.argv = sys.argv, list(words)
    try:
        exec(code, names)
    finally:
        sys.argv = argv


def _pwd(words, names):
    print(os.getcwd())


_SHELL = {
    "ls": _ls, "cat": _cat, "head": _some(False), "tail": _some(True), "wc": _wc, "mkdir": _mkdir, "pwd": _pwd,
    "echo": lambda words, names: print(*words),
}  # fmt: skip
_PERCENT = {
    "time": _time, "timeit": _timeit, "ls": _ls, "cat": _cat, "pwd": _pwd, "cd": _cd, "env": _env, "mkdir": _mkdir, "run": _run,
}  # fmt: skip


def offer(source):
    """Defines get_ipython where a program says it: for libraries it would be the sign of a notebook."""
    if "get_ipython" in source:
        builtins.get_ipython = get_ipython


def install():
    setattr(builtins, _CALL, run)
