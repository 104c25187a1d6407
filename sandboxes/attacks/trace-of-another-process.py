"""Seize another process of the same user with ptrace.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

PTRACE_SEIZE = 0x4206
call("ptrace", PTRACE_SEIZE, another(TARGET["bystander"]), 0, 0)
print("WON seized")
