"""Take the group of root.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - only root takes any group
"""

call("setgid", 0)
print("WON", os.getgid())
