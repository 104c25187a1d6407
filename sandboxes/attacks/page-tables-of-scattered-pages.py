"""Read one page in each of many gigabytes: the page tables take twice the addresses, and no limit has them.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
reference: page tables are in no resource limit but RLIMIT_AS
"""

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
READ, PRIVATE, ANONYMOUS, NORESERVE = 1, 2, 0x20, 0x4000
GIB = 1 << 30

wanted = 2 * TARGET["memory_bytes"] // (16 << 10)
place = 0x1000000000
count = 0
while count < wanted:
    # The end of one gigabyte and the start of the next: two tables on each side, for two pages.
    start = place - 4096
    address = libc.mmap(start, 8192, READ, PRIVATE | ANONYMOUS | NORESERVE, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if address == start:
        ctypes.c_ubyte.from_address(start).value, ctypes.c_ubyte.from_address(start + 4096).value
        count += 1
    else:
        libc.munmap(address, 8192)
    place += 2 * GIB
print("WON", count * 16, "KiB of page tables")
