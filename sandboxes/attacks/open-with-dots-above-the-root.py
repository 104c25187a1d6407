"""Climb above the root with many "..", then down to a host file.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

fd = call("openat", -100, "../" * 40 + TARGET["file"].lstrip("/"), os.O_RDONLY)
print(os.read(fd, 200).decode())
