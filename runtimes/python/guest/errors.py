"""Uncaught exceptions: the traceback as CPython prints it, without this package's frames, and what
the host is told about it: name, value, line, and one sentence that helps to go on.
"""

import errno
import linecache
import os
import re
import sys
import traceback

VALUE_MAX = 8 << 10  # characters of an exception's own text
TEXT_MAX = 64 << 10  # characters of a whole traceback
_KEEP = 20  # frames kept at either end of a long traceback


def hidden(code):
    return code.co_filename.startswith("<cloche/")


def report(error, name, ours):
    """What the host is told about an exception that nothing caught, traceback included.

    name is the turn's own file; ours says whether a file name is one of the session's turns.
    """
    if isinstance(error, SyntaxError) and error.filename == name and error.text is None and error.lineno:
        error.text = linecache.getline(name, error.lineno) or None  # CPython would read it from the file
    try:
        text = _middle("".join(traceback.format_exception(error)), TEXT_MAX)
    except Exception as e:  # an exception whose own methods fail
        text = f"{type(error).__name__}: <traceback cannot be shown: {type(e).__name__}>\n"
    return {
        "name": _name(type(error)),
        "value": _middle(words(error), VALUE_MAX),
        "traceback": text,
        "line": _line(error, name, ours),
        "hint": _hint(error),
    }


def _name(kind):
    return kind.__qualname__ if isinstance(kind.__qualname__, str) else kind.__name__


def words(error):
    """An exception's own text."""
    try:
        if isinstance(error, SyntaxError):
            return str(error.msg)
        return str(error)
    except Exception:
        return "<exception str() failed>"


