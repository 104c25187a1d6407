"""Open a performance counter, which measures more than its own process.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - kernel.perf_event_paranoid may forbid it
"""

import struct

attributes = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 1 | 1 << 5 | 1 << 6) + bytes(64))
print("WON", call("perf_event_open", attributes, 0, -1, -1, 0))
