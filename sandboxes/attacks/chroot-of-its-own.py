"""Change the root directory.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - chroot needs CAP_SYS_CHROOT
"""

call("chroot", TARGET["directory"])
print("WON", os.listdir("/"))
