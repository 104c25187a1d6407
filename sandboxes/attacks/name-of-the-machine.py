"""Ask whether it may rename the machine; the name is too long on purpose.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - sethostname needs CAP_SYS_ADMIN
"""

import errno

try:
    call("sethostname", "owned" * 13, 65)
except OSError as error:
    if error.errno != errno.EINVAL:
        raise
print("WON only the name was too long")
