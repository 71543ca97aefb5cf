"""Chinese, Japanese and Korean text in charts, without any setting of the user's."""

import logging
import os
import warnings

CJK = "/usr/share/fonts/cloche/NotoSansSC-Regular.ttf"


def quiet():
    """Silences what says that a font is missing: programs name the fonts of the machine they were
    written for, and what they get instead is readable. Must come before matplotlib's first import."""
    for name in ("matplotlib.font_manager", "matplotlib.mathtext"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from")


def install():
    """Adds the CJK font behind every list of fonts that matplotlib looks through."""
    if not os.path.exists(CJK):
        return
    from matplotlib import _mathtext, font_manager

    font_manager.fontManager.addfont(CJK)
    last = font_manager.fontManager.findfont(font_manager.FontProperties(fname=CJK))

    find = font_manager.FontManager._find_fonts_by_props

    def _find_fonts_by_props(self, prop, fontext="ttf", *args, **kwargs):
        paths = find(self, prop, fontext, *args, **kwargs)
        if fontext == "ttf" and last not in paths:
            paths.append(last)
        return paths

    font_manager.FontManager._find_fonts_by_props = _find_fonts_by_props

    # Text with a formula in it is laid out by other code, which looks at one font only.
    glyph = _mathtext.UnicodeFonts._get_glyph

    def _get_glyph(self, fontname, font_class, sym):
        if len(sym) == 1 and sym >= "\u2e80":
            font = font_manager.get_font(last)
            if font.get_char_index(ord(sym)):
                return font, ord(sym), False
        return glyph(self, fontname, font_class, sym)

    _mathtext.UnicodeFonts._get_glyph = _get_glyph
