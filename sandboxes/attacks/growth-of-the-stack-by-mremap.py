"""Let a page of the stack grow elsewhere: its kind of mapping is not counted as data.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
page = ctypes.c_void_p.in_dll(libc, "__libc_stack_end").value & ~4095
size, MREMAP_MAYMOVE = 2 * TARGET["memory_bytes"], 1
# The lowest page of the stack: nothing that is in use lies there.
for below in range(60, 8, -1):
    moved = libc.mremap(page - below * 4096, 4096, size, MREMAP_MAYMOVE)
    if moved not in (None, ctypes.c_void_p(-1).value):
        break
else:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
ctypes.memset(moved, 1, size)
print("WON", size)
