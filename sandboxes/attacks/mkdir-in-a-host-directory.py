"""Make a directory in a host directory that everyone may write.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

call("mkdirat", -100, TARGET["inbox"] + "/made", 0o755)
