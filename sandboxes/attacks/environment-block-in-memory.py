"""Read the environment block that the kernel laid on the stack.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

block = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
index = 0
while block and block[index]:
    print(block[index].decode())
    index += 1
