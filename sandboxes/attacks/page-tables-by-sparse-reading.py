"""Read one byte in every 2 MiB of a vast mapping: each costs a page of page tables.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
reference: page tables are in no resource limit but RLIMIT_AS
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



count = size // 4096
address = mapped(count << 21, READ, PRIVATE | ANONYMOUS | NORESERVE)
vast = (ctypes.c_char * (count << 21)).from_address(address)
assert len(vast[:: 1 << 21]) == count
print("WON", count, "pages of page tables")
