"""Load a BPF map, the first step of running code in the kernel.

guarantee: no-exec
layer: kernel
wins: prints
control: root - bpf needs CAP_BPF where kernel.unprivileged_bpf_disabled is set
"""

import struct

BPF_MAP_CREATE, BPF_MAP_TYPE_ARRAY = 0, 2
attributes = ctypes.create_string_buffer(struct.pack("IIII", BPF_MAP_TYPE_ARRAY, 4, 4, 1) + bytes(100))
print("WON", call("bpf", BPF_MAP_CREATE, attributes, 72))
