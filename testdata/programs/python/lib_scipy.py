# scipy fits, optimizes, integrates, transforms and tests.
import numpy as np
from scipy import fft, integrate, interpolate, linalg, optimize, signal, sparse, spatial, stats

t = np.linspace(0, 4, 40)
y = 2.5 * np.exp(-1.3 * t) + 0.5
found, _ = optimize.curve_fit(lambda t, a, k, c: a * np.exp(-k * t) + c, t, y, p0=(1, 1, 0))
assert found.round(3).tolist() == [2.5, 1.3, 0.5]
plan = optimize.linprog([-1, -2], A_ub=[[1, 1], [1, 3]], b_ub=[4, 6])
assert plan.status == 0 and plan.x.round(3).tolist() == [3.0, 1.0]
assert round(optimize.brentq(lambda x: x**2 - 2, 0, 2), 6) == 1.414214
assert round(optimize.minimize(optimize.rosen, [1.3, 0.7]).fun, 6) == 0
decay = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], rtol=1e-8)
assert round(decay.y[0, -1], 5) == 0.36788
assert round(integrate.quad(np.sin, 0, np.pi)[0], 9) == 2
assert np.abs(fft.rfft(np.sin(2 * np.pi * 5 * np.arange(100) / 100))).argmax() == 5
r, p = stats.pearsonr([1, 2, 3, 4], [2, 4, 6, 9])
assert round(r, 4) == 0.9944 and p < 0.05
assert round(stats.norm.cdf(1.96), 4) == 0.975
assert round(linalg.det([[1, 2], [3, 4]]), 9) == -2
assert interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5) == 2.25
assert sparse.eye_array(3).sum() == 3
assert spatial.KDTree([[0, 0], [5, 5]]).query([4, 4])[1] == 1
assert signal.find_peaks([0, 1, 0, 2, 0])[0].tolist() == [1, 3]
