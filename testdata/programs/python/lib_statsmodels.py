# statsmodels fits by arrays and by formula.
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

x = np.arange(10.0)
fit = sm.OLS(2 * x + 1, sm.add_constant(x)).fit()
assert fit.params.round(6).tolist() == [1, 2]
frame = pd.DataFrame({"x": x, "g": list("ab") * 5, "y": 3 * x + np.tile([0, 5], 5)})
fit = smf.ols("y ~ x + C(g)", frame).fit()
assert round(fit.params["x"], 6) == 3 and round(fit.params["C(g)[T.b]"], 6) == 5
assert "R-squared" in str(fit.summary())
