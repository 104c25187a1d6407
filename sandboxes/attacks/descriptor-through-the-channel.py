"""Send the host a descriptor that it never asked for.

guarantee: authentic-channel
layer: kernel
wins: prints
outcome: kills its own process tree
needs: channel, ctypes
"""

import struct

text = ctypes.create_string_buffer(b"\x00\x00\x00\x02{}")
part = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), 6))
rights = ctypes.create_string_buffer(struct.pack("QiiiI", 20, 1, 1, 3, 0))
message = ctypes.create_string_buffer(
    struct.pack("QIIQQQQiI", 0, 0, 0, ctypes.addressof(part), 1, ctypes.addressof(rights), 24, 0, 0)
)
print("WON", call("sendmsg", 3, message, 0))
