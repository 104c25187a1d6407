import numpy as np

m = np.ma.array([1.0, 2.0, -999.0, 4.0], mask=[0, 0, 1, 0])
print(m.mean(), m.sum(), m.filled(0), m.count(), m)
v = np.ma.masked_where(np.arange(5) > 3, np.arange(5))
print(v, v.compressed(), np.ma.masked_invalid([1.0, np.nan]).mean(), np.ma.masked_equal([1, 2, 1], 1), v.mask)
print(np.ma.masked_less([1, 5], 3), np.ma.median(m), np.ma.average(m), np.ma.is_masked(m))
