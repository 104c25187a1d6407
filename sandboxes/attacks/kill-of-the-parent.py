"""Ask whether it may signal its parent, where that is the host; signal 0 hurts nobody.

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
if parent != TARGET["host"]:
    raise ProcessLookupError(3, "its parent is not the host")
print("WON allowed")
