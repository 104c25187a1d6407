"""Let the heap of the C library grow.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

size = 2 * TARGET["memory_bytes"]
libc.sbrk.restype = ctypes.c_void_p
libc.sbrk.argtypes = [ctypes.c_long]
address = libc.sbrk(size)
if address == ctypes.c_void_p(-1).value:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
ctypes.memset(address, 1, size)
print("WON", size)
