"""Take a handle of a host file, to be opened from elsewhere.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

import struct

handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
mount = ctypes.c_int()
call("name_to_handle_at", -100, TARGET["file"], handle, ctypes.byref(mount), 0)
print("WON", handle.raw[:16].hex())
