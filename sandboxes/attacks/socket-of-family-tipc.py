"""Make a TIPC socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - TIPC is optional in a kernel
"""

import errno

family, kind, protocol = 30, 1, 0
try:
    with open("/proc/net/protocols") as file:
        loaded = "\nTIPC " in file.read()
except OSError:
    loaded = True  # it cannot be seen behind walls
if not loaded:
    raise OSError(errno.EAFNOSUPPORT, "it is not loaded, and to ask would load it")
print("WON", call("socket", family, kind, protocol))
