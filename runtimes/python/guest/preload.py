"""What every run finds imported, drawn and cached already."""

import array
import gc
import importlib
import sys


_STANDARD = """
    argparse array ast base64 bisect calendar cmath codecs collections contextlib copy csv
    dataclasses datetime decimal difflib email.message enum fractions functools getpass glob
    gzip hashlib heapq html.parser http.client inspect io itertools json linecache locale
    logging math operator pathlib pickle platform pprint queue random re secrets shutil socket
    sqlite3 statistics string struct subprocess tempfile textwrap time timeit traceback types
    typing unicodedata urllib.error urllib.parse urllib.request uuid warnings weakref zipfile
    zlib zoneinfo encodings.ascii encodings.big5 encodings.cp1252 encodings.gb18030
    encodings.gbk encodings.idna encodings.latin_1 encodings.shift_jis encodings.utf_16
    encodings.utf_8_sig xml.etree.ElementTree
"""


def standard_library():
    for name in _STANDARD.split():
        importlib.import_module(name)


def science():
    import numpy
    import pandas

    from . import arrayfiles, frames, intnames, intresults, ints

    intresults.install(ints.install())
    intnames.install()
    arrayfiles.install()
    frames.install()

    # A small tour, so that what these import and build at first use is in the image.
    from io import StringIO

    frame = pandas.read_csv(StringIO("day,shop,x\n2024-01-01,a,1\n2024-01-02,b,2.5\n"), parse_dates=["day"])
    frame.describe()
    frame.groupby("shop")["x"].sum()
    frame.merge(frame, on="shop").to_csv()
    frame.set_index("day")["x"].resample("D").mean()
    frame.pivot_table(index="shop", values="x")
    repr(frame), frame._repr_html_()
    frame["shop"].str.upper().value_counts()
    numpy.linalg.solve(numpy.eye(2), numpy.ones(2))
    numpy.random.default_rng(0).normal(size=3)
    numpy.fft.rfft(numpy.ones(4))

    _progress_bars()


def _progress_bars():
    """tqdm without its monitor, which is a thread, and with text where it would make widgets."""
    import tqdm
    from tqdm import notebook

    tqdm.tqdm.monitor_interval = 0
    notebook.tqdm = notebook.tqdm_notebook = tqdm.tqdm_notebook = tqdm.tqdm
    notebook.trange = notebook.tnrange = tqdm.tnrange = tqdm.trange


_WHEELS = "/usr/local/lib/cloche-wheels"


def web_clients():
    """requests and httpx, each with what it needs in a folder of its own."""
    import os

    sys.path += [f"{_WHEELS}/{name}" for name in sorted(os.listdir(_WHEELS))]
    import httpx
    import requests

    requests.Session().close()
    httpx.Client().close()


def forget_wheels(path):
    """Lets what the host has added at path be imported, where something of that name is loaded already."""
    import os

    added = {name.partition(".")[0] for name in os.listdir(path)}
    for name, module in list(sys.modules.items()):
        ours = getattr(getattr(module, "__spec__", None), "origin", None) == "cloche"
        if name.partition(".")[0] in added and (ours or str(getattr(module, "__file__", "")).startswith(_WHEELS)):
            del sys.modules[name]


def charts():
    from . import drawing, figures, fonts, jpeg, pilfont

    fonts.quiet()
    pilfont.install()
    jpeg.install()
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    fonts.install()
    drawing.install()
    figures.install()
    _draw(pyplot)


def _draw(pyplot):
    """One figure with the usual parts, drawn as plt.show() draws it and then forgotten."""
    from . import figures

    figure, (left, right) = pyplot.subplots(1, 2)
    left.plot([1, 2, 3], [1, 4, 9], marker="o", label="一")
    left.set_title("Título 标题 $x^2$")
    left.legend()
    left.grid(True)
    right.bar(["a", "b"], [1, 2])
    right.set_xlabel("x")
    right.set_ylabel("y")
    figure.tight_layout()
    figures.forms(figure)
    pyplot.close("all")


