import numpy as np

with np.errstate(divide="ignore", invalid="ignore"):
    r = np.array([1.0, 0.0, -1.0]) / 0
print(r, np.isfinite(r), np.nan_to_num(r, posinf=9, neginf=-9), np.inf > 1, -np.inf, np.nan == np.nan)
old = np.seterr(all="ignore")
print(np.log(0), np.sqrt(-1.0), sorted(old))
np.seterr(**old)
print(np.finfo(float).eps, np.iinfo(np.int32).max, np.finfo(np.float32).max, np.int8(127), np.uint8(200).dtype, np.isclose(0.1 + 0.2, 0.3), np.spacing(1.0))
try:
    with np.errstate(all="raise"):
        np.array([1.0]) / 0
except FloatingPointError as e:
    print("FloatingPointError", e)
