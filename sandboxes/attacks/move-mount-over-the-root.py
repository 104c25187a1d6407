"""Make a fresh file system and ask whether it may move it with move_mount(2); over itself, on purpose.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - mounting needs CAP_SYS_ADMIN
"""

import errno

FSCONFIG_CMD_CREATE, FROM_EMPTY_PATH, TO_EMPTY_PATH = 6, 4, 0x40
fs = call("fsopen", "tmpfs", 0)
call("fsconfig", fs, FSCONFIG_CMD_CREATE, 0, 0, 0)
tree = call("fsmount", fs, 0, 0)
try:
    call("move_mount", tree, "", tree, "", FROM_EMPTY_PATH | TO_EMPTY_PATH)
except OSError as error:
    if error.errno not in (errno.EINVAL, errno.ELOOP):
        raise
print("WON it was only the same place")
