"""Add a seccomp filter that answers its own calls: a way to confuse the host.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

import struct

PR_SET_NO_NEW_PRIVS, RET_ALLOW = 38, 0x7FFF0000
call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
instruction = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, RET_ALLOW))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(instruction)))
print("WON", call("seccomp", 1, 0, program))
