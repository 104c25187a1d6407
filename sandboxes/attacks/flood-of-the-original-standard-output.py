"""Write to the interpreter's first standard output.

guarantee: bounded-output
layer: kernel
wins: floods
outcome: harmless
"""

import sys

for _ in range(100):
    sys.__stdout__.write("x" * 65536)
sys.__stdout__.flush()
