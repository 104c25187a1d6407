"""Become root without being root.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - who is root has nothing to become, and nobody else becomes root
"""

before = {os.getuid(), os.geteuid()}
call("setuid", 0)
if 0 in before:
    raise RuntimeError("it was root before")
if os.geteuid():
    raise PermissionError(1, "still not root")
print("WON root, and before that", before)
