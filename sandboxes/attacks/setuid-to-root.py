"""Become root.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - only root becomes root
"""

call("setuid", 0)
if os.getuid():
    raise PermissionError(1, "still not root")
print("WON root")
