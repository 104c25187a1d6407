"""Ask whether it may mount a fresh /proc, to see processes; that file system has no subtype on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - mounting needs CAP_SYS_ADMIN
"""

import errno

try:
    call("mount", "proc", TARGET["inbox"], "proc.none", 0, 0)
except OSError as error:
    if error.errno != errno.ENODEV:
        raise
print("WON only the subtype was wrong")
