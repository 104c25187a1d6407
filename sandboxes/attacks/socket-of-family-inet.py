"""Make an IPv4 stream socket.

guarantee: no-network
layer: kernel
wins: prints
"""

family, kind, protocol = 2, 1, 0
print("WON", call("socket", family, kind, protocol))
