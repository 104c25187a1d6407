"""Write to descriptor 2, past every cap.

guarantee: bounded-output
layer: kernel
wins: floods
outcome: harmless
"""

import os

block = b"x" * 65536
for _ in range(100):
    os.write(2, block)
