"""Become another user.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: root - only root becomes another user
"""

call("setresuid", 12345, 12345, 12345)
print("WON", os.getuid())
