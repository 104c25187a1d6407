"""Give a host file a second name.

guarantee: no-host-files
layer: kernel
wins: writes
outcome: harmless
needs: ctypes
"""

call("linkat", -100, TARGET["victim"], -100, TARGET["inbox"] + "/second", 0)
