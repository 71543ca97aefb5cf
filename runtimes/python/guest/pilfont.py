"""Pillow's TrueType text, which its build here lacks: PIL._imagingft on top of matplotlib's FreeType.

Left to right, with kerning, strokes and anchors; characters that a font does not have come from the CJK
font. No ligatures, vertical text, variable fonts or colour glyphs.
"""

import io
import os
import sys
import types

from . import fonts

# Fonts of other machines, and what stands in for them.
_STAND_INS = (
    (
        (
            "simhei",
            "simsun",
            "msyh",
            "microsoftyahei",
            "pingfang",
            "heiti",
            "stheiti",
            "songti",
            "fangsong",
            "kaiti",
            "wqy",
            "notosanscjk",
            "notosanssc",
            "sourcehan",
            "msgothic",
            "meiryo",
            "hiragino",
        ),
        None,
    ),
    (
        ("couriernew", "courier", "cour", "consola", "menlo", "monaco", "liberationmono", "ubuntumono"),
        "DejaVuSansMono",
    ),
    (("times", "georgia", "liberationserif", "garamond"), "DejaVuSerif"),
    (
        (
            "arial",
            "helvetica",
            "verdana",
            "tahoma",
            "calibri",
            "segoeui",
            "liberationsans",
            "opensans",
            "roboto",
            "ubuntu",
            "freesans",
            "noto",
        ),
        "DejaVuSans",
    ),
)


def _find(path):
    """The file for a font's name or path; an OSError as FreeType gives it."""
    path = os.fspath(path)
    if isinstance(path, bytes):
        path = path.decode()
    if os.path.isfile(path):
        return path
    from matplotlib import get_data_path

    folder = os.path.join(get_data_path(), "fonts", "ttf")
    base = os.path.basename(path)
    stem, ext = os.path.splitext(base)
    for name in (base, stem + ".ttf"):
        if os.path.isfile(os.path.join(folder, name)):
            return os.path.join(folder, name)
    plain = stem.lower().replace("-", "").replace("_", "").replace(" ", "")
    for starts, stand_in in _STAND_INS:
        if ext.lower() in ("", ".ttf", ".ttc", ".otf") and plain.startswith(starts):
            if stand_in is None:
                return fonts.CJK
            bold = plain.endswith(("bold", "bd", "b"))
            return os.path.join(folder, stand_in + ("-Bold" if bold and "mono" not in plain else "") + ".ttf")
    raise OSError("cannot open resource")


