text = "Grüezi Zürich – 5 €"
for encoding in ("utf-8", "utf-16-le", "latin-1", "cp1252"):
    try:
        raw = text.encode(encoding)
        print(f"{encoding:<10}{len(raw):>3} bytes, back: {raw.decode(encoding) == text}")
    except UnicodeEncodeError as e:
        print(f"{encoding:<10}cannot encode {e.object[e.start:e.end]!r} ({e.reason.split('(')[0].strip()})")
print(text.encode("ascii", errors="replace"), text.encode("ascii", "ignore"), text.encode("ascii", "xmlcharrefreplace")[:12])
try:
    b"\xff\xfeabc".decode("utf-8")
except UnicodeDecodeError as e:
    print(e.start, e.reason, e.encoding)
data = bytearray(b"hello")
data[0:1] = b"J"
data += b"!"
print(data, data.decode().upper(), bytes([72, 105]), b"a,b".split(b","), list(b"az"), b"%d items" % 3, int.from_bytes(b"\x01\x00", "big"))
print((1024).to_bytes(4, "little"), bytes.fromhex("de ad"), b"\xde\xad".hex(":"), b"abc"[0], b"x" in b"xyz")
