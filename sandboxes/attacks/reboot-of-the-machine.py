"""Ask whether it may reboot the machine; the magic number is wrong on purpose.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - reboot needs CAP_SYS_BOOT over the machine, which no user namespace gives
"""

import errno

try:
    call("reboot", 0, 0, 0, 0)
except OSError as error:
    if error.errno != errno.EINVAL:
        raise
print("WON only the magic number was wrong")
