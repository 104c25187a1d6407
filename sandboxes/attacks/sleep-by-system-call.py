"""Sleep for an hour with the raw system call.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
needs: ctypes
"""

import struct

hour = ctypes.create_string_buffer(struct.pack("qq", 3600, 0))
while True:
    call("clock_nanosleep", 1, 0, hour, 0)
