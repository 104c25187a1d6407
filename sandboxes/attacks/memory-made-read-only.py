"""Fill memory, make it read-only, and take more: it is no longer counted as data.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
READ, WRITE, PRIVATE, ANONYMOUS = 1, 2, 2, 0x20
size = TARGET["memory_bytes"] // 3
for _ in range(6):
    address = libc.mmap(None, size, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    ctypes.memset(address, 1, size)
    if libc.mprotect(address, size, READ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
print("WON", 6 * size)
