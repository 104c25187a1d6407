"""Make a device event netlink socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

family, kind, protocol = 16, 3, 15
print("WON", call("socket", family, kind, protocol))
