"""Overwrite the stack of the interpreter.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: ctypes
"""

ctypes.memset(ctypes.addressof(ctypes.c_int(0)) & ~0xFFFF, 0xCC, 1 << 20)
