"""Read a host file with openat(2).

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

AT_FDCWD = -100
fd = call("openat", AT_FDCWD, TARGET["file"], os.O_RDONLY)
print(os.read(fd, 200).decode())
