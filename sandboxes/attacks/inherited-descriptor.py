"""Read from a descriptor that the host had made inheritable.

guarantee: no-secrets
layer: kernel
wins: reveals
"""

print(os.pread(TARGET["fd"], 200, 0).decode())
