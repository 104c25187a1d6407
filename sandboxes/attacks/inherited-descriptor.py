"""Read from a descriptor that the host had made inheritable.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

import os

print(os.pread(TARGET["fd"], 200, 0).decode())
