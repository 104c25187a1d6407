"""Read a secret in the memory of the host.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

import struct

text = ctypes.create_string_buffer(TARGET["length"])
local = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), TARGET["length"]))
remote = ctypes.create_string_buffer(struct.pack("QQ", TARGET["address"], TARGET["length"]))
call("process_vm_readv", TARGET["host"], local, 1, remote, 1, 0)
print(text.raw.decode())
