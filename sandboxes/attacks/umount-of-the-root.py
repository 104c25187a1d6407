"""Ask whether it may take the empty root away, to see what lies below; the flags exclude each other on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - unmounting needs CAP_SYS_ADMIN
"""

import errno

MNT_DETACH, MNT_EXPIRE = 2, 4  # never both
try:
    call("umount2", "/", MNT_DETACH | MNT_EXPIRE)
except OSError as error:
    if error.errno != errno.EINVAL:
        raise
print("WON only the flags were wrong")
