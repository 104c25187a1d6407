"""Learn the name of the machine.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

names = ctypes.create_string_buffer(6 * 65)
call("uname", names)
print("WON", names.raw[65:130].rstrip(b"\0"))
