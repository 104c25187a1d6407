"""Ask to be traced, the first step of taking over a parent.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: kills its own process tree
needs: ctypes
"""

PTRACE_TRACEME = 0
call("ptrace", PTRACE_TRACEME, 0, 0, 0)
print("WON traced")
