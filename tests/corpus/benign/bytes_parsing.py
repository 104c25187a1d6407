header = b"PK\x03\x04" + (20).to_bytes(2, "little") + b"name.txt"
print(header[:2] == b"PK", int.from_bytes(header[4:6], "little"), header[6:].decode("ascii"))
rows = b"a,1\nb,2\n".splitlines()
print([r.split(b",") for r in rows], b"".join(reversed(rows)), header.find(b"."), b"%d-%s" % (5, b"x"))
ba = bytearray(5)
ba[1:3] = b"hi"
ba.extend(b"!")
print(ba, bytes(ba).strip(b"\0"), ba.hex(" "))
