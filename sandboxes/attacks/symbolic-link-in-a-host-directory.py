"""Plant a symbolic link for a host program to follow.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

call("symlinkat", "/etc/passwd", -100, TARGET["inbox"] + "/trap")
