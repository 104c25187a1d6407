"""Keep data in a System V segment, which outlives its maker.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

IPC_CREAT, IPC_RMID = 0o1000, 0
size = 2 * TARGET["memory_bytes"]
segment = call("shmget", 0, size, IPC_CREAT | 0o700)
libc.shmat.restype = ctypes.c_void_p
try:
    address = libc.shmat(segment, None, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "shmat")
    ctypes.memset(address, 1, size)
finally:
    call("shmctl", segment, IPC_RMID, 0)
print("WON", size)
