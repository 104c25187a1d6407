import numpy as np

for value in (np.int64(5), np.float32(1.5), np.bool_(False), np.str_("s"), np.complex128(1j)):
    print(type(value), value.dtype, isinstance(value, np.generic), value.item())
print(np.result_type(np.int8, np.float32), np.can_cast("i8", "f4"), np.issubdtype(np.int32, np.integer), np.dtype("f8") == float, np.array([1.7]).astype(int), np.asarray([1, 2], dtype="float32"))
print(isinstance(np.arange(2), np.ndarray), isinstance(np.float64(1), float), np.isscalar(3), np.ndim([1]), np.shape([[1]]), int(np.int64(3)) + 1, float(np.float32(2)), np.array(5).item())
x = np.arange(4, dtype=np.int16)
x[0] = 9
y = x.view()
z = x.copy()
z[1] = 100
print(x, y, z, np.shares_memory(x, y), np.may_share_memory(x, z))
