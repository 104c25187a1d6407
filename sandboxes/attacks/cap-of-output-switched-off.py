"""Raise the worker's own output cap, then print ten megabytes.

guarantee: bounded-output
layer: kernel
wins: floods
outcome: harmless
needs: channel
"""

import gc

for found in gc.get_objects():
    if type(found).__name__ == "Output":
        found._cap = found._left = 1 << 40
for _ in range(160):
    print("x" * 65536)
