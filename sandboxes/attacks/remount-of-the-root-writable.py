"""Make the root writable again.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - mounting needs CAP_SYS_ADMIN
"""

MS_REMOUNT, MS_BIND = 32, 4096
call("mount", 0, "/", 0, MS_REMOUNT | MS_BIND, 0)
print("WON remounted")
