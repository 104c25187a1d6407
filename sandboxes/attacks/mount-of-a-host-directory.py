"""Ask whether it may mount over a host directory; the file system has no such option on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - mounting needs CAP_SYS_ADMIN
"""

import errno

try:
    call("mount", "none", TARGET["inbox"], "tmpfs", 0, "rlmsecure=none")
except OSError as error:
    if error.errno != errno.EINVAL:
        raise
print("WON only the option was wrong")
