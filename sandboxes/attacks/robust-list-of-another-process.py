"""Ask for an address in the memory of another process.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

head, size = ctypes.c_long(), ctypes.c_long()
call("get_robust_list", another(TARGET["bystander"]), ctypes.byref(head), ctypes.byref(size))
print("WON", size.value)
