"""End another process by naming its thread.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

call("tgkill", another(TARGET["bystander"]), TARGET["bystander"], 15)
