import base64, binascii, hashlib, zlib
data = "Hello, wörld".encode("utf-8")
print(hashlib.sha256(data).hexdigest()[:16], hashlib.md5(data).hexdigest())
encoded = base64.b64encode(data)
print(encoded, base64.b64decode(encoded).decode(), binascii.hexlify(b"\x00\xff"))
packed = zlib.compress(data * 20)
print(len(packed) < len(data) * 20, zlib.decompress(packed) == data * 20, zlib.crc32(b"abc"))
print(data.hex(), bytes.fromhex("4869"), bytearray(b"ab") + b"c", data[:5], list(b"AB"))
