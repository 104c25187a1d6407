"""Ask the kernel to load a module.

guarantee: no-exec
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - a kernel may have no modules, and loading them needs CAP_SYS_MODULE over the machine
"""

import errno

try:
    call("finit_module", -1, "", 0)
except OSError as error:
    if error.errno != errno.EBADF:
        raise
print("WON the kernel looked for the file")
