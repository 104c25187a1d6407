"""Listen on a TCP port, for somebody outside to connect to.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 2, 1, 0)
address = struct.pack("H", 2) + struct.pack("!H4s8x", 0, bytes([127, 0, 0, 1]))
call("bind", fd, address, 16)
call("listen", fd, 1)
print("WON listening")
