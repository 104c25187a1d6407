"""Map memory that can be written over memory that is read-only: the limit is asked for none of it.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ, WRITE, PRIVATE, FIXED, ANONYMOUS, NORESERVE = 1, 2, 2, 0x10, 0x20, 0x4000
size = 2 * TARGET["memory_bytes"]


def mapped(address, protection, flags):
    address = libc.mmap(address, size, protection, PRIVATE | ANONYMOUS | NORESERVE | flags, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address


address = mapped(mapped(None, READ, 0), READ | WRITE, FIXED)
ctypes.memset(address, 1, size)
print("WON", size)
