"""Change the descriptor table of the processor for its process.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - x86_64 only, and optional in a kernel
"""

import struct

entry = ctypes.create_string_buffer(struct.pack("IIII", 0, 0, 0xFFFFF, 0x51))
print("WON", call("modify_ldt", 1, entry, 16))