def _middle(text, limit):
    """text, with its middle left out where it is longer."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


class _Stack(traceback.StackSummary):
    """A stack that knows which of its frames were left out."""

    repeats, left_out = {}, 0

    def format(self, **kwargs):
        if not self.repeats and not self.left_out:
            return super().format(**kwargs)
        lines = []
        for i, frame in enumerate(self):
            if self.left_out and i == _KEEP:
                lines.append(f"  [... {self.left_out:,} more frames ...]\n")
            text = self.format_frame_summary(frame, **kwargs)
            if text is not None:
                lines.append(text)
            if n := self.repeats.get(i):
                lines.append(f"  [Previous line repeated {n} more time{'s' if n > 1 else ''}]\n")
        return lines


class _Walk:
    """The frames of a traceback, as traceback's own walk gives them, but without hidden ones, with few of a
    run of equal ones, and with only the ends of what is then still long: looking at one costs up to 0.2 ms."""

    def __init__(self, tb):
        kept, repeats, run, last = [], {}, 0, None
        while tb is not None:
            code = tb.tb_frame.f_code
            if not hidden(code):
                key = (code, tb.tb_lineno)
                run = run + 1 if key == last else 1
                last = key
                if run <= 3:
                    kept.append(tb)
                else:
                    repeats[len(kept) - 1] = run - 3
            tb = tb.tb_next
        self.left_out = left_out = max(0, len(kept) - 2 * _KEEP)
        if left_out:
            repeats = {
                (i if i < _KEEP else i - left_out): n
                for i, n in repeats.items()
                if i < _KEEP or i >= _KEEP + left_out
            }
            kept[_KEEP:-_KEEP] = []
        self.kept, self.repeats = kept, repeats

    def __iter__(self):
        for tb in self.kept:
            position = traceback._get_code_position(tb.tb_frame.f_code, tb.tb_lasti)
            yield tb.tb_frame, (tb.tb_lineno, *position[1:]) if position[0] is None else position


def install():
    """Makes all tracebacks short and free of this package's frames, those too that a program formats
    itself; and takes out what CPython says about site-packages when it starts without them."""
    walk = traceback._walk_tb_with_full_positions
    extract = traceback.StackSummary._extract_from_extended_frame_gen.__func__

    def _extract(klass, frames, *, limit=None, **kwargs):
        short = isinstance(frames, _Walk)
        if not short:
            frames = (f for f in frames if not hidden(f[0].f_code))
        elif limit is not None or getattr(sys, "tracebacklimit", None) is not None:
            short, frames = False, walk(frames.kept[0] if frames.kept else None)
        stack = _Stack(extract(klass, iter(frames), limit=limit, **kwargs))
        if short:
            stack.repeats, stack.left_out = frames.repeats, frames.left_out
        return stack

    traceback.StackSummary._extract_from_extended_frame_gen = classmethod(_extract)
    traceback._walk_tb_with_full_positions = _Walk

    init = traceback.TracebackException.__init__

    def __init__(self, exc_type, *args, **kwargs):
        init(self, exc_type, *args, **kwargs)
        if isinstance(exc_type, type) and issubclass(exc_type, ModuleNotFoundError):
            self._str = self._str.partition(". Site initialization is disabled")[0]

    traceback.TracebackException.__init__ = __init__


def _line(error, name, ours):
    """The innermost line of the turn's own text, else of an earlier turn's; 0 if there is none."""
    if isinstance(error, SyntaxError) and error.filename == name and error.lineno:
        return error.lineno
    found, other = 0, 0
    tb = error.__traceback__
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if file == name:
            found = tb.tb_lineno or found
        elif ours(file):
            other = tb.tb_lineno or other
        tb = tb.tb_next
    if found or other or not isinstance(error, BaseExceptionGroup):
        return found or other
    return next((n for n in (_line(e, name, ours) for e in error.exceptions) if n), 0)


# Hints. Each is one sentence on what can be done, for a reader who cannot ask back.


def _hint(error):
    """The hint on an error, or on the one that it was raised for, which a library often puts into words of its own."""
    for _ in range(_MOST_CAUSES):
        try:
            for kind, make in _HINTS:
                if isinstance(error, kind):
                    hint = make(error)
                    if hint:
                        return hint
        except Exception:
            pass  # a hint is a courtesy
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if error is None:
            break
    return ""


_MOST_CAUSES = 8  # a chain may be a circle


_INSTEAD = {
    "torch": "scikit-learn or numpy",
    "tensorflow": "scikit-learn or numpy",
    "keras": "scikit-learn or numpy",
    "xgboost": "sklearn.ensemble.HistGradientBoostingClassifier or …Regressor",
    "lightgbm": "sklearn.ensemble.HistGradientBoostingClassifier or …Regressor",
    "catboost": "sklearn.ensemble.HistGradientBoostingClassifier or …Regressor",
    "polars": "pandas",
    "pyarrow": "pandas with CSV, JSON or Excel files",
    "fastparquet": "pandas with CSV, JSON or Excel files",
    "duckdb": "sqlite3 or pandas",
    "plotly": "matplotlib or seaborn",
    "bokeh": "matplotlib or seaborn",
    "altair": "matplotlib or seaborn",
    "pygraphviz": "networkx's own layouts, such as nx.kamada_kawai_layout or nx.multipartite_layout,",
    "pydot": "networkx's own layouts, such as nx.kamada_kawai_layout or nx.multipartite_layout,",
    "cv2": "PIL (Pillow) or scipy.ndimage",
    "skimage": "PIL (Pillow) or scipy.ndimage",
    "imageio": "PIL (Pillow)",
    "pytz": "zoneinfo",
    "docx": "zipfile with xml.etree, since a .docx is a zip of XML",
    "pptx": "zipfile with xml.etree, since a .pptx is a zip of XML",
    "PyPDF2": "pypdf",
    "fitz": "pypdf",
    "pdfplumber": "pypdf",
    "fpdf": "reportlab",
    "toml": "tomllib",
    "simplejson": "json",
    "ujson": "json",
    "orjson": "json",
    "nltk": "re and collections",
    "pytest": "unittest",
    "aiohttp": "httpx",
    "pydantic": "dataclasses",
    "cryptography": "hashlib, hmac and secrets",
    "bcrypt": "hashlib.scrypt",
    "selenium": "requests or httpx, with bs4",
    "playwright": "requests or httpx, with bs4",
    "scrapy": "requests or httpx, with bs4",
    "sqlalchemy": "sqlite3",
    "pymongo": "sqlite3",
    "redis": "a dictionary or sqlite3",
    "imblearn": "sklearn's class_weight",
    "umap": "sklearn.manifold.TSNE",
    "colorama": "ANSI codes in print",
    "ipywidgets": "plain variables",
    "dask": "pandas",
    "pyspark": "pandas",
    "plotnine": "matplotlib or seaborn",
    "wordcloud": "collections.Counter and matplotlib",
    "streamlit": "matplotlib, whose figures are handed over as pictures",
    "gradio": "matplotlib, whose figures are handed over as pictures",
    "dash": "matplotlib, whose figures are handed over as pictures",
    "weasyprint": "reportlab",
    "pdfkit": "reportlab",
    "transformers": "scikit-learn",
    "Levenshtein": "difflib",
    "rapidfuzz": "difflib",
    "fuzzywuzzy": "difflib",
    "google": "the files in /data, which were given to this run",
    "tkinter": "matplotlib, whose figures are handed over as pictures",
    "turtle": "matplotlib",
    "pygame": "matplotlib",
    "resource": "tracemalloc, for memory,",
    "psutil": "tracemalloc, for memory,",
}
_HERE = (
    "numpy, pandas, scipy, sklearn, statsmodels, matplotlib, seaborn, sympy, networkx, PIL, openpyxl,"
    " xlsxwriter, lxml, bs4, yaml, jinja2, pypdf, reportlab, sqlite3 and the standard library"
)


def _module_hint(error):
    if not error.name:
        return ""
    top = error.name.partition(".")[0]
    if top in sys.modules and "." in error.name:
        return _part_hint(error.name)
    instead = _INSTEAD.get(top)
    advice = f"use {instead} instead" if instead else f"there are {_HERE}"
    if top in ("pip", "ensurepip", "micropip", "piplite", "venv", "virtualenv"):
        return f"Nothing can be installed from inside the sandbox; {advice}."
    if top in _REMOVED:
        return f"{top} is no longer a part of Python; use {_REMOVED[top]} instead."
    if top.startswith("_") or top in _UNIX:
        needs = f"{top} needs an operating system, which this sandbox does not have"
        return f"{needs}; {advice}." if instead else f"{needs}."
    if top in _COMPILED:
        return (
            f"{top} is not installed and cannot be, neither from inside the sandbox nor by the host, since it has"
            f" compiled parts; {advice}."
        )
    return (
        f"{top} is not installed and cannot be installed from inside the sandbox; {advice},"
        f" or have the host add it (cloche run --package {_PACKAGES.get(top, top)}, or packages in its policy)."
    )


def _engine_hint(error):
    """On what pandas needs other packages for, and says so in its own words."""
    if "'sqlalchemy'" in words(error):
        return "sqlalchemy is not installed, and no server of databases can be reached; give pandas a connection of sqlite3 instead of a URL."
    return ""


def _part_hint(name):
    """On a part that a package which is there does not have."""
    if hint := _left_out(name):
        return hint
    import difflib
    import pkgutil

    parent, _, part = name.rpartition(".")
    parts = [m.name for m in pkgutil.iter_modules(getattr(sys.modules.get(parent), "__path__", ()))]
    close = difflib.get_close_matches(part, parts, 1)
    return f"{parent} has no {part}; {parent}.{close[0]} is closest." if close else ""


def _from_hint(error):
    """On a part that was to be imported with from: Python does not say that a module was meant."""
    return _left_out(f"{error.name}.{error.name_from}")


def _left_out(name):
    for part, advice in _LEFT_OUT.items():
        if name == part or name.startswith(part + "."):
            return f"{part} is left out of what is linked in here; {advice}."
    return ""


_LEFT_OUT = {
    "matplotlib.sphinxext": "it is for writing documentation",
    "matplotlib.testing": "compare arrays of pixels with numpy.testing",
    "reportlab.graphics.barcode": "have the host add segno, or an older reportlab, which has it (cloche run --package 'reportlab<5')",
    "sklearn.datasets.images": "matplotlib.cbook.get_sample_data('grace_hopper.jpg') is a photograph that is there",
}


# Packages whose names are not those of their modules.
_PACKAGES = {
    "barcode": "python-barcode", "imblearn": "imbalanced-learn", "odf": "odfpy", "docx": "python-docx", "dotenv": "python-dotenv", "git": "GitPython", "jwt": "PyJWT",
    "pkg_resources": "setuptools", "pydantic": "'pydantic<2'", "pptx": "python-pptx", "ruamel": "ruamel.yaml", "slugify": "python-slugify",
}  # fmt: skip


# What is known to have no wheel of Python alone.
_COMPILED = frozenset(
    "torch tensorflow keras xgboost lightgbm catboost polars pyarrow fastparquet duckdb cv2 skimage fitz ujson orjson"
    " tkinter turtle pygame psutil numba cupy jax spacy gensim shapely geopandas h5py tables psycopg2"
    " aiohttp cryptography bcrypt playwright tiktoken tokenizers sentencepiece umap zstandard lz4 brotli gmpy2 ortools"
    " cvxpy igraph pygraphviz pyodbc MySQLdb asyncpg librosa soundfile onnxruntime jpype pyaudio transformers wordcloud Levenshtein rapidfuzz netCDF4 rasterio prophet".split()
)


_REMOVED = {
    "asynchat": "asyncio", "asyncore": "asyncio", "audioop": "numpy", "cgi": "urllib.parse and email.message", "crypt": "hashlib",
    "distutils": "packaging.version, shutil or sysconfig", "imghdr": "PIL.Image.open(path).format", "imp": "importlib",
    "pipes": "shlex", "sre_compile": "re", "sre_constants": "re", "sre_parse": "re", "uu": "base64", "xdrlib": "struct",
}  # fmt: skip
_UNIX = {"resource", "readline", "curses", "syslog", "crypt", "nis"}


def _file_hint(error):
    name = error.filename
    if not isinstance(name, str):
        return ""
    library, _, path = name.partition(os.path.dirname(os.__file__) + "/")
    if path and not library:
        return f"This file of {path.partition('/')[0]} is left out of what is linked in here: give the run a file of its own."
    if os.path.abspath(name) == getattr(sys.modules["__main__"], "__file__", None):
        return 'The program itself is no file here: inspect.getsource(sys.modules["__main__"]) is its text.'
    try:
        here = sorted(os.listdir("/data"))
    except OSError:
        return ""
    folder = os.path.dirname(name)
    missing = f"There is no folder {folder!r}; what is written to /data is kept. " if folder and not os.path.isdir(folder) else ""
    if not here:
        return missing + "The working folder /data is empty: no file was given to this run."
    import difflib

    close = difflib.get_close_matches(os.path.basename(name), here, 1)
    listing = ", ".join(map(repr, here[:20])) + (f" and {len(here) - 20} more" if len(here) > 20 else "")
    return f"{missing}The working folder /data holds {listing}" + (f"; {close[0]!r} is closest." if close else ".")


def _os_hint(error):
    n = error.errno
    where = f"{error.filename} is" if isinstance(error.filename, str) else "That place is"
    if n == errno.EROFS:
        return where + " read-only; write under /data (kept) or /tmp."
    if n in (errno.EACCES, errno.EPERM, getattr(errno, "ENOTCAPABLE", -1)) and error.filename:
        return where + " outside what the sandbox may use; files live under /data and /tmp."
    if n in (errno.ENOSPC, errno.EDQUOT):
        return "The sandbox's limit on files is reached: delete files, or ask for a larger disk limit."
    if n == errno.EMFILE:
        return "Too many files are open at once: close them with a with statement."
    if "is not a valid package style" in words(error):
        return _style_hint(re.match(r"'([^']*)'", words(error))[1])
    if n == errno.ENETUNREACH or "network is closed" in str(error):
        return _network_hint(error)
    if "ctypes is unavailable" in str(error):
        return "Native libraries cannot be loaded in this sandbox: do the work in Python, or with numpy."
    if "has one descriptor" in str(error):
        return "Redirect sys.stdout and sys.stderr (contextlib.redirect_stdout) in place of descriptors: pytest.main(['--capture=sys']) does so."
    if "processes are not available" in str(error):
        program = re.search(r"tried to start \W*([\w.-]+)", str(error))
        advice = _PROGRAMS.get(program[1], "") if program else ""
        return advice or "Do the work in Python: there is no shell and no other program in the sandbox."
    return ""


def _style_hint(name):
    """On a style of charts that matplotlib does not have, or under another name now."""
    import difflib

    from matplotlib.style import available

    renamed = name.replace("seaborn", "seaborn-v0_8")
    close = [renamed] if renamed in available else difflib.get_close_matches(name, available, 1)
    return (f"{close[0]!r} is closest; " if close else "") + "matplotlib.style.available lists the styles, and 'default' is the usual one."


_NO_TEX = "There is no LaTeX in the sandbox: leave text.usetex off, text between $ signs is set without it; savefig writes PDF and SVG."
_NO_FILM = "There is no ffmpeg in the sandbox: save an animation as GIF (anim.save('x.gif', writer='pillow')), or as a page by anim.to_jshtml()."
_NO_DOT = "There is no Graphviz in the sandbox: networkx and matplotlib draw graphs, with layouts of networkx's own."
_PROGRAMS = {
    **dict.fromkeys(("latex", "pdflatex", "xelatex", "lualatex", "dvipng", "kpsewhich"), _NO_TEX),
    **dict.fromkeys(("ffmpeg", "convert", "magick"), _NO_FILM),
    **dict.fromkeys(("dot", "neato"), _NO_DOT),
}


def _program_hint(error):
    """Of a library that looked for a program, and says so in its own words."""
    text = words(error)
    if "MovieWriter" in text or text.startswith("unknown file extension: ") and text.endswith(_FILMS):
        return _NO_FILM
    if text.startswith("unknown file extension: ") or text.startswith("Format '") and "supported formats" in text:
        return "Pictures can be written as PNG, JPEG, GIF, TIFF and BMP, charts as PDF and SVG too."
    return ""


_FILMS = (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v")


def _network_hint(error):
    address, tables = "the address", ""
    for frame in _frames(error):
        asked = frame.f_code.co_name == "create_connection" and frame.f_locals.get("address")
        if isinstance(asked, tuple):
            address = f"{asked[0]} (cloche run --allow {asked[0]})"
        if any(part in frame.f_code.co_filename for part in _TABLES):
            tables = " sklearn.datasets.load_iris(), load_wine(), load_diabetes() and the like, and statsmodels.api.datasets, need none."
    return f"The network is closed: work with the files that were given, or have the host allow {address}.{tables}"


def _frames(error):
    """The frames of an error's traceback, and of those that it was raised for; urllib gives one as its reason."""
    for _ in range(_MOST_CAUSES):
        tb = getattr(error, "__traceback__", None)
        while tb is not None:
            yield tb.tb_frame
            tb = tb.tb_next
        error = getattr(error, "reason", None) or getattr(error, "__context__", None)


