"""Take the empty root away, to uncover what lies below.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - unmounting needs CAP_SYS_ADMIN
"""

MNT_DETACH = 2
call("umount2", "/", MNT_DETACH)
print("WON unmounted", os.listdir("/")[:5])
