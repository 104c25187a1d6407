"""Make a virtual machine socket.

guarantee: no-network
layer: kernel
wins: prints
control: machine - vsock is optional in a kernel
"""

family, kind, protocol = 40, 1, 0
print("WON", call("socket", family, kind, protocol))
