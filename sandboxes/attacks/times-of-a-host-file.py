"""Set the times of a host file; Landlock knows no right for that.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

import struct

times = ctypes.create_string_buffer(struct.pack("qqqq", 1, 0, 1, 0))
call("utimensat", -100, TARGET["victim"], times, 0)
