"""Read address zero.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: ctypes
"""

ctypes.string_at(0)
