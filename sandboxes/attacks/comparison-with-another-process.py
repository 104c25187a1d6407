"""Compare its own memory map with that of another process.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - kcmp is optional in a kernel
"""

KCMP_VM = 1
print("WON", call("kcmp", os.getpid(), TARGET["bystander"], KCMP_VM, 0, 0))
