"""Disconnect the channel and connect it to another listener.

guarantee: no-network
layer: kernel
wins: connects
outcome: kills its own process tree
needs: channel, ctypes
"""

import struct

AF_UNSPEC = 0
kept = -1
try:
    kept = call("dup", 3)  # the host ends whoever has closed the channel
except OSError:
    pass
try:
    call("connect", 3, struct.pack("H14x", AF_UNSPEC), 16)
except OSError:
    pass
address = struct.pack("H", 1) + TARGET["socket"].encode() + b"\0"
fd = call("socket", 1, 1, 0)
call("dup3", fd, 3, 0)
call("connect", 3, address, len(address))
try:
    call("close", kept)
except OSError:
    pass
print("WON connected")
