"""Reach a host file through /proc/self/root.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

fd = call("openat", -100, "/proc/self/root" + TARGET["file"], os.O_RDONLY)
print(os.read(fd, 200).decode())
