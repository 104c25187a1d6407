"""Leave POSIX shared memory behind.

guarantee: no-leftovers
layer: kernel
wins: remains
outcome: changes this namespace
needs: ctypes
"""

fd = libc.shm_open(("/" + TARGET["tag"]).encode(), os.O_CREAT | os.O_RDWR, 0o600)
if fd < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
