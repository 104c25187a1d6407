"""Connect to a Unix socket by its path, as to a Docker daemon.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 1, 1, 0)
address = struct.pack("H", 1) + TARGET["socket"].encode() + b"\0"
call("connect", fd, address, len(address))
print("WON connected")
