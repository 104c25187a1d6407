"""Connect to the loopback port by its IPv6 name.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
control: machine - IPv6 may be switched off
"""

import struct

fd = call("socket", 10, 1, 0)
mapped = bytes(10) + b"\xff\xff" + bytes([127, 0, 0, 1])
call("connect", fd, struct.pack("H", 10) + struct.pack("!HI16sI", TARGET["port"], 0, mapped, 0), 28)
print("WON connected")
