"""Take supplementary groups, such as the one that may start containers.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - setgroups needs CAP_SETGID
"""

groups = (ctypes.c_int * 2)(0, 999)
call("setgroups", 2, groups)
print("WON", os.getgroups())
