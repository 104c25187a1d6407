x = 0b1011
print(x & 6, x | 4, x ^ 15, ~x, x << 3, x >> 1, bin(x), hex(255), oct(8), int("ff", 16), int("0b101", 0))
print(x.bit_length(), bin(x).count("1"), (5).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "big"))
x <<= 2
x |= 1
x ^= 0xFF
x &= 0x7F
x >>= 1
x **= 2
x //= 3
x %= 100
print(x, divmod(17, 5), pow(3, 4, 5), abs(-3), 7 // -2, -7 % 3)
