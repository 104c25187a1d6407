"""Make itself readable to other processes of the same user again.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

PR_SET_DUMPABLE = 4
call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
print("WON")
