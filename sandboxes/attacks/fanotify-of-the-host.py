"""Listen to every file access of the machine.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - fanotify with descriptors needs CAP_SYS_ADMIN
"""

print("WON", call("fanotify_init", 0, os.O_RDONLY))
