"""Rename its process to look like another in a list.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

PR_SET_NAME = 15
call("prctl", PR_SET_NAME, "sshd", 0, 0, 0)
print("WON renamed")
