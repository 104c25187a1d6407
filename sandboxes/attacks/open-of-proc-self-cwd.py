"""Reach a host file through /proc/self/cwd.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

fd = call("openat", -100, "/proc/self/cwd/" + "../" * 40 + TARGET["file"].lstrip("/"), os.O_RDONLY)
print(os.read(fd, 200).decode())
