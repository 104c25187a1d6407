"""Ask whether it may bind the root, to escape its read-only flag; the source is not there on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - mounting needs CAP_SYS_ADMIN
"""

import errno

MS_BIND = 4096
try:
    call("mount", "/" + TARGET["tag"], "/", 0, MS_BIND, 0)
except OSError as error:
    if error.errno != errno.ENOENT:  # the root to bind on is there, so it is the source that was not found
        raise
print("WON the kernel looked for the source")
