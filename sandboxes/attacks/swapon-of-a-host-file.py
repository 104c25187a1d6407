"""Ask the kernel to swap to a file.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - swapon needs CAP_SYS_ADMIN over the machine, which no user namespace gives
"""

import errno

try:
    call("swapon", TARGET["inbox"] + "/none", 0)
except OSError as error:
    if error.errno != errno.ENOENT or not os.path.exists(TARGET["inbox"]):
        raise
print("WON the kernel looked for the file")
