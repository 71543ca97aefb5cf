"""IPython.display, as far as generated code uses it: objects that know their MIME type, and what shows them."""

import base64
import html
import sys

from . import ints, magics
from .display import DisplayHandle, display


class DisplayObject:
    """Text or bytes with a MIME type, from a string, bytes, or a file."""

    _mime = "text/plain"
    _read = "r"

    def __init__(self, data=None, url=None, filename=None, metadata=None, **kwargs):
        if filename is None and url is None and data is not None and self._is_path(data):
            filename, data = data, None
        if filename is not None:
            with open(filename, self._read, **({} if "b" in self._read else {"encoding": "utf-8"})) as f:
                data = f.read()
        self.data, self.url, self.filename, self.metadata = data, url, filename, metadata or {}

    @staticmethod
    def _is_path(data):
        return False

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {} if self.data is None else {self._mime: self.data}


class HTML(DisplayObject):
    _mime = "text/html"


class Markdown(DisplayObject):
    _mime = "text/markdown"


class Latex(DisplayObject):
    _mime = "text/latex"


class Math(Latex):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self._mime: f"$\\displaystyle {str(self.data).strip('$')}$"}


class SVG(DisplayObject):
    _mime = "image/svg+xml"

    @staticmethod
    def _is_path(data):
        return isinstance(data, str) and not data.lstrip().startswith("<")


class JSON(DisplayObject):
    _mime = "application/json"


class Javascript(DisplayObject):
    _mime = "application/javascript"


class Pretty(DisplayObject):
    pass


class Code(DisplayObject):
    _mime = "text/plain"


class ProgressBar(DisplayObject):
    """A bar as text, shown anew by each step."""

    def __init__(self, total):
        super().__init__()
        self.total, self.progress = total, 0

    def __repr__(self):
        full = int(60 * self.progress / self.total) if self.total else 60
        return f"[{'=' * full}{' ' * (60 - full)}] {self.progress}/{self.total}"

    def __iter__(self):
        for self.progress in range(self.total):
            yield self.progress
        self.progress = self.total


class IFrame(DisplayObject):
    """A page within the page, which is the client's to load."""

    def __init__(self, src, width, height, extras=None, **kwargs):
        super().__init__()
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self):
        return f'<iframe width="{self.width}" height="{self.height}" src="{html.escape(self.src)}" allowfullscreen></iframe>'


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__(f"https://www.youtube.com/embed/{id}", width, height)


class FileLink(DisplayObject):
    """The name of a file, which leaves with the run's others."""

    def __init__(self, path, *args, **kwargs):
        super().__init__()
        self.path = str(path)

    def __repr__(self):
        return self.path

    def _repr_html_(self):
        return f"<a href='{html.escape(self.path)}'>{html.escape(self.path)}</a>"


class _Media(DisplayObject):
    """Sound or film from bytes, a file, or an address."""

    _read = "rb"
    _tag, _type = "", ""

    @staticmethod
    def _is_path(data):
        return isinstance(data, str) or hasattr(data, "__fspath__")

    def _repr_html_(self):
        source = self.url
        if self.data is not None:
            source = f"data:{self._type};base64,{base64.b64encode(bytes(self.data)).decode()}"
        return f'<{self._tag} controls src="{html.escape(source or "")}"></{self._tag}>'


class Video(_Media):
    _tag, _type = "video", "video/mp4"

    def __init__(self, data=None, url=None, filename=None, embed=False, mimetype=None, **kwargs):
        super().__init__(data, url, filename)
        self._type = mimetype or self._type


class Audio(_Media):
    """Sound; also from samples, with their rate."""

    _tag, _type = "audio", "audio/wav"

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False, normalize=True, **kwargs):
        if data is not None and not isinstance(data, (str, bytes)) and not hasattr(data, "__fspath__"):
            data = _wave(data, rate, normalize)
        super().__init__(data, url, filename)


