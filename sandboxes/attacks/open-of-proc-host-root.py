"""Reach a host file through the root of the host's process.

guarantee: no-host-files
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

fd = call("openat", -100, f"/proc/{TARGET['host']}/root{TARGET['file']}", os.O_RDONLY)
print(os.read(fd, 200).decode())
