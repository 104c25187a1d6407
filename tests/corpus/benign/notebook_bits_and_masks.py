def popcount(n):
    return bin(n).count("1")


flags = {"read": 1 << 0, "write": 1 << 1, "exec": 1 << 2}
mode = flags["read"] | flags["exec"]
print([name for name, bit in flags.items() if mode & bit], f"{mode:03b}", mode ^ 0b111, ~mode & 0b111)
items = ["a", "b", "c"]
subsets = [[x for i, x in enumerate(items) if mask >> i & 1] for mask in range(1 << len(items))]
print(subsets, len(subsets))
print([n for n in range(1, 40) if n & (n - 1) == 0], popcount(255), (1000).bit_length(), (37).bit_count())
gray = [i ^ (i >> 1) for i in range(8)]
print([f"{g:03b}" for g in gray])
print(hex(0xFF & ~0x0F), 0b1010 >> 1, -8 >> 1, 5 & -5, int("1101", 2), oct(64), 0o17, format(10, "#06b"))
ip = "192.168.10.77"
number = sum(int(part) << (8 * (3 - i)) for i, part in enumerate(ip.split(".")))
mask = 0xFFFFFFFF << (32 - 26) & 0xFFFFFFFF
network = number & mask
print(number, ".".join(str(network >> s & 255) for s in (24, 16, 8, 0)), 2 ** (32 - 26) - 2)
checksum = 0
for byte in b"hello":
    checksum = (checksum << 1 ^ byte) & 0xFF
print(checksum)
