"""Use the call numbers of the x32 table, which a filter for x86_64 may not know.

guarantee: session-isolation
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
reference: seccomp(2), NOTES
control: machine - x32 is optional in a kernel
"""

__X32_SYSCALL_BIT, GETPID = 0x40000000, 39
print("WON", call(__X32_SYSCALL_BIT + GETPID))
