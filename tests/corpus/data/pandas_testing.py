import numpy as np
import pandas as pd

a = pd.DataFrame({"x": [1, 2], "y": [0.1, 0.2]})
pd.testing.assert_frame_equal(a, a.copy())
pd.testing.assert_series_equal(a["x"], pd.Series([1, 2], name="x"))
pd.testing.assert_index_equal(a.index, pd.RangeIndex(2))
np.testing.assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
np.testing.assert_array_equal(np.arange(3), [0, 1, 2])
np.testing.assert_almost_equal(1.0, 1.00000001)
try:
    pd.testing.assert_frame_equal(a, a * 2)
except AssertionError as e:
    print(str(e).splitlines()[0])
try:
    np.testing.assert_array_equal([1, 2], [1, 3])
except AssertionError as e:
    print(str(e))
with np.testing.assert_raises(ZeroDivisionError):
    1 // 0
print("ok")
