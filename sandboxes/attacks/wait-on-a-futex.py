"""Wait on a futex that nobody wakes.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
needs: ctypes
"""

FUTEX_WAIT_PRIVATE = 128  # the only wait that a worker's filter lets through
word = ctypes.c_int(0)
while True:
    call("futex", ctypes.byref(word), FUTEX_WAIT_PRIVATE, 0, 0, 0, 0)
