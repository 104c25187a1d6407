"""End another process with a queued signal.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

import struct

SI_QUEUE, SIGTERM = -1, 15
about = ctypes.create_string_buffer(struct.pack("iii", SIGTERM, 0, SI_QUEUE) + bytes(116))
call("rt_sigqueueinfo", another(TARGET["bystander"]), SIGTERM, about)
