"""Start a thread from C, which the interpreter knows nothing of.

guarantee: bounded-processes
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

thread = ctypes.c_ulong()
start = ctypes.cast(libc.getpid, ctypes.c_void_p)
result = libc.pthread_create(ctypes.byref(thread), None, start, None)
if result:
    raise OSError(result, os.strerror(result))
libc.pthread_join(thread, None)
print("WON started")
