"""Cut the stack's lowest page off, again and again: each piece grows by all of RLIMIT_STACK, and none is data.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
reference: Linux, mm/vma.c, acct_stack_growth() asks RLIMIT_STACK for the size of one mapping
"""

libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
size, piece, taken = 2 * TARGET["memory_bytes"], 7 << 20, 0
# Nothing that is in use lies so far below the stack's end.
low = (ctypes.c_void_p.in_dll(libc, "__libc_stack_end").value & ~4095) - (4 << 20)
ctypes.memset(low, 1, 4096)
while taken < size:
    if libc.munmap(low + 4096, 4096):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    low -= piece
    ctypes.memset(low, 1, piece)
    taken += piece
print("WON", taken)
