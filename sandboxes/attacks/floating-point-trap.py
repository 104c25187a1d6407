"""Overwrite the stack of the interpreter.

guarantee: host-integrity
layer: kernel
wins: breaks
"""

ctypes.memset(ctypes.addressof(ctypes.c_int(0)) & ~0xFFFF, 0xCC, 1 << 20)
