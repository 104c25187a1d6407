import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial import polynomial as P

p = Polynomial([1, 2, 3])
print(p(2), p.deriv().coef, p.integ().coef, p.roots(), (p * p).coef, p.degree())
x = np.linspace(0, 1, 20)
fit = Polynomial.fit(x, 1 + 2 * x + 3 * x**2, 2).convert()
print(fit.coef.round(6), P.polyval(2, [1, 2, 3]), P.polyfit(x, x**2, 2).round(6))
c = np.polynomial.chebyshev.chebfit(x, x**2, 2)
print(c.round(6), np.polynomial.Legendre([1, 2])(0.5), np.polyder([1, 2, 3]), np.poly([1, 2]))
q = np.poly1d([1, -3, 2])
print(q, q(5), q.r, q.deriv())
