"""Make an IPv4 stream socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

family, kind, protocol = 2, 1, 0
print("WON", call("socket", family, kind, protocol))
