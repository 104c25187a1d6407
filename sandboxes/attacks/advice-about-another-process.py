"""Give the kernel advice about the memory of another process.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - process_madvise needs CAP_SYS_NICE over the machine, which no user namespace gives
"""

import struct

MADV_COLD = 20
pidfd = call("pidfd_open", TARGET["host"], 0)
span = ctypes.create_string_buffer(struct.pack("QQ", TARGET["address"] & ~4095, 4096))
print("WON", call("process_madvise", pidfd, span, 1, MADV_COLD, 0))
