"""Learn the load, memory and uptime of the machine.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

about = ctypes.create_string_buffer(128)
call("sysinfo", about)
print("WON", about.raw[:16].hex())
