"""Ask whether it may make a mount writable again, as the root; it names no mount on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - mounting needs CAP_SYS_ADMIN
"""

import errno

MS_REMOUNT, MS_BIND = 32, 4096
try:
    call("mount", 0, TARGET["inbox"], 0, MS_REMOUNT | MS_BIND, 0)
except OSError as error:
    if error.errno != errno.EINVAL:
        raise
print("WON it was only no mount")
