"""Get hold of another process.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

print("WON", call("pidfd_open", another(TARGET["bystander"]), 0))
