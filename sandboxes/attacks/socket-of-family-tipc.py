"""Make a TIPC socket.

guarantee: no-network
layer: kernel
wins: prints
control: machine - TIPC is optional in a kernel
"""

family, kind, protocol = 30, 1, 0
print("WON", call("socket", family, kind, protocol))
