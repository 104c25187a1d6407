"""Break the interpreter itself by setting reference counts.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: ctypes
"""

ctypes.c_long.from_address(id(TARGET)).value = 1
ctypes.c_long.from_address(id(type(TARGET))).value = 0
del TARGET
for _ in range(1000):
    {}
ctypes.memset(id(dict), 0, 400)
{}