# Modules that load tables to try things on.
_TABLES = ("/seaborn/utils", "/sklearn/datasets/", "/statsmodels/datasets/")


def _url_hint(error):
    return _os_hint(error.reason) if isinstance(getattr(error, "reason", None), OSError) else ""


def _key_hint(error):
    """A column that a DataFrame does not have: names those that it has."""
    tb, frame = error.__traceback__, None
    while tb is not None:
        if tb.tb_frame.f_code.co_filename.endswith("pandas/core/frame.py"):
            frame = tb.tb_frame.f_locals.get("self", frame)
        tb = tb.tb_next
    columns = getattr(frame, "columns", None)
    if columns is None or not error.args:
        return ""
    import difflib

    names = [str(c) for c in columns[:50]]
    close = difflib.get_close_matches(str(error.args[0]), names, 1, 0.5)
    text = f"The frame has the columns {', '.join(map(repr, names))}"
    return text + (f"; {close[0]!r} is closest." if close else ".")


def _decode_hint(error):
    return (
        f"The bytes are not {error.encoding}: try encoding='gbk', 'cp1252', 'latin-1' or"
        " 'utf-16', or find it with charset_normalizer.from_path()."
    )


def _eof_hint(error):
    if words(error) != "EOF when reading a line":
        return ""  # the end of a file, such as pickle's
    return (
        "The program asked for input and standard input is at its end: give the run an input (cloche run --stdin FILE, or stdin in"
        " a request), or take the value from a variable."
    )


