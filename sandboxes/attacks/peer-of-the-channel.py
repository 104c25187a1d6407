"""Ask the channel who its other end is: a pid, a uid and a gid of the host.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: channel, ctypes
"""

SOL_SOCKET, SO_PEERCRED = 1, 17
who = (ctypes.c_int * 3)()
size = ctypes.c_int(12)
call("getsockopt", 3, SOL_SOCKET, SO_PEERCRED, who, ctypes.byref(size))
print("WON", list(who))
