"""End another process by its thread alone.

guarantee: host-integrity
layer: kernel
wins: signals
"""

call("tkill", TARGET["bystander"], 15)
