"""Ask whether it may signal every process there is; signal 0 hurts nobody.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

call("kill", -1, 0)
print("WON allowed")
