"""Learn that a host file exists, and its size, with stat(2).

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

about = ctypes.create_string_buffer(256)
call("newfstatat", -100, TARGET["file"], about, 0)
print("WON", about.raw[:64].hex())
