"""Make a raw packet socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - packet sockets need CAP_NET_RAW
"""

family, kind, protocol = 17, 3, 768
print("WON", call("socket", family, kind, protocol))
