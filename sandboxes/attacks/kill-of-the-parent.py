"""Ask whether it may signal its parent; signal 0 hurts nobody.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

parent = os.getppid()
if parent == 0:
    raise ProcessLookupError(3, "there is no parent to be seen")
call("kill", parent, 0)
print("WON allowed")
