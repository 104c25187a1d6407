import numpy as np

np.set_printoptions(precision=3, suppress=True, linewidth=60)
print(np.random.default_rng(0).random((3, 4)) * 100)
print(np.array([1e-10, 1.0]), np.arange(2000))
with np.printoptions(precision=1):
    print(np.array([1.23456]))
print(np.array2string(np.arange(5), separator=", "), np.array_repr(np.eye(2)), repr(np.float64(1.5)), np.float32(0.1), [np.int64(3)], np.bool_(True))
print(np.get_printoptions()["precision"], np.format_float_positional(0.1, 3), f"{np.float64(2.5):.3f}", "%d" % np.int64(4), str(np.int32(4)) + "!")
