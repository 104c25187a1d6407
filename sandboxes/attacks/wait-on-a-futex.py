"""Wait on a futex that nobody wakes.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
needs: ctypes
"""

word = ctypes.c_int(0)
while True:
    call("futex", ctypes.byref(word), 0, 0, 0, 0, 0)
