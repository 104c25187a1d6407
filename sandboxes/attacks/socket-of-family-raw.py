"""Make a raw IP socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - raw sockets need CAP_NET_RAW
"""

family, kind, protocol = 2, 3, 1
print("WON", call("socket", family, kind, protocol))
