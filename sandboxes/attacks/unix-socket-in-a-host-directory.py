"""Leave a Unix socket in a host directory by binding it.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 1, 1, 0)
address = struct.pack("H", 1) + (TARGET["inbox"] + "/s").encode() + b"\0"
call("bind", fd, address, len(address))
