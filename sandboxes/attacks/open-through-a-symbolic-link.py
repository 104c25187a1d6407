"""Read a host file through a symbolic link that stands outside.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

fd = call("openat", -100, TARGET["link"], os.O_RDONLY)
print(os.read(fd, 200).decode())
