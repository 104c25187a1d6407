"""Learn that a host file exists with statx(2).

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

about = ctypes.create_string_buffer(256)
call("statx", -100, TARGET["file"], 0, 0x7FF, about)
print("WON", about.raw[:64].hex())
