import struct
from collections import namedtuple

Header = namedtuple("Header", "magic version count")
record = struct.Struct("<I8sd")
people = [(1, b"ada", 36.5), (2, b"grace", 85.0)]
blob = struct.pack(">4sBH", b"DEMO", 2, len(people)) + b"".join(record.pack(*p) for p in people)
print(len(blob), struct.calcsize(">4sBH"), record.size, blob[:7].hex(" "))
header = Header._make(struct.unpack_from(">4sBH", blob))
print(header, header.magic.decode())
offset = struct.calcsize(">4sBH")
for number, name, age in record.iter_unpack(blob[offset:]):
    print(number, name.rstrip(b"\0").decode("ascii"), age)
try:
    struct.unpack("<I", b"\x00\x01")
except struct.error as e:
    print("struct.error:", e)
print(struct.unpack("<f", struct.pack("<f", 0.1))[0])