def _recursion_hint(error):
    return (
        f"Calls are nested too deeply (the limit here is {sys.getrecursionlimit():,}):"
        " check the end of the recursion, or use a loop."
    )


def wants_memory(error):
    """Whether the program ended because it asked for more memory than it can have."""
    # The parser uses the same error for source that is nested too deeply.
    return isinstance(error, MemoryError) and "Parser stack" not in words(error)


def _memory_hint(error):
    if not wants_memory(error):
        return "The source is nested too deeply to be parsed."
    return "The sandbox's memory limit is reached: work in chunks, free what is not needed, or ask for more memory."


def _syntax_hint(error):
    line = (error.text or "").lstrip()
    if line.startswith(("!pip", "%pip", "!conda", "%conda", "!uv")):
        return f"Nothing can be installed from inside the sandbox; there are {_HERE}."
    if line.startswith("```"):
        return "Lines with ``` are Markdown's: send the code between them alone."
    if line.rstrip().endswith("?") or line.startswith("?"):
        return f"Lines with ? are a notebook's own: write help({line.strip().strip('?')})."
    if line.startswith("!") or re.match(r"[\w.,\[\]]+\s*=\s*!", line):
        return "Lines with ! run a shell, which the sandbox does not have: use Python's own modules."
    if line.startswith("%") or re.match(r"[\w.,\[\]]+\s*=\s*%", line):
        return "This %-command is a notebook's own and not understood here: write it in Python."
    return ""