def _wave(samples, rate, normalize):
    """Samples of one or two channels as a WAV file of 16 bits."""
    import io
    import wave

    import numpy

    if rate is None:
        raise ValueError("rate must be specified when data is a numpy array or list of audio samples.")
    samples = numpy.asarray(samples, dtype=float)
    peak = numpy.abs(samples).max() if samples.size and normalize else 1
    file = io.BytesIO()
    with wave.open(file, "wb") as w:
        w.setnchannels(1 if samples.ndim == 1 else len(samples))
        w.setsampwidth(2)
        w.setframerate(int(rate))
        w.writeframes((samples.T / (peak or 1) * 32767).astype("<i2").tobytes())
    return file.getvalue()


class Image(DisplayObject):
    """A picture from bytes or a file."""

    _read = "rb"

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, **kwargs):
        super().__init__(data, url, filename)
        if isinstance(self.data, str):
            self.data = self.data.encode("latin-1")

    @staticmethod
    def _is_path(data):
        return isinstance(data, str) or hasattr(data, "__fspath__")

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None:
            return {"text/html": f'<img src="{self.url}">'} if self.url else {}
        for start, mime in (
            (b"\x89PNG", "image/png"),
            (b"\xff\xd8", "image/jpeg"),
            (b"GIF8", "image/gif"),
            (b"RIFF", "image/webp"),
            (b"<", "image/svg+xml"),
        ):
            if self.data.startswith(start):
                return {mime: self.data.decode() if start == b"<" else self.data}
        return {}


def update_display(value, *, display_id, **kwargs):
    """Shows the value: what was shown before has left."""
    display(value, **kwargs)


def _only(mime):
    def show(*objects, raw=False, **kwargs):
        for value in objects:
            if raw:
                display({mime: value}, raw=True)
            else:
                display(value, include={mime}, **kwargs)

    show.__name__ = "display_" + _SHORT[mime]
    return show


_SHORT = {
    "text/html": "html",
    "text/markdown": "markdown",
    "text/latex": "latex",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/json": "json",
    "application/javascript": "javascript",
    "text/plain": "pretty",
}


def set_matplotlib_formats(*formats, **kwargs):
    """Figures leave as PNG, and as data, whatever is asked for."""


def clear_output(wait=False):
    """Nothing to clear: what was shown has left."""


def install():
    """Makes display() a builtin and IPython.display importable."""
    import builtins
    import types

    builtins.display = display
    package = types.ModuleType("IPython", "The part of IPython that shows things.")
    package.__path__ = []
    package.__version__ = "0"
    package.version_info = (0,)
    package.get_ipython = lambda: magics.shell if ints.of_program(sys._getframe(1)) else None
    shown = types.ModuleType("IPython.display", "What notebooks show things with.")
    core = types.ModuleType("IPython.core")
    core.__path__ = []
    names = (
        display,
        clear_output,
        set_matplotlib_formats,
        DisplayObject,
        HTML,
        Markdown,
        Latex,
        Math,
        SVG,
        JSON,
        Javascript,
        Pretty,
        Code,
        Image,
        IFrame,
        YouTubeVideo,
        FileLink,
        Video,
        Audio,
        ProgressBar,
        DisplayHandle,
        update_display,
        *map(_only, _SHORT),
    )
    for thing in names:
        setattr(shown, thing.__name__, thing)
        if isinstance(thing, type):
            thing.__module__ = "IPython.core.display"
    interactive = types.ModuleType("IPython.core.interactiveshell")
    # Only the last value of a turn is shown, whatever a program sets here.
    interactive.InteractiveShell = type("InteractiveShell", (), {"ast_node_interactivity": "last_expr", "__module__": interactive.__name__})
    core.interactiveshell = interactive
    package.display = shown
    package.core = core
    core.display = shown
    sys.modules.update(
        {
            "IPython": package,
            "IPython.display": shown,
            "IPython.core": core,
            "IPython.core.display": shown,
            "IPython.core.interactiveshell": interactive,
        }
    )
