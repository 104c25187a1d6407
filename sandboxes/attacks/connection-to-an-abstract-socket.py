"""Connect to an abstract Unix socket, which no file system root hides.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 1, 1, 0)
address = struct.pack("H", 1) + b"\0" + TARGET["abstract"].encode()
buffer = ctypes.create_string_buffer(address, len(address))
call("connect", fd, buffer, len(address))
print("WON connected")