_USUAL = (
    "x = 1",
    "x + 1",
    "print('a')",
    "import math",
    "for i in range(3):\n    x = i\n",
    "def f(n):\n    return n\n\nf(2)\n",
    "import json\njson.dumps([1, 2.5, {'a': None}])\n",
    "[1.5, 'a']",
    "1 / 0",
    "import sys\nsys.exit(3)",
)
_ONCE = (
    "import pandas as pd\npd.DataFrame({'a': [1, None], 'b': ['x', 'y']})",
    "print(undefined)",
    "x = (",
    "import nothing_of_that_name",
    "open('nowhere')",
    "async def f():\n    return 1\n\nawait f()",
)


def rehearse(turns):
    """Runs turns as the driver will, until the interpreter has specialised the code that they run:
    bytecode that is still counting its executions would be written to in every sandbox."""
    import io

    from . import host, streams

    name = b"main.py"
    streams.stderr, stderr = io.StringIO(), streams.stderr
    streams.stdout, stdout = io.StringIO(), streams.stdout
    streams.install()
    try:
        for source in _USUAL * 40 + _ONCE * 3:
            source = source.encode()
            for flags in (1, 3):
                head = turns._HEAD.pack(flags, len(name), len(source))
                host.call(host.REHEARSE, head + name + source)
                turns.turn()
    finally:
        streams.stderr, streams.stdout = stderr, stdout
        streams.install()


_held = []  # for good


# Turns of a session whose file names are interned in the image. Every code object interns its file's name: a new name goes
# to a place of its own in a table of half a megabyte, and once in some thousands all of that moves.
_NAMED_TURNS = 1 << 15


def settle():
    """Leaves the interpreter as a program expects to find it, and its objects out of the collector's
    way."""
    import itertools
    import linecache
    import tempfile
    import threading

    import random

    import numpy

    random.seed(0)  # also forgets half of a pair of normal numbers; the driver renews the rest
    numpy.random.seed(0)
    main = sys.modules["__main__"].__dict__
    for key in [k for k in main if not k.startswith("__")]:
        del main[key]
    linecache.cache.pop("main.py", None)
    threading._counter = itertools.count(1).__next__  # for the names of threads
    tempfile._name_sequence = None  # it would give the same names in every sandbox
    sys.modules["_cloche.turns"]._files.clear()
    _held.append([sys.intern(f"turn{number}.py") for number in range(1, _NAMED_TURNS + 1)])
    for module in list(sys.modules.values()):
        getattr(module, "__dict__", {}).pop("__warningregistry__", None)
    gc.collect()
    _immortalize()
    gc.freeze()


def _immortalize():
    """Has the host make every object that there is immortal, so that using one no longer writes its
    count of references: a sandbox then copies fewer pages."""
    from . import host

    found = gc.get_objects()
    seen = set(map(id, found))
    at = 0
    while at < len(found):
        for thing in gc.get_referents(*found[at : at + 1000]):
            if id(thing) not in seen:
                seen.add(id(thing))
                found.append(thing)
        at += 1000
    # All of them are alive until the host is done.
    host.call(host.IMMORTAL, array.array("I", map(id, found)).tobytes())


def fill_holes():
    """Allocates every free piece of the heap but the end, and keeps it. The allocator would hand these
    pieces out first, and a short program would write to a hundred pages, each of which is copied;
    now what it allocates lies side by side."""
    gc.collect()  # gives back the free lists of floats, tuples and the like, which are scattered too
    end = id(bytes(16 << 20))  # too large for any hole
    keep = _held.append
    size = 1 << 22
    while size >= 8:
        # The smallest that there is comes last.
        piece = bytes(size) if size > 8 else object()
        if id(piece) < end:
            keep(piece)
        else:
            size = size >> 1 if size > 1 << 16 else size - 8


def addresses(turns):
    """Where the driver finds what it calls and what it renews: the address of turn() and of None,
    and the state of the two Mersenne twisters, told by their contents at this
    moment and where these are to be looked for."""
    import random

    import numpy

    python = random.getstate()[1]
    numpys = numpy.random.get_state()
    return {
        "turn": id(turns.turn),
        "none": id(None),
        "version": sys.version.split()[0],
        "twisters": [
            {"near": id(random._inst), "words": python[:-1], "used": python[-1], "after": False},
            {
                "near": id(numpy.random.mtrand._rand._bit_generator),
                "words": numpys[1].tolist(),
                "used": numpys[2],
                "after": True,
            },
        ],
    }
