"""End another process of the same user.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

call("kill", another(TARGET["bystander"]), 15)
