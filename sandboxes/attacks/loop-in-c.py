"""Loop inside the C library, where no Python signal handler runs.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
needs: ctypes
"""

text = ctypes.create_string_buffer(1 << 24)
while True:
    libc.memset(text, 1, 1 << 24)
