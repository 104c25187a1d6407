"""Make a routing netlink socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

family, kind, protocol = 16, 3, 0
print("WON", call("socket", family, kind, protocol))
