"""List the root directory.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
"""

import os

names = os.listdir("/")
if not names:
    raise FileNotFoundError(2, "the root is empty")
print("WON", names)
