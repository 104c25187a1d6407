import zlib

data = "Prüfung: 100 € – ok\n".encode("utf-8") + bytes(range(12))


def hexdump(data, width=16):
    for offset in range(0, len(data), width):
        row = data[offset:offset + width]
        left = " ".join(f"{b:02x}" for b in row)
        right = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        yield f"{offset:08x}  {left:<{width * 3}} |{right}|"


print("\n".join(hexdump(data)))


def read_tlv(blob):
    position = 0
    while position < len(blob):
        kind, size = blob[position], int.from_bytes(blob[position + 1:position + 3], "big")
        value = blob[position + 3:position + 3 + size]
        if len(value) != size:
            raise EOFError(f"record at {position} is cut short")
        yield kind, value
        position += 3 + size


def tlv(kind, value):
    return bytes([kind]) + len(value).to_bytes(2, "big") + value


blob = tlv(1, b"name") + tlv(2, (300).to_bytes(2, "little")) + tlv(3, b"")
for kind, value in read_tlv(blob):
    print(kind, value, int.from_bytes(value, "little") if kind == 2 else "")
try:
    list(read_tlv(blob[:-4]))
except EOFError as e:
    print("EOFError:", e)
print(f"{zlib.crc32(blob):08x}", sum(blob) % 256, blob.hex()[:12], max(blob), blob.count(0), bytes(reversed(b"abc")))
