"""Make an SCTP socket.

guarantee: no-network
layer: kernel
wins: prints
control: machine - SCTP is optional in a kernel
"""

family, kind, protocol = 2, 1, 132
print("WON", call("socket", family, kind, protocol))
