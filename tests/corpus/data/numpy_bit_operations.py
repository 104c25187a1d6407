import numpy as np

a = np.array([0b1010, 0b0110], dtype=np.uint8)
print(a & 2, a | 1, a ^ 0xFF, ~a, a << 1, a >> 1, np.unpackbits(a), np.packbits([1, 0, 1, 0, 1, 0, 1, 0]), np.binary_repr(10, 8), np.bitwise_and.reduce(a), np.logical_xor(a > 7, a > 3), [np.base_repr(n, 16) for n in a])
print(a.tobytes(), np.array([1, 2], dtype="<i4").tobytes().hex(), a.astype(bool), np.gcd(12, 18), np.lcm.reduce([4, 6]), np.floor_divide(7, 2), divmod(np.int64(7), 2), np.mod(-7, 3), np.power(2, 10))
