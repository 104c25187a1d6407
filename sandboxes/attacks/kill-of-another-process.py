"""End another process of the same user.

guarantee: host-integrity
layer: kernel
wins: signals
"""

call("kill", TARGET["bystander"], 15)
