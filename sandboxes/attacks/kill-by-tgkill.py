"""End another process by naming its thread.

guarantee: host-integrity
layer: kernel
wins: signals
outcome: harmless
needs: ctypes
"""

call("tgkill", TARGET["bystander"], TARGET["bystander"], 15)
