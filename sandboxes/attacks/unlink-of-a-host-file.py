"""Delete a host file.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
control: root - the directory belongs to the host
"""

call("unlinkat", -100, TARGET["inbox"] + "/../canary", 0)
