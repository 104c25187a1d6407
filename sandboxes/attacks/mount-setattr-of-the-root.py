"""Ask whether it may change the root mount with mount_setattr(2); a descriptor is missing on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - changing a mount needs CAP_SYS_ADMIN
"""

import errno
import struct

MOUNT_ATTR_IDMAP, NO_DESCRIPTOR = 0x00100000, 0x7FFFFFFF
attributes = ctypes.create_string_buffer(struct.pack("QQQQ", MOUNT_ATTR_IDMAP, 0, 0, NO_DESCRIPTOR))
try:
    call("mount_setattr", -100, "/", 0, attributes, 32)
except OSError as error:
    if error.errno != errno.EBADF:
        raise
print("WON only the descriptor was missing")
