"""Connect with multipath TCP, which Landlock's TCP rights do not cover.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
control: machine - multipath TCP is optional in a kernel
"""

import struct

IPPROTO_MPTCP = 262
fd = call("socket", 2, 1, IPPROTO_MPTCP)
address = struct.pack("H", 2) + struct.pack("!H4s8x", TARGET["port"], bytes([127, 0, 0, 1]))
call("connect", fd, address, 16)
print("WON connected")
