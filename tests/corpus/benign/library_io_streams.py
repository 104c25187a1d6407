import io

text = io.StringIO("first line\nsecond line\nthird line\n")
print(text.readline().rstrip(), text.tell() > 0, [line.strip() for line in text])
text.seek(0)
print(text.read(5), text.readlines()[0].strip())
out = io.StringIO()
for i in range(3):
    out.write(f"row {i}\n")
print("total", 3, file=out, sep="=")
print(repr(out.getvalue()), out.tell())
binary = io.BytesIO()
binary.write(b"\x00\x01\x02")
binary.write("é".encode())
print(binary.getvalue(), binary.seek(1), binary.read(2), len(binary.getvalue()))
wrapper = io.TextIOWrapper(io.BytesIO("ä\nb\n".encode("utf-8")), encoding="utf-8")
print([line.strip() for line in wrapper])
with io.StringIO() as temporary:
    temporary.writelines(["a", "b"])
    kept = temporary.getvalue()
try:
    temporary.read()
except ValueError as e:
    print("ValueError:", e, "| kept", kept)
out.seek(0)
out.truncate()
print(repr(out.getvalue()))
