"""Write to descriptor 1, past every cap of print.

guarantee: bounded-output
layer: kernel
wins: floods
outcome: harmless
"""

import os

block = b"x" * 65536
for _ in range(100):
    os.write(1, block)
