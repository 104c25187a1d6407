"""Choose the processors of another process of the same user.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

mask = ctypes.create_string_buffer(128)
size = call("sched_getaffinity", another(TARGET["bystander"]), 128, mask)
call("sched_setaffinity", another(TARGET["bystander"]), size, mask)
print("WON", mask.raw[:4].hex())
