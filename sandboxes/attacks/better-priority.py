"""Raise its own priority.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - raising a priority needs CAP_SYS_NICE over the machine, which no user namespace gives
"""

call("setpriority", 0, 0, -20)
print("WON")
