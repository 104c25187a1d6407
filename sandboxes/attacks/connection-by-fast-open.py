"""Connect with sendto(MSG_FASTOPEN): no connect system call is made.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
control: machine - TCP fast open may be switched off (net.ipv4.tcp_fastopen)
"""

import struct

MSG_FASTOPEN = 0x20000000
fd = call("socket", 2, 1, 0)
address = struct.pack("H", 2) + struct.pack("!H4s8x", TARGET["port"], bytes([127, 0, 0, 1]))
call("sendto", fd, "hello", 5, MSG_FASTOPEN, address, 16)
print("WON sent")
