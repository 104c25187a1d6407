"""End another process with a signal queued to its thread.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

import struct

SI_QUEUE, SIGTERM = -1, 15
about = ctypes.create_string_buffer(struct.pack("iii", SIGTERM, 0, SI_QUEUE) + bytes(116))
call("rt_tgsigqueueinfo", another(TARGET["bystander"]), TARGET["bystander"], SIGTERM, about)