class Font:
    """One font at one size."""

    def __init__(self, face, size):
        self._face, self._size = face, size
        face.set_size(size, 72)
        scale = size / face.units_per_EM
        self.family, self.style = face.family_name, face.style_name
        self.ascent = -int(-face.ascender * scale // 1)
        self.descent = -int(face.descender * scale // 1)
        self.height = round(face.height * scale)
        self.x_ppem = self.y_ppem = round(size)
        self.glyphs = face.num_glyphs
        self._spare = None

    def _glyph(self, char):
        """The face that has char, its index there, and its outline, loaded."""
        from matplotlib import ft2font

        face, code = self._face, ord(char)
        index = face.get_char_index(code)
        if index == 0 and os.path.exists(fonts.CJK):
            if self._spare is None:
                self._spare = ft2font.FT2Font(fonts.CJK)
                self._spare.set_size(self._size, 72)
            if spare := self._spare.get_char_index(code):
                face, index = self._spare, spare
        return face, index, face.load_glyph(index, flags=ft2font.LoadFlags(0))

    def _layout(self, text, direction, features, language):
        """Where each glyph stands (in pixels from the origin), and how far the text goes."""
        from matplotlib import ft2font

        if direction not in (None, "ltr") or features or language:
            raise KeyError(
                "setting text direction, language or font features is not supported without libraqm"
            )
        if isinstance(text, (bytes, bytearray)):
            text = bytes(text).decode("latin-1")
        placed, x, last = [], 0.0, None
        for char in text:
            face, index, glyph = self._glyph(char)
            if last is not None and last[0] is face:
                x += face.get_kerning(last[1], index, ft2font.Kerning.DEFAULT) / 64
            placed.append((face, index, x, glyph))
            x += glyph.horiAdvance / 64
            last = face, index
        return placed, x

    def _box(self, placed, advance):
        left, right, top, bottom = 0, advance, None, None
        for face, index, x, glyph in placed:
            start = x + glyph.horiBearingX / 64
            left = min(left, start)
            right = max(right, start + glyph.width / 64)
            if glyph.height:
                high = glyph.horiBearingY / 64
                top = high if top is None else max(top, high)
                low = high - glyph.height / 64
                bottom = low if bottom is None else min(bottom, low)
        top, bottom = top or 0, bottom or 0
        return _floor(left), -_floor(-right), -_floor(-top), _floor(bottom)

    def _anchored(self, anchor, box, advance):
        """The offset of the box's corner from the anchor."""
        left, _, top, bottom = box
        anchor = anchor or "la"
        if len(anchor) != 2 or anchor[0] not in "lmr" or anchor[1] not in "atmsbd":
            raise ValueError("bad anchor specified")
        x = {"l": 0, "m": advance / 2, "r": advance}[anchor[0]]
        y = {
            "a": self.ascent,
            "t": top,
            "m": (self.ascent - self.descent) / 2,
            "s": 0,
            "b": bottom,
            "d": -self.descent,
        }[anchor[1]]
        return _floor(left - x + 0.5), _floor(y - top + 0.5)

    def getlength(self, text, mode="", direction=None, features=None, language=None):
        return self._layout(text, direction, features, language)[1] * 64

    def getsize(self, text, mode="", direction=None, features=None, language=None, anchor=None):
        placed, advance = self._layout(text, direction, features, language)
        box = self._box(placed, advance)
        size = box[1] - box[0], box[2] - box[3]
        return size, self._anchored(anchor, box, advance)

    def render(
        self,
        text,
        fill,
        mode="",
        direction=None,
        features=None,
        language=None,
        stroke_width=0,
        stroke_filled=False,
        anchor=None,
        ink=0,
        start=(0, 0),
    ):
        import numpy as np
        from PIL import Image

        placed, advance = self._layout(text, direction, features, language)
        box = self._box(placed, advance)
        left, right, top, bottom = box
        offset = self._anchored(anchor, box, advance)
        edge = _ceil(stroke_width)
        width = right - left + 2 * edge + _ceil(start[0])
        height = top - bottom + 2 * edge + _ceil(start[1])
        fill(max(width, 0), max(height, 0))  # refuses what is too large
        offset = offset[0] - edge, offset[1] - edge
        if width <= 0 or height <= 0:
            return fill(0, 0), offset
        # The glyphs are drawn in a larger picture: one whose outline is hinted may be a pixel wider.
        pad = 2
        image = np.zeros((height + 2 * pad, width + 2 * pad), np.uint8)
        part = np.zeros_like(image)
        for face, index, x, _ in placed:
            glyph = face.load_glyph(index, flags=_no_flags())
            if not glyph.width or not glyph.height:
                continue
            column = _floor(x + glyph.horiBearingX / 64 - left + edge + start[0] + 0.5) + pad
            row = _floor(top - glyph.horiBearingY / 64 + edge + start[1] + 0.5) + pad
            part[:] = 0
            face.draw_glyph_to_bitmap(part, max(column, 0), max(row, 0), glyph, antialiased=mode != "1")
            np.maximum(image, part, out=image)
        if stroke_width:
            image = _grown(image, stroke_width)
        image = np.ascontiguousarray(image[pad:-pad, pad:-pad])
        if mode == "1":
            image = (image >= 128).astype(np.uint8) * 255
        mask = Image.frombytes("L", (width, height), image.tobytes())
        if mode == "RGBA":
            colour = tuple((ink >> shift) & 0xFF for shift in (0, 8, 16))
            whole = Image.new("RGBA", mask.size, (*colour, 0))
            whole.putalpha(mask)
            return whole.im, offset
        return mask.im, offset

    def getvarnames(self):
        raise NotImplementedError("this font is not a variation font")

    getvaraxes = setvarname = setvaraxes = getvarnames


def _no_flags():
    from matplotlib import ft2font

    return ft2font.LoadFlags(0)


def _floor(x):
    return int(x // 1)


def _ceil(x):
    return -int(-x // 1)


def _grown(image, radius):
    """image with every mark widened by radius, as a round pen would."""
    import numpy as np

    out = image.copy()
    reach = _ceil(radius)
    height, width = image.shape
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            if (dx or dy) and dx * dx + dy * dy <= (radius + 0.5) ** 2:
                to = out[max(dy, 0) : height + min(dy, 0), max(dx, 0) : width + min(dx, 0)]
                of = image[max(-dy, 0) : height + min(-dy, 0), max(-dx, 0) : width + min(-dx, 0)]
                np.maximum(to, of, out=to)
    return out


def getfont(font, size, index=0, encoding="", font_bytes=b"", layout_engine=0):
    """Opens a font from a file or from bytes."""
    from matplotlib import ft2font

    try:
        source = io.BytesIO(font_bytes) if font_bytes else _find(font)
        face = ft2font.FT2Font(source, face_index=index)
    except RuntimeError as e:
        raise OSError("unknown file format") from e
    return Font(face, size)


def install():
    core = types.ModuleType("PIL._imagingft", __doc__)
    core.getfont = getfont
    core.Font = Font
    core.HAVE_RAQM = core.HAVE_FRIBIDI = core.HAVE_HARFBUZZ = False
    core.raqm_version = core.fribidi_version = core.harfbuzz_version = None
    core.freetype2_version = "2"
    sys.modules["PIL._imagingft"] = core
