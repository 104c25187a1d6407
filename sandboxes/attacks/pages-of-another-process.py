"""Ask on which memory nodes the pages of another process lie.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - move_pages needs a kernel with NUMA support
"""

status = ctypes.c_int(-999)
page = ctypes.c_long(TARGET["address"] & ~4095)
call("move_pages", TARGET["host"], 1, ctypes.byref(page), 0, ctypes.byref(status), 0)
print("WON", status.value)
