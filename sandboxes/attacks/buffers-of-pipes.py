"""Keep data in the kernel, in the buffers of pipes.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

written = 0
for _ in range(8):
    pair = (ctypes.c_int * 2)()
    call("pipe2", pair, 0)
    written += os.write(pair[1], bytes(65536))
print("WON", written)