_SIGNALS = "alarm setitimer getitimer pause sigwait sigwaitinfo sigtimedwait pthread_kill pthread_sigmask siginterrupt".split()


def _attribute_hint(error):
    """A function of the standard library that this interpreter lacks."""
    module, name = getattr(error.obj, "__name__", ""), error.name
    if module == "signal" and name in _SIGNALS:
        return "No signals come in this sandbox: look at time.monotonic() as you go, or use asyncio.timeout(); the host's own time limit holds."
    if module == "os" and (name.startswith(("set", "sched_", "posix_")) or name in ("fchdir", "fwalk", "mknod", "chroot", "sendfile")):
        return f"os.{name} is not available in this sandbox, which has no operating system of its own."
    return ""


def _thread_hint(error):
    if "can't start new thread" in str(error):
        return "Use concurrent.futures, whose pools run their work in line, or call the function directly."
    return ""


_HINTS = [
    (ModuleNotFoundError, _module_hint),
    (ImportError, _from_hint),
    (ImportError, _engine_hint),
    (FileNotFoundError, _file_hint),
    (OSError, _os_hint),
    (OSError, _url_hint),
    (KeyError, _key_hint),
    (AttributeError, _attribute_hint),
    (UnicodeDecodeError, _decode_hint),
    (EOFError, _eof_hint),
    (RecursionError, _recursion_hint),
    (MemoryError, _memory_hint),
    (SyntaxError, _syntax_hint),
    (RuntimeError, _thread_hint),
    ((RuntimeError, ValueError), _program_hint),
]
