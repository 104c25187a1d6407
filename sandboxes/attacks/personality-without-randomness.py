"""Switch address randomisation off.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

ADDR_NO_RANDOMIZE = 0x0040000
print("WON", call("personality", ADDR_NO_RANDOMIZE))
