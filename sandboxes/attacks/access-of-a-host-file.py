"""Learn that a host file exists with faccessat(2).

guarantee: no-host-files
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

print("WON", call("faccessat", -100, TARGET["file"], 0))
