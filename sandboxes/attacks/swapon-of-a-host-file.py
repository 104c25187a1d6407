"""Ask the kernel to swap to a file.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - swapon needs CAP_SYS_ADMIN
"""

import errno

try:
    call("swapon", TARGET["inbox"] + "/none", 0)
except OSError as error:
    if error.errno != errno.ENOENT or not os.path.exists(TARGET["inbox"]):
        raise
print("WON the kernel looked for the file")
