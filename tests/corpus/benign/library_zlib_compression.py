import zlib
import base64

text = (context[:3000]).encode("utf-8")
for level in (1, 6, 9):
    packed = zlib.compress(text, level)
    print(f"level {level}: smaller={len(packed) < len(text)} same={zlib.decompress(packed) == text}")
print(zlib.crc32(text) == zlib.crc32(bytes(text)), zlib.adler32(b"abc"))
engine = zlib.compressobj()
stream = b"".join([engine.compress(text[:100]), engine.compress(text[100:]), engine.flush()])
print(zlib.decompressobj().decompress(stream) == text)
try:
    zlib.decompress(b"not compressed")
except zlib.error as e:
    print("zlib.error:", str(e)[:9])
portable = base64.b85encode(zlib.compress(b"aaaa" * 100)).decode()
print(len(portable) < 60, zlib.decompress(base64.b85decode(portable))[:4])
repetition = lambda b: len(b) / len(zlib.compress(b))
print(repetition(b"ab" * 500) > repetition(text))
