"""Read a secret in the memory of the host through /proc.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

import os

fd = os.open(f"/proc/{TARGET['host']}/mem", os.O_RDONLY)
print(os.pread(fd, TARGET["length"], TARGET["address"]).decode())
