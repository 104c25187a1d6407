"""Send a datagram to a Unix socket by its path, as to a log daemon.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 1, 2, 0)
address = struct.pack("H", 1) + TARGET["datagram"].encode() + b"\0"
call("sendto", fd, "hello", 5, 0, address, len(address))
print("WON sent")
