"""Move a host file away.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

call("renameat2", -100, TARGET["victim"], -100, TARGET["inbox"] + "/taken", 0)
