"""Let a small mapping grow.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ, WRITE = 1, 2
SHARED, PRIVATE, ANONYMOUS, GROWSDOWN, NORESERVE, HUGETLB = 1, 2, 0x20, 0x100, 0x4000, 0x40000
size = 2 * TARGET["memory_bytes"]


def mapped(size, protection, flags, fd=-1):
    address = libc.mmap(None, size, protection, flags, fd, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address



address = mapped(4096, READ | WRITE, PRIVATE | ANONYMOUS)
MREMAP_MAYMOVE = 1
libc.mremap.restype = ctypes.c_void_p
moved = libc.mremap(ctypes.c_void_p(address), ctypes.c_size_t(4096), ctypes.c_size_t(size), MREMAP_MAYMOVE)
if moved in (None, ctypes.c_void_p(-1).value):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
ctypes.memset(moved, 1, size)
print("WON", size)
