"""Change the resource limits of another process of the same user.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
"""

RLIMIT_NOFILE = 7
about = (ctypes.c_ulong * 2)()
call("prlimit64", another(TARGET["bystander"]), RLIMIT_NOFILE, 0, about)
call("prlimit64", another(TARGET["bystander"]), RLIMIT_NOFILE, about, 0)
print("WON", list(about))
