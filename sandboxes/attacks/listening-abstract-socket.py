"""Listen on an abstract Unix socket, for another session to connect to.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 1, 1, 0)
address = struct.pack("H", 1) + b"\0" + TARGET["tag"].encode() + b"x"
buffer = ctypes.create_string_buffer(address, len(address))
call("bind", fd, buffer, len(address))
call("listen", fd, 1)
print("WON listening")
