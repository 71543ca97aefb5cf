"""What pandas does twice, or finds out by way of exceptions, done once. The results are its own. And what it counts of frames."""

import functools


def install():
    _print_once()
    _know_names()
    _count_frames()


def _print_once():
    """A table that fits the terminal is not cut to fit it, for which pandas formats all of it a second time."""
    from pandas.io.formats import string

    cut = string.StringFormatter._fit_strcols_to_terminal_width

    def _fit_strcols_to_terminal_width(self, strcols):
        text = self.adj.adjoin(1, *strcols)
        if not self.fmt.is_truncated_horizontally and max(map(len, text.split("\n"))) < string.get_terminal_size()[0]:
            return text
        return cut(self, strcols)

    functools.update_wrapper(_fit_strcols_to_terminal_width, cut)
    string.StringFormatter._fit_strcols_to_terminal_width = _fit_strcols_to_terminal_width


def _know_names():
    """A name of one of numpy's types is none of pandas's, which else asks each of its own types to take it and catches their
    refusals. Types that a program registers are asked."""
    import numpy as np
    from pandas.core.dtypes import base

    ask = base.Registry.find
    asked = len(base._registry.dtypes)
    numpys = frozenset(
        name for name in [*np.sctypeDict, "datetime"] if type(name) is str and ask(base._registry, name) is None
    )

    def find(self, dtype):
        if type(dtype) is str and dtype in numpys and len(self.dtypes) == asked:
            return None
        return ask(self, dtype)

    functools.update_wrapper(find, ask)
    base.Registry.find = find


def _count_frames():
    """How far away a program is that is to be warned: pandas looks for the first frame that is not its own, which may be ours."""
    from pandas.util import _exceptions

    def find_stack_level():
        import pandas

        frame, own, level = inspect.currentframe(), os.path.dirname(pandas.__file__), 0
        while frame:
            if frame.f_code.co_filename.startswith(own):
                level += 1
            elif not frame.f_code.co_filename.startswith("<cloche/"):
                break
            frame = frame.f_back
        return level

    # In place, as many modules have it by name; the frame is pandas' own, as before.
    original = _exceptions.find_stack_level
    original.__code__ = find_stack_level.__code__.replace(co_filename=original.__code__.co_filename)
