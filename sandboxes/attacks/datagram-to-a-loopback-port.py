"""Send a UDP datagram to the host; Landlock does not cover UDP.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
"""

import struct

fd = call("socket", 2, 2, 0)
address = struct.pack("H", 2) + struct.pack("!H4s8x", TARGET["udp"], bytes([127, 0, 0, 1]))
call("sendto", fd, "hello", 5, 0, address, 16)
print("WON sent")
