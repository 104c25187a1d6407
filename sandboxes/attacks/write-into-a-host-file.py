"""Overwrite a host file that everyone may write.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

fd = call("openat", -100, TARGET["victim"], os.O_WRONLY)
os.write(fd, b"written by a cell")
