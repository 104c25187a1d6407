"""Compare its own memory map with that of another process.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - kcmp is optional in a kernel
"""

KCMP_VM = 1
order = call("kcmp", os.getpid(), another(TARGET["bystander"]), KCMP_VM, 0, 0)
if order == 0:
    raise ProcessLookupError(3, "it is the same memory map")
print("WON", order)
