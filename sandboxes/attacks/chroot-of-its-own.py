"""Change the root directory.

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - chroot needs CAP_SYS_CHROOT
"""

call("chroot", TARGET["directory"])
print("WON", os.listdir("/"))
