"""Raise its own priority.

guarantee: host-integrity
layer: kernel
wins: prints
control: root - raising a priority needs CAP_SYS_NICE
"""

call("setpriority", 0, 0, -20)
print("WON")
