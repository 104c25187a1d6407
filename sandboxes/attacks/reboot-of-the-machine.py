"""Ask whether it may reboot the machine; the magic number is wrong on purpose.

guarantee: host-integrity
layer: kernel
wins: prints
control: root - reboot needs CAP_SYS_BOOT
"""

import errno

try:
    call("reboot", 0, 0, 0, 0)
except OSError as error:
    if error.errno != errno.EINVAL:
        raise
print("WON only the magic number was wrong")
