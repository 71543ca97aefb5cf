"""Rich output: what a value looks like, in every form that it offers.

A bundle maps MIME types to text or bytes, as Jupyter's do. The host gets it in one frame: a length,
JSON with {"$bytes": n} in the place of bytes, then those bytes in the same order.
"""

import base64
import datetime
import math
import re
import reprlib
import sys
import traceback
from json import dumps

from . import host

# A form of a value that is longer is cut, or left out where half of it would be none.
TEXT_MAX = 256 << 10  # characters of text/plain
FORM_MAX = 8 << 20  # characters or bytes of any other form
JSON_ITEMS_MAX = 10_000  # elements of a container that is given as JSON too
FORMS_MAX = 32  # forms of one value
HEAD_ROWS = 50  # rows of a DataFrame that are given as data

_MIME = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
    ("application/pdf", "_repr_pdf_"),
)
_BINARY = {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}


def send(bundle, main=False):
    """Hands a bundle to the host. The forms of JSON types are JSON texts already."""
    parts, attached = [], []
    for mime, value in bundle.items():
        if isinstance(value, bytes):
            attached.append(value)
            value = '{"$bytes": %d}' % len(value)
        elif not _is_json(mime):
            value = dumps(value)
        parts.append(f"{dumps(mime)}: {value}")
    head = '{"main": %s, "data": {%s}}' % ("true" if main else "false", ", ".join(parts))
    head = head.encode("ascii")
    host.call(host.DISPLAY, b"".join((len(head).to_bytes(4, "little"), head, *attached)))


def _is_json(mime):
    return mime == "application/json" or mime.endswith("+json")


def display(
    *objects,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
    **kwargs,
):
    """Show objects as rich output: tables, pictures, HTML, Markdown, LaTeX or plain text."""
    from . import streams

    streams.flush()
    for value in objects:
        if raw and isinstance(value, dict):
            forms = {}
            for mime, form in value.items():
                _add(forms, str(mime), form)
        else:
            forms = bundle(value)
        if include:
            forms = {m: v for m, v in forms.items() if m in include}
        if exclude:
            forms = {m: v for m, v in forms.items() if m not in exclude}
        if forms:
            send(forms)
    if display_id is not None:
        return DisplayHandle(display_id)


class DisplayHandle:
    """What display() gives when it is asked for one: update() shows another value."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, value, **kwargs):
        display(value, **kwargs)

    update = display


def bundle(value):
    """Every form of value. Errors in its own __repr__ are the program's; those of its richer
    forms are printed and that form is left out, as in a notebook."""
    forms = {"text/plain": plain(value)}
    kind = type(value)
    if kind in _PLAIN:
        _add_json(forms, value)
        return forms
    if isinstance(value, type):
        return forms  # the methods below are for its instances
    both = getattr(kind, "_repr_mimebundle_", None)
    if both is not None:
        try:
            got = value._repr_mimebundle_(include=None, exclude=None)
        except Exception:
            traceback.print_exc()
            got = None
        if isinstance(got, tuple):
            got = got[0] if got else None
        if isinstance(got, dict):
            for mime, form in got.items():
                if isinstance(mime, str):
                    _add(forms, mime, form)
    for mime, method in _METHODS:
        if mime == "image/jpeg" and "image/png" in forms:
            continue  # the same picture, worse
        if mime not in forms and getattr(kind, method, None) is not None:
            try:
                form = getattr(value, method)()
            except Exception as e:
                if not isinstance(e, NotImplementedError):
                    traceback.print_exc()
                continue
            if isinstance(form, tuple) and len(form) == 2 and isinstance(form[1], dict):
                form = form[0]  # (data, metadata)
            _add(forms, mime, form)
    _add_known(forms, value, kind)
    return forms


def _add(forms, mime, form):
    if len(forms) == FORMS_MAX or not _MIME.fullmatch(mime):
        return
    form = _form(mime, form)
    if form is not None:
        forms[mime] = form


def _form(mime, form):
    """form as it is sent for that MIME type, or None where there is none."""
    if form is None:
        return None
    if _is_json(mime):
        return as_json(form)
    if isinstance(form, (bytes, bytearray, memoryview)):
        return bytes(form) if len(form) <= FORM_MAX else None
    if not isinstance(form, str) or len(form) > FORM_MAX:
        return None
    if mime in _BINARY:
        try:
            return base64.b64decode(form)  # as Jupyter's own bundles carry it
        except ValueError:
            return None
    return form


def _add_known(forms, value, kind):
    """Forms of types that do not offer them by Jupyter's protocol."""
    module = kind.__module__
    if not isinstance(module, str):
        return
    package = module.partition(".")[0]
    if package == "pandas" and not _is_time(value):
        import pandas

        if isinstance(value, pandas.DataFrame):
            forms["application/vnd.dataframe+json"] = dumps(frame_data(value))
    elif package == "numpy":
        import numpy

        if isinstance(value, numpy.generic) or kind is numpy.ndarray:
            _add_json(forms, value)
    elif package == "matplotlib":
        from . import figures

        figures.add_forms(forms, value)
    elif isinstance(value, tuple) and kind.__repr__ is not tuple.__repr__ or isinstance(value, (dict, list)) or _is_time(value):
        _add_json(forms, value)  # named tuples, counters and the like, dates


