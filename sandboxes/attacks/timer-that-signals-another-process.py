"""Make a timer.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

CLOCK_MONOTONIC = 1
timer = ctypes.c_int()
print("WON", call("timer_create", CLOCK_MONOTONIC, 0, ctypes.byref(timer)))
