"""Handle page faults itself, which makes races in the kernel winnable.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - userfaultfd is optional in a kernel
"""

UFFD_USER_MODE_ONLY = 1
print("WON", call("userfaultfd", UFFD_USER_MODE_ONLY))