# JSON.

_PLAIN = {int, float, str, bool, list, tuple, dict, type(None), bytes, set, frozenset, complex}


def _add_json(forms, value):
    text = as_json(value)
    if text is not None:
        forms["application/json"] = text


def as_json(value):
    """value as JSON text, or None if it has no natural form in JSON. Numbers that JSON does not
    have (nan, inf) become null."""
    budget = [JSON_ITEMS_MAX]
    try:
        if not _natural(value, budget, 0):
            return None
        try:
            text = dumps(value, allow_nan=False, default=_item)
        except ValueError:
            text = dumps(_finite(value), default=_item)
    except (TypeError, ValueError, RecursionError):
        return None
    if text.startswith('{"$bytes"') and len(value) == 1:
        return None  # would read as the mark of an attachment
    return text if len(text) <= FORM_MAX else None


def _natural(value, budget, depth):
    kind = type(value)
    if kind is str:
        return len(value) <= FORM_MAX
    if kind is int:
        return value.bit_length() <= 4096
    if kind is float or kind is bool or value is None:
        return True
    if depth > 40:
        return False
    if kind.__module__ == "numpy":
        budget[0] -= getattr(value, "size", 1)
        return budget[0] >= 0 and hasattr(value, "tolist") and value.dtype.kind in "biufU"
    if isinstance(value, (list, tuple)):
        budget[0] -= len(value)
        return budget[0] >= 0 and all(_natural(x, budget, depth + 1) for x in value)
    if isinstance(value, dict):
        budget[0] -= len(value)
        return budget[0] >= 0 and all(
            type(k) is str and _natural(v, budget, depth + 1) for k, v in value.items()
        )
    return _is_time(value) or _is_missing(value)


def _is_time(value):
    return isinstance(value, (datetime.date, datetime.time))


def _is_missing(value):
    return type(value).__name__ in ("NAType", "NaTType")  # pandas'


def _item(value):
    """A number or an array of numpy's as Python's own, a date or time as ISO 8601 has it."""
    if _is_missing(value):
        return None
    return value.isoformat() if _is_time(value) else _finite(value.tolist())


def _finite(value):
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_finite(x) for x in value]
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return value


# Text.


def plain(value):
    """repr(value), of a bounded length."""
    kind = type(value)
    if kind is str and len(value) > TEXT_MAX:
        return _cut(repr(value[:TEXT_MAX]), len(value) - TEXT_MAX)
    if kind in _SIZED and len(value) > 1000 and sys.getsizeof(value) > 1 << 16:
        return _short.repr(value)
    text = repr(value)
    return text if len(text) <= TEXT_MAX else _cut(text[:TEXT_MAX], len(text) - TEXT_MAX)


def _cut(text, more):
    return f"{text} … ({more:,} more characters)"


_SIZED = {list, tuple, set, frozenset, dict, bytes, bytearray}


class _Short(reprlib.Repr):
    """Long containers with their first thousand elements, as notebooks show them."""

    def __init__(self):
        super().__init__(
            maxlist=1000,
            maxtuple=1000,
            maxset=1000,
            maxfrozenset=1000,
            maxdict=1000,
            maxdeque=1000,
            maxstring=10_000,
            maxother=10_000,
            maxlong=10_000,
            maxlevel=20,
        )

    def repr_bytes(self, x, level):
        return repr(x) if len(x) <= 10_000 else f"{x[:10_000]!r} … ({len(x) - 10_000:,} more bytes)"

    def repr_bytearray(self, x, level):
        return f"bytearray({self.repr_bytes(bytes(x[:10_001]), level)})"


_short = _Short()


# Tables.


def frame_data(frame):
    """A DataFrame's columns, dtypes, first rows and number of rows, as JSON has them."""
    head = frame.head(HEAD_ROWS)
    columns = [c if isinstance(c, str) else str(c) for c in head.columns]
    rows = [[_cell(v) for v in row] for row in zip(*(head.iloc[:, i].tolist() for i in range(len(columns))))]
    return {
        "columns": columns,
        "dtypes": [str(t) for t in frame.dtypes],
        "index": [_cell(v) for v in head.index.tolist()],
        "head": rows,
        "row_count": len(frame),
    }


def _cell(value):
    kind = type(value)
    if kind is str:
        return value if len(value) <= 1000 else value[:1000] + "…"
    if kind is bool or value is None:
        return value
    if kind is int:
        return value if value.bit_length() <= 64 else str(value)
    if kind is float:
        return value if math.isfinite(value) else (None if value != value else str(value))
    if _is_missing(value):
        return None
    iso = getattr(value, "isoformat", None)
    try:
        text = iso() if iso is not None else str(value)
    except Exception:
        text = object.__repr__(value)
    return text if len(text) <= 1000 else text[:1000] + "…"
