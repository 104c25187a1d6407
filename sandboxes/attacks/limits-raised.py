"""Raise its own hard memory limit.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - raising a hard limit needs CAP_SYS_RESOURCE over the machine, which no user namespace gives
"""

RLIMIT_DATA = 2
wanted = (ctypes.c_ulong * 2)(1 << 40, 1 << 40)
call("prlimit64", 0, RLIMIT_DATA, wanted, 0)
print("WON raised")
