"""Ask whether it may swap the root for a file system of its own; it names the old root on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - pivot_root needs CAP_SYS_ADMIN
"""

import errno

try:
    call("pivot_root", "/", "/")
except OSError as error:
    if error.errno not in (errno.EBUSY, errno.EINVAL):
        raise
print("WON only the new root was the old one")
