"""Leave its mount namespace.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - unshare needs CAP_SYS_ADMIN
"""

CLONE_NEWNS = 0x00020000
call("unshare", CLONE_NEWNS)
print("WON")
