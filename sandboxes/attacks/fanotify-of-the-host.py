"""Listen to every file access of the machine.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - fanotify with descriptors needs CAP_SYS_ADMIN over the machine, which no user namespace gives
"""

print("WON", call("fanotify_init", 0, os.O_RDONLY))
