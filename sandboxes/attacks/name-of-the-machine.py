"""Rename the machine.

guarantee: host-integrity
layer: kernel
wins: prints
control: root - sethostname needs CAP_SYS_ADMIN
"""

call("sethostname", "owned", 5)
print("WON renamed")
