"""Slow another process of the same user down.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

PRIO_PROCESS = 0
call("setpriority", PRIO_PROCESS, another(TARGET["bystander"]), 19)
print("WON slowed")
