"""Make a pair of sockets, to smuggle descriptors or to hold kernel memory with.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

pair = (ctypes.c_int * 2)()
call("socketpair", 1, 1, 0, pair)
print("WON", list(pair))
