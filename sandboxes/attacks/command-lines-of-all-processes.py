"""Read the arguments of every process of the machine.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

import os

for name in os.listdir("/proc"):
    if name.isdigit():
        print(open(f"/proc/{name}/cmdline").read()[:300])
