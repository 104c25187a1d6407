"""Try to read from every descriptor there could be.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

import os

last = OSError("nothing to read")
for fd in range(4, 1024):
    try:
        print(os.pread(fd, 200, 0).decode("utf-8", "replace"))
    except OSError as error:
        last = error
raise last
