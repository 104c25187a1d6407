"""Duplicate every descriptor there could be, and read from the copies.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

last = OSError("nothing to read")
for fd in range(4, 1024):
    try:
        copy = call("dup", fd)
        print(os.pread(copy, 200, 0).decode("utf-8", "replace"))
        os.close(copy)
    except OSError as error:
        last = error
raise last
