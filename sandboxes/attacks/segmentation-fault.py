"""Read address zero.

guarantee: host-integrity
layer: kernel
wins: breaks
"""

ctypes.string_at(0)
