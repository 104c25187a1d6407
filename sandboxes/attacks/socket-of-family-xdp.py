"""Make an express data path socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - XDP sockets need CAP_NET_RAW
"""

family, kind, protocol = 44, 3, 0
print("WON", call("socket", family, kind, protocol))
