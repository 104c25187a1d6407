"""Load a BPF map, the first step of running code in the kernel.

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - bpf may need CAP_BPF over the machine (kernel.unprivileged_bpf_disabled)
"""

import struct

BPF_MAP_CREATE, BPF_MAP_TYPE_ARRAY = 0, 2
attributes = ctypes.create_string_buffer(struct.pack("IIII", BPF_MAP_TYPE_ARRAY, 4, 4, 1) + bytes(100))
print("WON", call("bpf", BPF_MAP_CREATE, attributes, 72))
