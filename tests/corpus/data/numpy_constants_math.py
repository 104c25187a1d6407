import numpy as np

x = np.linspace(0, np.pi, 5)
print(np.sin(x).round(4), np.cos(x).round(4), np.exp(1), np.log([1, np.e]), np.log10(1000), np.log2(8), np.log1p(0), np.sqrt(16), np.cbrt(27), np.deg2rad(180), np.arctan2(1, 1), np.hypot(3, 4), np.floor(2.7), np.ceil(2.1), np.rint(2.5), np.trunc(-2.7), np.round(2.567, 2), np.around([1.25], 1))
print(np.prod([1, 2, 3]), np.cumprod([1, 2, 3]), np.max([1, 5]), np.argmin([3, 1]), np.abs(-3), np.exp2(3), np.expm1(0), np.tanh(0), np.sinc(0), np.euler_gamma, np.minimum([1, 5], 3), np.fmax(np.nan, 1), np.absolute(-1), np.ptp([1, 9]), np.e)
