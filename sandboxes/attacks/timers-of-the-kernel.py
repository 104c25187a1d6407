"""Keep data in the kernel, as timers.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

timer = ctypes.c_int()
for _ in range(100):
    call("timer_create", 1, 0, ctypes.byref(timer))
print("WON 100 timers")
