# sympy integrates, solves and prints.
import sympy as sp

x, n = sp.symbols("x n")
assert sp.integrate(sp.sin(x) ** 2, (x, 0, sp.pi)) == sp.pi / 2
assert sp.solve(x**2 - 2, x) == [-sp.sqrt(2), sp.sqrt(2)]
assert sp.summation(n, (n, 1, 100)) == 5050
assert sp.factor(x**3 - 1) == (x - 1) * (x**2 + x + 1)
assert sp.latex(x**2 / 2) == r"\frac{x^{2}}{2}"
assert sp.Matrix([[1, 2], [3, 4]]).det() == -2
assert str(sp.pi.evalf(30)) == "3.14159265358979323846264338328"
