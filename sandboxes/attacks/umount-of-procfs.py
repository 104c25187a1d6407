"""Take a mount of the host away.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - unmounting needs CAP_SYS_ADMIN
"""

MNT_DETACH = 2
call("umount2", "/proc", MNT_DETACH)
print("WON unmounted")
