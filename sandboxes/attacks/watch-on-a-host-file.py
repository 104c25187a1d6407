"""Ask inotify to tell of changes to a host file.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

fd = call("inotify_init1", 0)
print("WON", call("inotify_add_watch", fd, TARGET["file"], 0xFFF))
