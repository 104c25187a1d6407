"""Connect to a TCP port of the host on the loopback device.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 2, 1, 0)
address = struct.pack("!H4s8x", TARGET["port"], bytes([127, 0, 0, 1]))
call("connect", fd, struct.pack("H", 2) + address, 16)
print("WON connected")
