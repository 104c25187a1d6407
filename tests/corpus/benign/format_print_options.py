print("a", "b", sep="-", end="!\n")
print(*range(5), sep=", ")
print()
print("no newline", end="")
print(" | continued")
print("x", 1, None, [1], {"k": (1, 2)}, 1.0, 1e20, -0.0, sep="\t")
print("multi\nline", flush=True)

import io
buffer = io.StringIO()
print("captured", file=buffer)
print(repr(buffer.getvalue()))
