"""Change the flags of the root mount with mount_setattr(2).

guarantee: no-host-files
layer: kernel
wins: prints
control: root - changing a mount needs CAP_SYS_ADMIN
"""

import struct

MOUNT_ATTR_NOSUID = 2
attributes = ctypes.create_string_buffer(struct.pack("QQQQ", MOUNT_ATTR_NOSUID, 0, 0, 0))
call("mount_setattr", -100, "/", 0, attributes, 32)
print("WON changed")
