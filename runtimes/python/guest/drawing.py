"""Charts in less time: one draw where matplotlib makes two, what a draw works out again and again kept for its length,
and a PNG writer for pictures that are mostly flat.

The pixels are matplotlib's own.
"""

import functools
import io
import math
import struct
import zlib

_depth = 0  # of draws around each other
_texts, _ticks, _fonts = {}, {}, {}  # of the outermost draw


class lasting:
    """While it lasts nothing but matplotlib itself changes a figure, and what was worked out holds."""

    def __enter__(self):
        global _depth
        _depth += 1

    def __exit__(self, *_):
        global _depth
        _depth -= 1
        if not _depth:
            for kept in (_texts, _ticks, _fonts):
                kept.clear()


def png(figure):
    """A figure as PNG, with all that lies beyond its edges (legends, rotated labels)."""
    from matplotlib import rcParams
    from matplotlib.transforms import Bbox

    def pixels(**options):
        out = io.BytesIO()
        figure.savefig(out, format="raw", dpi=dpi, **options)
        return memoryview(out.getvalue())

    dpi = figure.dpi
    with lasting():
        whole = Bbox.from_bounds(0, 0, *figure.get_size_inches())
        drawn = pixels(bbox_inches=None if rcParams["savefig.bbox"] is None else whole)
        width, height = map(int, figure.bbox.size)
        tight = figure.get_tightbbox(figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None)
        tight = tight.padded(rcParams["savefig.pad_inches"])
        left, right = math.floor(tight.x0 * dpi + 0.01), math.ceil(tight.x1 * dpi - 0.01)
        bottom, top = math.floor(tight.y0 * dpi + 0.01), math.ceil(tight.y1 * dpi - 0.01)
        if left < 0 or bottom < 0 or right > width or top > height:
            # The hundredth of a pixel is lost again when the size is made a whole number.
            wanted = Bbox.from_bounds(left / dpi, bottom / dpi, (right - left + 0.01) / dpi, (top - bottom + 0.01) / dpi)
            drawn = pixels(bbox_inches=wanted)
            width, height = right - left, top - bottom
            left, right, bottom, top = 0, width, 0, height
    return encode(_rows(drawn, width, left, height - top, right, height - bottom), dpi)


def _rows(pixels, width, left, top, right, bottom):
    """The rows of a part of a picture."""
    return [pixels[4 * (y * width + left) : 4 * (y * width + right)] for y in range(top, bottom)]


def encode(rows, dpi):
    """Rows of RGBA bytes as PNG."""
    packer = zlib.compressobj(1)
    parts = []
    for row in rows:
        # Charts are flat: their lines repeat as they are, and trying filters on each takes most of Pillow's time.
        parts += packer.compress(b"\0"), packer.compress(row)
    parts.append(packer.flush())
    data = b"".join(parts)
    width, height = len(rows[0]) // 4, len(rows)
    if len(data) > width * height:  # a photograph
        return _pillow(rows, width, height, dpi)
    metre = round(dpi / 0.0254)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)),
        (b"tEXt", _software()),
        (b"pHYs", struct.pack(">IIB", metre, metre, 1)),
        (b"IDAT", data),
        (b"IEND", b""),
    )
    out = [b"\x89PNG\r\n\x1a\n"]
    for kind, body in chunks:
        out += struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))
    return b"".join(out)


def _pillow(rows, width, height, dpi):
    from PIL import Image

    out = io.BytesIO()
    Image.frombytes("RGBA", (width, height), b"".join(rows)).save(out, "png", dpi=(dpi, dpi))
    return out.getvalue()


def _software():
    import matplotlib

    return f"Software\0Matplotlib version{matplotlib.__version__}, https://matplotlib.org/".encode("latin-1")


def install():
    """Has every way to draw a figure profit."""
    from matplotlib import axis, backend_bases, cbook, font_manager, text
    from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg

    print_figure = backend_bases.FigureCanvasBase.print_figure

    @functools.wraps(print_figure)
    def print_lasting(self, *args, **kwargs):
        with lasting():
            return print_figure(self, *args, **kwargs)

    backend_bases.FigureCanvasBase.print_figure = print_lasting

    print_png = FigureCanvasAgg.print_png

    @functools.wraps(print_png)
    def print_rows(self, filename_or_obj, *, metadata=None, pil_kwargs=None):
        if metadata is not None or pil_kwargs is not None:
            return print_png(self, filename_or_obj, metadata=metadata, pil_kwargs=pil_kwargs)
        FigureCanvasAgg.draw(self)
        with cbook.open_file_cm(filename_or_obj, "wb") as file:
            width, height = self.get_width_height(physical=True)
            file.write(encode(_rows(self.buffer_rgba().cast("B"), width, 0, 0, width, height), self.figure.dpi))

    FigureCanvasAgg.print_png = print_rows

    get_layout = text.Text._get_layout

    @functools.wraps(get_layout)
    def _get_layout(self, renderer):
        if not _depth or type(renderer) is not RendererAgg or self._wrap or self._usetex or self._transform_rotates_text:
            return get_layout(self, renderer)
        key = (
            type(self), self._text, hash(self._fontproperties), self._rotation, self._rotation_mode, self._horizontalalignment,
            self._verticalalignment, self._multialignment, self._linespacing, self._parse_math, renderer.dpi,
            self.get_figure(root=True).dpi,
        )  # fmt: skip
        made = _texts.get(key)
        if made is None:
            made = _texts[key] = get_layout(self, renderer)
        return made

    text.Text._get_layout = _get_layout

    update_ticks = axis.Axis._update_ticks

    @functools.wraps(update_ticks)
    def _update_ticks(self):
        if not _depth or self.axes.name != "rectilinear":
            return update_ticks(self)
        major, minor = self.major, self.minor
        key = (
            major.locator, major.formatter, minor.locator, minor.formatter, *self.get_view_interval(), *self.axes.bbox.bounds
        )  # fmt: skip
        last, made = _ticks.get(self, (None, None))
        if key != last:  # ticks are moved, so only the last call's hold
            made = update_ticks(self)
            _ticks[self] = key, made
        return made

    axis.Axis._update_ticks = _update_ticks

    find = font_manager.FontManager._find_fonts_by_props

    @functools.wraps(find)
    def _find_fonts_by_props(self, prop, *args, **kwargs):
        if not _depth or args or kwargs or type(prop) is not font_manager.FontProperties:
            return find(self, prop, *args, **kwargs)
        key = hash(prop)
        found = _fonts.get(key)
        if found is None:
            found = _fonts[key] = find(self, prop)
        return found

    font_manager.FontManager._find_fonts_by_props = _find_fonts_by_props
