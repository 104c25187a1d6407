"""Raise its own hard memory limit.

guarantee: bounded-memory
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - raising a hard limit needs CAP_SYS_RESOURCE over the machine, which no user namespace gives
"""

RLIMIT_DATA, RLIMIT_AS, INFINITY = 2, 9, ctypes.c_ulong(-1).value


def hard(which):
    limit = (ctypes.c_ulong * 2)()
    call("prlimit64", 0, which, 0, limit)
    return limit[1]


limited = [which for which in (RLIMIT_DATA, RLIMIT_AS) if hard(which) != INFINITY]
if not limited:
    raise RuntimeError("there is no limit to raise")
for which in limited:
    before = hard(which)
    wanted = (ctypes.c_ulong * 2)(before + (1 << 30), before + (1 << 30))
    call("prlimit64", 0, which, wanted, 0)
    if hard(which) > before:
        print("WON raised from", before, "to", hard(which))
