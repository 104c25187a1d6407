"""Find supplementary groups that nobody took away.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - whoever starts the host may have no groups
"""

groups = (ctypes.c_int * 64)()
count = call("getgroups", 64, groups)
if count == 0:
    raise PermissionError(1, "no supplementary group is left")
print("WON", list(groups)[:count])
