"""A table's text is what pandas itself makes of it, however wide it and the terminal are, and names of types mean what they did."""

import os
import random
import unittest.mock

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionDtype, register_extension_dtype
from pandas.core.dtypes.base import Registry, _registry
from pandas.io.formats.string import StringFormatter

draw = random.Random(1)


def column(rows):
    return draw.choice(
        (
            lambda: [draw.randrange(10 ** draw.randrange(1, 12)) for _ in range(rows)],
            lambda: [draw.choice((None, 1.5, 1e9, -1e-7, float("inf"))) for _ in range(rows)],
            lambda: [draw.choice(("a", "二三", "", None, "x\ny", "long " * 9)) for _ in range(rows)],
            lambda: pd.date_range("2026-01-01", periods=rows),
            lambda: pd.Categorical([draw.choice("ab") for _ in range(rows)]),
            lambda: [[1, 2]] * rows,
            lambda: [True] * rows,
        )
    )()


def table():
    rows = draw.choice((1, 2, 5, 70))
    frame = pd.DataFrame({f"c{i}" * draw.choice((1, 1, 4)): column(rows) for i in range(draw.choice((1, 2, 3, 8, 30, 90)))})
    match draw.randrange(5):
        case 0:
            frame.columns = pd.MultiIndex.from_product([["top"], frame.columns])
        case 1:
            frame.index = pd.Index([f"row {i}" for i in range(rows)], name="name")
        case 2:
            frame.columns.name = "columns"
        case 3:
            frame = frame.describe(include="all")
    return frame


fits = StringFormatter._fit_strcols_to_terminal_width
cut = fits.__wrapped__
for number in range(40):
    frame = table()
    with unittest.mock.patch.dict(os.environ, COLUMNS=str(draw.choice((20, 80, 81, 120, 400)))), pd.option_context(
        "display.max_rows", draw.choice((None, 4, 60)),
        "display.show_dimensions", draw.choice((True, False, "truncate")),
        "display.unicode.east_asian_width", draw.random() < 0.2,
    ):  # fmt: skip
        index = draw.random() < 0.8
        text = repr(frame), frame.to_string(max_cols=0, line_width=80, index=index)
        StringFormatter._fit_strcols_to_terminal_width = cut
        stock = repr(frame), frame.to_string(max_cols=0, line_width=80, index=index)
        StringFormatter._fit_strcols_to_terminal_width = fits
        assert text == stock, (number, text, stock)

find, ask = Registry.find, Registry.find.__wrapped__
names = [*np.sctypeDict, "category", "string", "str", "Int64", "datetime", "datetime64[ns]", "datetime64[ns, UTC]", "period[D]", "no type"]
for name in names:
    assert find(_registry, name) == ask(_registry, name), name
for kind in (int, np.float64, pd.CategoricalDtype, pd.Int64Dtype(), np.dtype("int8")):
    assert find(_registry, kind) == ask(_registry, kind), kind


@register_extension_dtype
class Mine(ExtensionDtype):
    name = "float64"
    type = float

    @classmethod
    def construct_array_type(cls):
        return pd.arrays.NumpyExtensionArray


assert isinstance(find(_registry, "float64"), Mine)


class Loud:
    shown = 0

    def __repr__(self):
        Loud.shown += 1
        return "loud"


repr(pd.DataFrame({"a": [Loud()] * 3}))
assert Loud.shown == 3, Loud.shown
