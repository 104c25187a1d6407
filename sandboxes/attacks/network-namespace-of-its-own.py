"""Leave its network namespace.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - unshare needs CAP_SYS_ADMIN
"""

CLONE_NEWNET = 0x40000000
call("unshare", CLONE_NEWNET)
print("WON")
