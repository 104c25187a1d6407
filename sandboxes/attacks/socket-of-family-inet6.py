"""Make an IPv6 stream socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - IPv6 may be switched off
"""

family, kind, protocol = 10, 1, 0
print("WON", call("socket", family, kind, protocol))
