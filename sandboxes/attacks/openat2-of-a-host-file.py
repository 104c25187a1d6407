"""Read a host file with openat2(2), whose flags no seccomp filter can read.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

import struct

AT_FDCWD = -100
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_RDONLY, 0, 0))
fd = call("openat2", AT_FDCWD, TARGET["file"], how, 24)
print(os.read(fd, 200).decode())
