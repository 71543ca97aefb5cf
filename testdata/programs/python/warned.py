# A warning is that of the program's line, where one of the libraries' functions has something of ours around it.
import sys
import warnings

import numpy as np
import pandas as pd

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    first = sys._getframe().f_lineno
    np.nanmax([np.nan])
    np.fix(2.5)
    pd.factorize(pd.Series([1, 2]).rename("x"))
    np.polyfit([1, 1], [2, 2], 1)
where = [(w.filename.rpartition("/")[2], w.lineno - first) for w in caught]
assert where == [("warned.py", 1), ("warned.py", 2), ("warned.py", 4)], where

# pandas counts its own frames itself, and ours may lie between them.
days = pd.Series([1], index=pd.date_range("2026-01-01", periods=1))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    first = sys._getframe().f_lineno
    business = pd.period_range("2026-01-01", periods=1, freq="B")
    pd.Series([1], index=business).reindex(business)
    days.reindex(pd.period_range("2026-01-01", periods=1, freq="B"))
assert {(w.filename.rpartition("/")[2], w.lineno - first) for w in caught} <= {("warned.py", n) for n in (1, 2, 3)} and caught, caught
