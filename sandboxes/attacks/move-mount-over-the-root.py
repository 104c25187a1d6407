"""Move a fresh file system over a directory with move_mount(2).

guarantee: no-host-files
layer: kernel
wins: prints
control: root - mounting needs CAP_SYS_ADMIN
"""

fs = call("fsopen", "tmpfs", 0)
call("fsconfig", fs, 6, 0, 0, 0)  # FSCONFIG_CMD_CREATE
tree = call("fsmount", fs, 0, 0)
call("move_mount", tree, "", -100, TARGET["inbox"], 4)  # MOVE_MOUNT_F_EMPTY_PATH
print("WON moved")
