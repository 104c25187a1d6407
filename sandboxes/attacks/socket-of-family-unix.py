"""Make a Unix stream socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

family, kind, protocol = 1, 1, 0
print("WON", call("socket", family, kind, protocol))
