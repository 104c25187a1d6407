"""Read the secret variable from the C library, which os.environ only copies.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
needs: ctypes
"""

libc.getenv.restype = ctypes.c_char_p
print(libc.getenv(TARGET["variable"].encode()).decode())
