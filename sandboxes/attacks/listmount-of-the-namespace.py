"""List the mounts with listmount(2), newer than most filters.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - listmount is in Linux 6.8 and later
"""

import struct

request = ctypes.create_string_buffer(struct.pack("IIQQ", 24, 0, 0xFFFFFFFFFFFFFFFF, 0))
found = ctypes.create_string_buffer(8 * 64)
count = call(458, request, found, 64, 0)
if count < 2:
    raise FileNotFoundError(2, "there is no mount but the root")
print("WON", count)
