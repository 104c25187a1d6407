"""Give itself every capability.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - only root has them
"""

import struct

header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
sets = ctypes.create_string_buffer(24)
call("capget", header, sets)
effective, permitted, _, _, permitted_high, _ = struct.unpack("6I", sets.raw)
wanted = struct.pack("6I", permitted | 1 << 21, permitted | 1 << 21, 0, permitted_high, permitted_high, 0)
call("capset", header, ctypes.create_string_buffer(wanted))
print("WON CAP_SYS_ADMIN")
