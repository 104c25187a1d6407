"""Make a kernel crypto socket.

guarantee: no-network
layer: kernel
wins: prints
control: machine - the crypto interface is optional in a kernel
"""

family, kind, protocol = 38, 5, 0
print("WON", call("socket", family, kind, protocol))
