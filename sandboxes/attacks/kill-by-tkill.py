"""End another process by its thread alone.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

call("tkill", another(TARGET["bystander"]), 15)
